#include "model/metric_kind.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace koordlet;

namespace {

using Values = std::vector<std::string>;

std::optional<Values> values(std::string_view kind, std::string_view owner) {
  const auto* known = find_metric_kind(kind);
  REQUIRE(known != nullptr);
  return label_values(*known, owner);
}

}  // namespace

TEST_SUITE("metric kinds") {
  TEST_CASE("names are sorted, each once, and each has a unit, a text and distinct labels") {
    const auto kinds = metric_kinds();
    REQUIRE(kinds.size() > 50);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      CAPTURE(kinds[i].name);
      if (i > 0) CHECK(kinds[i - 1].name < kinds[i].name);
      CHECK(find_metric_kind(kinds[i].name) == &kinds[i]);
      CHECK_FALSE(to_string(kinds[i].unit).empty());
      CHECK_FALSE(kinds[i].about.empty());
      const auto labels = kinds[i].labels();
      CHECK(std::set<std::string_view>(labels.begin(), labels.end()).size() == labels.size());
    }
    CHECK(find_metric_kind("") == nullptr);
    CHECK(find_metric_kind("pod_cpu_usag") == nullptr);
  }
  TEST_CASE("an owner text is the values of the labels in their order") {
    CHECK(values("node_cpu_usage", "") == Values{});
    CHECK(values("pod_cpu_usage", "u1") == Values{"u1"});
    CHECK(values("pod_psi", "u1/mem/10/full") == Values{"u1", "mem", "10", "full"});
    CHECK(values("node_be", "cpu/real-limit") == Values{"cpu", "real-limit"});
    CHECK(values("resctrl_resource_mb", "BE/0/mbm_total_bytes") ==
          Values{"BE", "0", "mbm_total_bytes"});
  }
  TEST_CASE("the slashes of a container's id are its own") {
    CHECK(values("container_cpu_usage", "containerd://9b1d") == Values{"containerd://9b1d"});
    CHECK(values("container_psi", "containerd://9b1d/cpu/10/some") ==
          Values{"containerd://9b1d", "cpu", "10", "some"});
    CHECK(values("container_cpi", "u1/containerd://9b1d/cycle") ==
          Values{"u1", "containerd://9b1d", "cycle"});
  }
  TEST_CASE("owners of another shape have no labels") {
    CHECK_FALSE(values("node_cpu_usage", "x"));
    CHECK_FALSE(values("pod_cpu_usage", ""));
    CHECK_FALSE(values("pod_psi", "u1/cpu"));
    CHECK_FALSE(values("container_cpi", "u1"));
    CHECK_FALSE(values("pod_psi", "u1//10/some"));
  }
  TEST_CASE("base units: cores, bytes, ratios, seconds") {
    CHECK(base_unit(MetricUnit::kMilliCores).name == "cores");
    CHECK(1100 / base_unit(MetricUnit::kMilliCores).per == 1.1);
    CHECK(250 / base_unit(MetricUnit::kPermille).per == 0.25);
    CHECK(base_unit(MetricUnit::kBytes).per == 1);
    CHECK(base_unit(MetricUnit::kDegree).name.empty());
  }
  TEST_CASE("docs/query.md lists each with its unit and labels") {
    std::ifstream in{std::string{KOORDLET_SOURCE_DIR} + "/docs/query.md"};
    std::stringstream page;
    page << in.rdbuf();
    for (const auto& kind : metric_kinds()) {
      const auto row = fmt::format(
          "| `{}` | {} | {} |\n", kind.name, to_string(kind.unit), fmt::join(kind.labels(), ", "));
      CAPTURE(row);
      CHECK(page.str().find(row) != std::string::npos);
    }
  }
  TEST_CASE("near names of a typing error") {
    const auto near = near_metric_names("pod_cpu_usge");
    CHECK(std::find(near.begin(), near.end(), "pod_cpu_usage") != near.end());
  }
}
