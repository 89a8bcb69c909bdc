#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

#include <doctest/doctest.h>

#include "filled_view.hpp"
#include "modules/status_api/prometheus.hpp"
#include "support/fake_tree.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::test;
using status_api::MetricsExporter;

namespace {

/// Series ("name{labels}") to value text.
std::map<std::string, std::string> series_of(const std::string& text) {
  std::map<std::string, std::string> out;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line[0] == '#') continue;
    const auto space = line.rfind(' ');
    out[line.substr(0, space)] = line.substr(space + 1);
  }
  return out;
}

double value(const std::string& text, const std::string& series) {
  const auto all = series_of(text);
  const auto at = all.find(series);
  INFO(text);
  REQUIRE_MESSAGE(at != all.end(), series);
  return std::stod(at->second);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

StatusView full_view() {
  auto view = make_view(CgroupVersion::kV2);
  view.signals->memory_used = Bytes{3'000'000};
  view.qos.be_root_cap_milli = 2500;
  auto root = hold({path("kubepods/besteffort"), CgroupFile::kCpuMax}, "/f", "250000 100000");
  auto cpus = hold({path("kubepods/besteffort"), CgroupFile::kCpuset}, "/f", "0-2");
  view.held = {root, cpus, view.held[0]};
  view.stages = {{"collect", std::chrono::microseconds{1500}},
                 {"qos", std::chrono::microseconds{20}}};
  view.helpers = {{"storage", 2, milliseconds{250}}};
  view.sources = {{"psi", "no file", std::nullopt}};
  view.capabilities = {{"resctrl", false, "not mounted", "mount it"}};
  view.loop_late = std::chrono::microseconds{100};
  view.loop_late_max = std::chrono::microseconds{900};
  view.executor.writes = 12;
  view.executor.last_batch = std::chrono::microseconds{300};
  view.executor.last_commit = std::chrono::microseconds{200};
  view.gauges = {{"store_used_bytes", 4096}};
  view.counters = {{"store_samples", 5000}, {"log_dropped_total", 1}};
  view.help = {{"store_used_bytes", "Bytes used in the metric store."}};
  return view;
}

/// What the text format asks of a family, as promtool checks it; one line a breach.
std::vector<std::string> breaches(const std::string& text) {
  std::vector<std::string> out;
  std::map<std::string, std::string> types;
  std::set<std::string> helps;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    std::string hash, what, name, rest;
    if (line.starts_with("# ")) {
      words >> hash >> what >> name;
      std::getline(words, rest);
      if (what == "HELP" && rest.size() > 1) helps.insert(name);
      if (what == "TYPE") types[name] = rest.substr(1);
      continue;
    }
    name = line.substr(0, line.find_first_of("{ "));
    if (!types.contains(name)) out.push_back(name + ": no type");
    if (!helps.contains(name)) out.push_back(name + ": no help");
    const bool counter = types[name] == "counter";
    if (counter != name.ends_with("_total")) out.push_back(name + ": _total is for counters");
    for (const char* label : {"quantile=\"", "le=\""}) {
      for (const char* before : {"{", ","}) {
        if (contains(line, std::string{before} + label)) out.push_back(line + ": reserved label");
      }
    }
    for (const char* suffix : {"_count", "_sum", "_bucket", "_ms", "_milliseconds", "_percent"}) {
      if (name.ends_with(suffix)) out.push_back(name + ": reserved suffix, or no base unit");
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("status_api/metrics") {
  TEST_CASE("each family has help and type, counters alone end in _total, no reserved label") {
    const Filled filled;
    MetricsExporter exporter;
    const auto text = exporter.text(filled.view);
    CHECK(contains(text, "percentile=\"99\""));
    CHECK(contains(text, "koordlet_resctrl_llc_occupancy"));
    CHECK(breaches(text) == std::vector<std::string>{});
    CHECK(breaches("# HELP a x\n# TYPE a gauge\na{quantile=\"0.5\"} 1\n").size() == 1);
    CHECK(breaches("a_total 1\n").size() == 3);
  }
  TEST_CASE("values are in base units and carry the node") {
    MetricsExporter exporter;
    const auto text = exporter.text(full_view());
    const std::string n = "{node=\"node-a\"}";
    CHECK(value(text, "koordlet_start_time" + n) == 1'767'322'945.0);
    CHECK(value(text, "koordlet_node_used_cpu_cores" + n) == 13.0);
    CHECK(value(text, "koordlet_node_used_memory_bytes" + n) == 3'000'000.0);
    CHECK(value(text, "koordlet_be_suppress_ls_used_cpu_cores" + n) == 10.0);
    CHECK(value(text, "koordlet_be_suppress_be_used_cpu_cores" + n) == 2.0);
    CHECK(value(text, "koordlet_be_suppress_cpu_cores{node=\"node-a\",type=\"cfsQuota\"}") == 2.5);
    CHECK(value(text, "koordlet_be_suppress_cpu_cores{node=\"node-a\",type=\"cpuset\"}") == 3.0);
    CHECK(value(text, "koordlet_pressure_level" + n) == 2.0);
    CHECK(value(text, "koordlet_pressure_factor_ratio" + n) == 0.3);
    CHECK(value(text, "koordlet_be_cap_cores" + n) == 2.5);
    CHECK(value(text, "koordlet_stage_seconds{node=\"node-a\",stage=\"collect\"}") == 0.0015);
    CHECK(value(text, "koordlet_held_files" + n) == 3.0);
    CHECK(value(text, "koordlet_contested_files" + n) == 0.0);
    CHECK(value(text, "koordlet_executor_writes_total" + n) == 12.0);
    CHECK(value(text, "koordlet_input_age_seconds{input=\"node\",node=\"node-a\"}") == 3.0);
    CHECK(value(text, "koordlet_ticks_total" + n) == 42.0);
    CHECK(value(text, "koordlet_loop_lateness_seconds" + n) == 0.0001);
    CHECK(value(text, "koordlet_store_used_bytes" + n) == 4096.0);
    CHECK(value(text, "koordlet_store_samples_total" + n) == 5000.0);
    CHECK(value(text, "koordlet_log_dropped_total" + n) == 1.0);
    CHECK(contains(text, "# HELP koordlet_store_used_bytes Bytes used in the metric store.\n"));
    CHECK(contains(text, "# TYPE koordlet_store_samples_total counter\n"));
    CHECK(contains(
        text, "koordlet_build_info{cgroup_version=\"v2\",node=\"node-a\",version=\"1.2.3\"} 1"));
    const std::string pod =
        "{node=\"node-a\",pod_name=\"batch\",pod_namespace=\"shop\",pod_uid=\"be-1\"}";
    CHECK(value(text, "koordlet_be_pod_cpu_cap_cores" + pod) == 1.2);
    CHECK(value(text, "koordlet_be_pod_used_cpu_cores" + pod) == 0.9);
    CHECK(value(text, "koordlet_be_pod_throttled_ratio" + pod) == 0.25);
  }
  TEST_CASE("a collector that this machine cannot have is unsupported, not down") {
    MetricsExporter exporter;
    auto view = full_view();
    view.sources = {{"cold memory", "no kidled", std::nullopt, true},
                    {"node cpu", "", kNow},
                    {"psi", "cut content", std::nullopt}};
    const auto text = exporter.text(view);
    const auto label = [](const char* name) {
      return fmt::format("{{collector=\"{}\",node=\"node-a\"}}", name);
    };
    CHECK(value(text, "koordlet_collector_supported" + label("cold memory")) == 0.0);
    CHECK_FALSE(contains(text, "koordlet_collector_up" + label("cold memory")));
    CHECK(value(text, "koordlet_collector_supported" + label("node cpu")) == 1.0);
    CHECK(value(text, "koordlet_collector_up" + label("node cpu")) == 1.0);
    CHECK(value(text, "koordlet_collector_supported" + label("psi")) == 1.0);
    CHECK(value(text, "koordlet_collector_up" + label("psi")) == 0.0);
  }
  TEST_CASE("an unknown value has no series, not a zero") {
    MetricsExporter exporter;
    auto view = full_view();
    CHECK(contains(exporter.text(view), "koordlet_node_used_cpu_cores"));
    view.signals.reset();
    view.qos.be_root_cap_milli.reset();
    view.qos.level.clear();
    const auto text = exporter.text(view);
    CHECK_FALSE(contains(text, "koordlet_node_used_cpu_cores"));
    CHECK_FALSE(contains(text, "koordlet_be_cap_cores"));
    CHECK_FALSE(contains(text, "koordlet_pressure_level"));
    CHECK_FALSE(contains(text, "input=\"nodeslo\",node=\"node-a\"} 0\nkoordlet_input_age"));
    CHECK_FALSE(contains(text, "koordlet_input_age_seconds{input=\"nodeslo\""));
  }
  TEST_CASE("K#1267: series of a pod that is gone go with it, and come back with it") {
    MetricsExporter exporter;
    const auto view = full_view();
    CHECK(contains(exporter.text(view), "pod_uid=\"be-1\""));
    auto without = view;
    auto state = std::make_shared<NodeState>(*view.state);
    state->pods.erase(state->pods.begin());
    without.state = state;
    const auto text = exporter.text(without);
    CHECK_FALSE(contains(text, "be-1"));
    CHECK_FALSE(contains(text, "koordlet_be_pod_cpu_cap_cores"));  // no HELP without series
    CHECK(contains(text, "koordlet_held_files"));
    CHECK(contains(exporter.text(view), "pod_uid=\"be-1\""));
  }
  TEST_CASE("a thousand pods come and go and leave nothing behind") {
    MetricsExporter exporter;
    auto view = full_view();
    const auto before = exporter.text(view);
    auto busy = view;
    auto state = std::make_shared<NodeState>(*view.state);
    for (int i = 0; i < 1000; ++i) {
      const auto uid = fmt::format("x-{:04}", i);
      state->pods.push_back(
          std::make_shared<const Pod>(make_pod(uid, uid, KubeQos::kBestEffort, QosClass::kBe)));
      busy.pods[uid] = view.pods.at("be-1");
    }
    busy.state = state;
    CHECK(series_of(exporter.text(busy)).size() >= series_of(before).size() + 2000);
    CHECK(series_of(exporter.text(view)) == series_of(before));
  }
  TEST_CASE("a node that is renamed leaves no series under the old name") {
    MetricsExporter exporter;
    auto view = full_view();
    view.node_name.clear();
    CHECK(contains(exporter.text(view), "koordlet_held_files 3\n"));
    view.node_name = "node-b";
    const auto text = exporter.text(view);
    CHECK(contains(text, "koordlet_held_files{node=\"node-b\"} 3\n"));
    CHECK_FALSE(contains(text, "koordlet_held_files 3\n"));
  }
  TEST_CASE("counters follow the total, also when it went back") {
    MetricsExporter exporter;
    auto view = full_view();
    const std::string name = "koordlet_executor_writes_total{node=\"node-a\"}";
    for (const std::uint64_t total : {12, 12, 20, 3, 4}) {
      view.executor.writes = total;
      CHECK(value(exporter.text(view), name) == static_cast<double>(total));
    }
  }
  TEST_CASE("the start time does not move with the wall clock") {
    MetricsExporter exporter;
    auto view = full_view();
    exporter.text(view);
    view.wall += std::chrono::hours{1};
    CHECK(value(exporter.text(view), "koordlet_start_time{node=\"node-a\"}") == 1'767'322'945.0);
  }
  TEST_CASE("names of other modules that are invalid or taken are left out, ours stay") {
    MetricsExporter exporter;
    auto view = full_view();
    view.gauges = {{"bad name", 1}, {"", 1}, {"held_files", 77}, {"ticks_total", 78}, {"x{", 1}};
    view.counters = {{"pressure_level_total", 5}, {"executor_writes", 99}, {"bad-name", 1}};
    const auto text = exporter.text(view);
    CHECK(value(text, "koordlet_held_files{node=\"node-a\"}") == 3.0);
    CHECK(value(text, "koordlet_ticks_total{node=\"node-a\"}") == 42.0);
    CHECK(value(text, "koordlet_executor_writes_total{node=\"node-a\"}") == 12.0);
    CHECK_FALSE(contains(text, "bad"));
  }
  TEST_CASE("a pod name with quotes, line ends or damaged bytes stays inside its label") {
    MetricsExporter exporter;
    auto view = full_view();
    auto state = std::make_shared<NodeState>(*view.state);
    auto pod = *state->pods[0];
    pod.name = "a\"b\n\\\xFF";
    state->pods[0] = std::make_shared<const Pod>(pod);
    view.state = state;
    CHECK(contains(exporter.text(view), "pod_name=\"a\\\"b\\n\\\\\xEF\xBF\xBD\""));
  }
  TEST_CASE("promtool finds nothing to complain about") {
    KOORDLET_SKIP_UNLESS(::access("/usr/bin/promtool", X_OK) == 0, "no /usr/bin/promtool");
    const Filled filled;
    MetricsExporter exporter;
    const FakeTree tree{{"metrics", exporter.text(filled.view)}};
    const auto command =
        fmt::format("/usr/bin/promtool check metrics < {}/metrics 2>&1", tree.root());
    FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string output;
    char buffer[4096];
    while (const auto n = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
    const int rc = ::pclose(pipe);
    CHECK(output == "");
    CHECK(rc == 0);
  }
}
