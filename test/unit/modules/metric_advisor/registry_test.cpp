#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "model/metric_kind.hpp"

using namespace koordlet;

namespace {

/// Sources that write samples: the collectors, and the daemon of its predictions.
std::vector<std::filesystem::path> writers() {
  const std::string root{KOORDLET_SOURCE_DIR};
  std::vector<std::filesystem::path> out{root + "/src/app/daemon_predict.cpp"};
  for (const auto& file : std::filesystem::directory_iterator{root + "/src/modules/metric_advisor"})
    if (file.path().extension() == ".cpp") out.push_back(file.path());
  return out;
}

/// Names that those give to samples: the first text of emit(), of a sample
/// that is written out, and of put(), which pods and containers share behind their prefix.
std::set<std::string> emitted_kinds() {
  std::set<std::string> out;
  const std::regex whole{R"re((?:emit\(\s*|\{\{)"([a-z_]+)")re"};
  const std::regex part{R"re(put\("([a-z_]+)")re"};
  const std::regex suffix{R"re(prefix \+ "_([a-z_]+)")re"};
  for (const auto& file : writers()) {
    std::ifstream in{file};
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
