#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "model/metric_kind.hpp"

using namespace koordlet;

namespace {

/// Names that the sources of the collectors give to samples: the first text of emit(), of a sample
/// that is written out, and of put(), which pods and containers share behind their prefix.
std::set<std::string> emitted_kinds() {
  std::set<std::string> out;
  const std::regex whole{R"re((?:emit\(\s*|\{\{)"([a-z_]+)")re"};
  const std::regex part{R"re(put\("([a-z_]+)")re"};
  const std::regex suffix{R"re(prefix \+ "_([a-z_]+)")re"};
  const auto folder = std::string{KOORDLET_SOURCE_DIR} + "/src/modules/metric_advisor";
  for (const auto& file : std::filesystem::directory_iterator{folder}) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream in{file.path()};
    std::stringstream content;
    content << in.rdbuf();
    const auto text = content.str();
    const bool of_workloads = text.find("const std::string& prefix") != std::string::npos;
    const auto each = [&](const std::regex& pattern, const auto& take) {
      for (std::sregex_iterator at{text.begin(), text.end(), pattern}, end; at != end; ++at)
        take((*at)[1].str());
    };
    const auto kind = [&](const std::string& name) {
      if (name.find('_') != std::string::npos) out.insert(name);  // the others: labels, JSON fields
    };
    each(whole, kind);
    const auto both = [&](const std::string& name) {
      out.insert("pod_" + name);
      out.insert("container_" + name);
    };
    each(suffix, both);
    each(part, [&](const std::string& name) { of_workloads ? both(name) : kind(name); });
  }
  return out;
}

}  // namespace

TEST_SUITE("metric_advisor/registry") {
  TEST_CASE("every kind that collectors write is in the registry, and the other way round") {
    const auto emitted = emitted_kinds();
    std::set<std::string> known;
    for (const auto& kind : metric_kinds()) known.emplace(kind.name);
    std::vector<std::string> missing, unused;
    std::set_difference(
        emitted.begin(), emitted.end(), known.begin(), known.end(), std::back_inserter(missing));
    std::set_difference(
        known.begin(), known.end(), emitted.begin(), emitted.end(), std::back_inserter(unused));
    CHECK(missing == std::vector<std::string>{});
    CHECK(unused == std::vector<std::string>{});
  }
}
