#include <doctest/doctest.h>

#include "modules/status_api/json_text.hpp"
#include "modules/status_api/query.hpp"
#include "modules/status_api/use_split.hpp"
#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;

TEST_SUITE("status_api/status") {
  TEST_CASE("the page shows level, use by whom, ages, files and helpers") {
    auto view = make_view(CgroupVersion::kV1);
    view.qos.be_root_cap_milli = 2500;
    view.held[0].contested = true;
    view.outcomes = {{view.held[0].key, OutcomeKind::kRefused, "1", "EINVAL"},
                     {view.held[0].key, OutcomeKind::kWritten, "1", ""}};
    view.executor.refused = 4;
    view.faults = {"pods/a.yaml: spec: expected a map"};
    view.helpers = {{"storage", 3, milliseconds{1500}}};
    view.sources = {{"psi", "not built into the kernel", std::nullopt},
                    {"node", "", kNow - milliseconds{250}},
                    {"cold memory", "no kidled", std::nullopt, true}};
    view.stages["qos"] = std::chrono::microseconds{420};
    view.loop_late = std::chrono::microseconds{90};
    view.missed_ticks = 2;
    const auto body = fetch(view, "/api/v1/status");
    CHECK(text(body.at("version")) == "1.2.3");
    CHECK(text(body.at("node")) == "node-a");
    CHECK(text(body.at("time")) == "2026-01-02T03:04:05.000Z");
    CHECK(body.at("uptime_ms").as_int64() == 100'000);
    CHECK(body.at("ready").as_bool());
    CHECK(text(body.at("cgroup").at("version")) == "v1");
    CHECK(text(body.at("cgroup").at("driver")) == "cgroupfs");
    const auto& qos = body.at("qos").as_object();
    CHECK(text(qos.at("level")) == "HIGH");
    CHECK(qos.at("level_age_ms").as_int64() == 5000);
    CHECK(qos.at("node_use_percent").as_double() == 81.25);
    CHECK(qos.at("factor_permille").as_int64() == 300);
    CHECK(qos.at("be_root_cap_milli").as_int64() == 2500);
    CHECK(qos.at("stale").is_null());
    const auto& cpu = body.at("cpu_milli").as_object();
    CHECK(cpu.at("capacity").as_int64() == 16'000);
    CHECK(cpu.at("node_used").as_int64() == 13'000);
    CHECK(cpu.at("be_used").as_int64() == 2'000);
    CHECK(cpu.at("ls_used").as_int64() == 10'000);
    CHECK(cpu.at("system_used").as_int64() == 700);
    CHECK(body.at("memory_bytes").at("used").is_null());
    CHECK(body.at("inputs").as_array().at(0).at("age_ms").as_int64() == 3000);
    CHECK(body.at("inputs").as_array().at(1).at("age_ms").is_null());
    CHECK(body.at("pods").at("active").as_int64() == 3);
    CHECK(body.at("pods").at("best_effort").as_int64() == 2);
    CHECK(body.at("files").at("held").as_int64() == 1);
    CHECK(body.at("files").at("contested").as_int64() == 1);
    CHECK(body.at("files").at("refused").as_int64() == 1);
    CHECK(body.at("files").at("refused_total").as_int64() == 4);
    CHECK(body.at("faults_total").as_int64() == 1);
    CHECK(body.at("stages_us").at("qos").as_int64() == 420);
    CHECK(body.at("helpers").as_array().at(0).at("busy_ms").as_int64() == 1500);
    const auto& sources = body.at("sources").as_array();  // by name, not as they were reported
    CHECK(text(sources.at(0).at("name")) == "cold memory");
    CHECK(text(sources.at(0).at("state")) == "unsupported");
    CHECK(text(sources.at(0).at("fault")) == "no kidled");
    CHECK(text(sources.at(1).at("name")) == "node");
    CHECK(text(sources.at(1).at("state")) == "ok");
    CHECK(sources.at(1).at("last_ok_age_ms").as_int64() == 250);
    CHECK(text(sources.at(2).at("fault")) == "not built into the kernel");
    CHECK(text(sources.at(2).at("state")) == "failed");
    CHECK(sources.at(2).at("last_ok_age_ms").is_null());
    CHECK(body.at("loop").at("late_us").as_int64() == 90);
    CHECK(body.at("loop").at("late_max_us").is_null());
    CHECK(body.at("loop").at("missed_ticks").as_int64() == 2);
  }
  TEST_CASE("a view with nothing in it: every unknown value is null on every endpoint") {
    StatusView view;
    view.now = kNow;
    view.wall = kWall;
    view.not_ready = {"starting"};
    const auto body = fetch(view, "/api/v1/status");
    CHECK(body.at("node").is_null());
    CHECK_FALSE(body.at("ready").as_bool());
    CHECK(text(body.at("not_ready").as_array().at(0)) == "starting");
    CHECK(body.at("cgroup").at("driver").is_null());
    CHECK(body.at("qos").at("level").is_null());
    CHECK(body.at("qos").at("level_since").is_null());
    CHECK(body.at("qos").at("node_use_percent").is_null());
    CHECK(body.at("qos").at("be_root_cap_milli").is_null());
    for (const char* key : {"capacity", "node_used", "ls_used", "be_used", "system_used"}) {
      CAPTURE(key);
      CHECK(body.at("cpu_milli").at(key).is_null());
    }
    CHECK(body.at("pods").at("total").is_null());
    const auto node = fetch(view, "/api/v1/node");
    for (const char* key : {"node", "signals", "topology", "be_root"}) {
      CAPTURE(key);
      CHECK(node.at(key).is_null());
    }
    CHECK(fetch(view, "/api/v1/qos").at("table").as_array().empty());
    CHECK(fetch(view, "/api/v1/executor").at("last_batch_us").is_null());
    CHECK(fetch(view, "/api/v1/config").at("items").as_array().empty());
    CHECK(fetch(view, "/api/v1/capabilities").at("items").as_array().empty());
  }
  TEST_CASE("signals without a node object: use in milli-cores is known, the percentage is not") {
    auto view = make_view(CgroupVersion::kV2);
    auto state = std::make_shared<NodeState>(*view.state);
    state->node = nullptr;
    view.state = state;
    const auto body = fetch(view, "/api/v1/status");
    CHECK(body.at("cpu_milli").at("node_used").as_int64() == 13'000);
    CHECK(body.at("cpu_milli").at("capacity").is_null());
    CHECK(body.at("qos").at("node_use_percent").is_null());
  }
  TEST_CASE("a confirmed empty node has 0 pods, an unconfirmed one an unknown number") {
    StatusView view;
    view.now = kNow;
    auto state = std::make_shared<NodeState>();
    view.state = state;
    CHECK(fetch(view, "/api/v1/status").at("pods").at("total").is_null());
    state->pods_at = kNow;
    CHECK(fetch(view, "/api/v1/status").at("pods").at("total").as_int64() == 0);
  }
  TEST_CASE("many faults are cut, their number is not") {
    auto view = make_view(CgroupVersion::kV2);
    view.faults.assign(5000, "f");
    const auto body = fetch(view, "/api/v1/status");
    CHECK(body.at("faults").as_array().size() == 100);
    CHECK(body.at("faults_total").as_int64() == 5000);
  }
  TEST_CASE("use that cannot be split stays unknown; parts never go below zero") {
    NodeSignals s;
    s.node_used = MilliCpu{1000};
    CHECK_FALSE(status_api::use_split(s).ls.has_value());
    CHECK_FALSE(status_api::use_split(s).system.has_value());
    s.kubepods_used = MilliCpu{1100};
    CHECK(status_api::use_split(s).system == 0);
    CHECK_FALSE(status_api::use_split(s).ls.has_value());
    s.be_used = MilliCpu{300};
    s.be_outside_used = MilliCpu{100};
    CHECK(status_api::use_split(s).be == 400);
    CHECK(status_api::use_split(s).ls == 700);
    CHECK_FALSE(status_api::use_split(std::nullopt).node.has_value());
  }
}

TEST_SUITE("status_api/node") {
  TEST_CASE("CPU model, SMT and caches; what the kernel does not say is null") {
    auto view = make_view(CgroupVersion::kV2);
    StatusView::Hardware hardware;
    view.hardware = &hardware;
    auto body = fetch(view, "/api/v1/node").at("hardware");
    for (const char* key : {"cpu_model", "cpu_vendor", "turbo", "smt"}) {
      CAPTURE(key);
      CHECK(body.at(key).is_null());
    }
    CHECK(body.at("caches").as_array().empty());
    hardware.cpu = kernel::CpuModel{"GenuineIntel", "model", std::nullopt, ""};
    hardware.smt = false;
    kernel::CpuCache l3;
    l3.level = 3;
    l3.size = Bytes{33'554'432};
    l3.cpus = CpuSet::parse("0-15").value();
    l3.id = 2;
    hardware.caches = {l3};
    body = fetch(view, "/api/v1/node").at("hardware");
    CHECK(text(body.at("cpu_model")) == "model");
    CHECK(body.at("turbo").is_null());
    CHECK(body.at("smt").as_bool() == false);
    const auto& cache = body.at("caches").at(0);
    CHECK(cache.at("level").as_int64() == 3);
    CHECK(text(cache.at("type")) == "unified");
    CHECK(cache.at("size_bytes").as_int64() == 33'554'432);
    CHECK(text(cache.at("cpus")) == "0-15");
    CHECK(cache.at("id").as_int64() == 2);
  }
  TEST_CASE("node object, signals, topology counts and the BE root") {
    auto view = make_view(CgroupVersion::kV2);
    for (int cpu = 0; cpu < 8; ++cpu) view.topology.push_back({cpu, cpu / 2 % 2, cpu / 4, cpu / 4});
    const auto body = fetch(view, "/api/v1/node");
    CHECK(body.at("node").at("cpu_capacity_milli").as_int64() == 16'000);
    CHECK(body.at("node").at("memory_capacity_bytes").is_null());
    CHECK(body.at("node").at("cpu_allocatable_milli").is_null());
    CHECK(body.at("node").at("kubelet_cpu_policy").is_null());
    CHECK(body.at("node").at("age_ms").as_int64() == 3000);
    CHECK(body.at("signals").at("age_ms").as_int64() == 400);
    CHECK(text(body.at("signals").at("at")) == "2026-01-02T03:04:04.600Z");
    CHECK(body.at("topology").at("cpus").as_int64() == 8);
    CHECK(body.at("topology").at("cores").as_int64() == 4);  // core ids repeat in each socket
    CHECK(body.at("topology").at("sockets").as_int64() == 2);
    CHECK(body.at("topology").at("numa_nodes").as_int64() == 2);
    CHECK(body.at("hardware").is_null());
    CHECK(text(body.at("be_root").at("cpu_max_milli")) == "max");
    CHECK(text(body.at("be_root").at("cpuset")) == "0-15");
  }
}

TEST_SUITE("status_api/qos and executor") {
  TEST_CASE("qos: thresholds that hold, state, and wish beside kernel") {
    auto view = make_view(CgroupVersion::kV2);
    DesiredTable table;
    table.emplace(view.held[0].key,
                  Desired{CpuMax{Limit{std::chrono::microseconds{90'000}}},
                          Role::kCap,
                          "pressure",
                          "r",
                          kNow - seconds{1},
                          {},
                          1});
    const CgroupKey only_wanted{path("kubepods/besteffort"), CgroupFile::kCpuWeight};
    table.emplace(only_wanted, Desired{Number{2}, Role::kCap, "identity", "w", kNow, {}, 0});
    auto leaving = view.held[0];
    leaving.key.path = path("kubepods/besteffort/podold");
    view.held.push_back(leaving);
    view.desired = &table;
    view.qos.hold_until = kNow + milliseconds{1500};
    view.qos.effective.faults = {"qosPressure.midPercent: 120: expected 1..100"};
    const auto body = fetch(view, "/api/v1/qos");
    CHECK(body.at("pressure").at("mid_percent").as_int64() == 65);
    CHECK(body.at("pressure").at("high_percent").as_int64() == 80);
    CHECK_FALSE(body.at("suppress").at("enable").as_bool());
    CHECK(body.at("suppress").at("budget_milli").is_null());
    CHECK(text(body.at("suppress").at("policy")) == "cpuset");
    CHECK(body.at("hold_left_ms").as_int64() == 1500);
    CHECK(has_line(body.at("nodeslo_faults"), "midPercent"));
    CHECK(has_line(body.at("uncapped"), "be-2"));
    const auto& rows = body.at("table").as_array();
    REQUIRE(rows.size() == 3);
    CHECK(text(rows.at(0).at("plugin")) == "identity");
    CHECK(rows.at(0).at("kernel").is_null());
    CHECK_FALSE(rows.at(0).at("held").as_bool());
    CHECK(text(rows.at(1).at("desired")) == "90000 100000");
    CHECK(text(rows.at(1).at("kernel")) == "120000 100000");
    CHECK(rows.at(2).at("desired").is_null());
    CHECK(text(rows.at(2).at("cgroup")) == "/kubepods/besteffort/podold");
  }
  TEST_CASE("executor: held files with foreign writes and the last outcome, counters") {
    auto view = make_view(CgroupVersion::kV2);
    view.held[0].foreign_writes = 4;
    view.held[0].last = Outcome{view.held[0].key, OutcomeKind::kWritten, "120000 100000", ""};
    view.executor.writes = 11;
    view.executor.last_batch = std::chrono::microseconds{700};
    const auto body = fetch(view, "/api/v1/executor");
    CHECK(body.at("counters").at("writes").as_int64() == 11);
    CHECK(body.at("last_batch_us").as_int64() == 700);
    CHECK(body.at("last_commit_us").is_null());
    const auto& held = body.at("held").as_array().at(0).as_object();
    CHECK(held.at("foreign_writes").as_int64() == 4);
    CHECK_FALSE(held.at("contested").as_bool());
    CHECK(text(held.at("last_outcome").at("kind")) == "written");
    view.held[0].last.reset();
    CHECK(fetch(view, "/api/v1/executor").at("held").as_array().at(0).at("last_outcome").is_null());
  }
  TEST_CASE("qos and executor lists are paged by file; a foreign token is 400") {
    auto view = make_view(CgroupVersion::kV2);
    DesiredTable table;
    view.held.clear();
    for (int i = 0; i < 5; ++i) {
      const auto pod = path(fmt::format("kubepods/besteffort/pod{}", i));
      view.held.push_back(hold({pod, CgroupFile::kCpuMax}, "/f", "1000 100000"));
      view.held.push_back(hold({pod, CgroupFile::kCpuWeight}, "/f", "2"));
      table.emplace(view.held.back().key,
                    Desired{Number{2}, Role::kCap, "identity", "", kNow, {}, 0});
    }
    view.desired = &table;
    const std::pair<const char*, const char*> lists[] = {{"/api/v1/executor", "held"},
                                                         {"/api/v1/qos", "table"}};
    for (const auto& list : lists) {
      const std::string endpoint = list.first;
      const std::string field = list.second;
      CAPTURE(endpoint);
      std::vector<std::string> seen;
      std::string query = "limit=3";
      for (int page = 0; page < 6; ++page) {
        const auto body = fetch(view, endpoint, query);
        CHECK(body.at("total").as_int64() == 10);
        for (const auto& row : body.at(field).as_array()) {
          seen.push_back(text(row.at("cgroup")) + " " + text(row.at("file")));
        }
        if (body.at("continue").is_null()) break;
        query = "limit=3&continue=" + text(body.at("continue"));
      }
      REQUIRE(seen.size() == 10);
      std::sort(seen.begin(), seen.end());
      CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
      fetch(view, endpoint, "continue=zzz", 400);
      fetch(view, endpoint, "limit=0", 400);
      fetch(view, endpoint, "x=1", 400);
    }
    const auto token = text(fetch(view, "/api/v1/qos", "limit=3").at("continue"));
    fetch(view, "/api/v1/executor", "continue=" + token, 400);
    // Well made, but it names no file.
    for (const char* name : {"", "9kubepods", "0../x", "x"}) {
      fetch(view, "/api/v1/qos", "continue=" + status_api::make_token(name, "qos"), 400);
    }
  }
  TEST_CASE("config and capabilities list what is in the view") {
    auto view = make_view(CgroupVersion::kV2);
    view.config = {{"qos.pressure.mid_percent", "70", "toml"}};
    view.capabilities = {{"cgroup", true, "v2", ""},
                         {"netqos", false, "no net_cls on v2", "use the cni plugin's own limits"}};
    const auto config = fetch(view, "/api/v1/config");
    CHECK(text(config.at("items").as_array().at(0).at("source")) == "toml");
    const auto body = fetch(view, "/api/v1/capabilities");
    CHECK(body.at("items").as_array().at(0).at("advice").is_null());
    CHECK_FALSE(body.at("items").as_array().at(1).at("available").as_bool());
    CHECK(text(body.at("items").as_array().at(1).at("detail")) == "no net_cls on v2");
  }
}

TEST_SUITE("status_api/text") {
  TEST_CASE("invalid UTF-8 becomes the replacement character, valid text stays") {
    using status_api::utf8;
    const std::string bad = "\xEF\xBF\xBD";
    CHECK(utf8("plain") == "plain");
    CHECK(utf8("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") == "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    CHECK(utf8("a\xFFz") == "a" + bad + "z");
    CHECK(utf8("\xC3") == bad);                                // cut short
    CHECK(utf8("\xC0\xAF") == bad + bad);                      // overlong
    CHECK(utf8("\xED\xA0\x80") == bad + bad + bad);            // surrogate
    CHECK(utf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
  }
  TEST_CASE("times are RFC 3339 with milliseconds, before 1970 as well") {
    CHECK(status_api::rfc3339(kWall + milliseconds{7}) == "2026-01-02T03:04:05.007Z");
    CHECK(status_api::rfc3339(WallTime{}) == "1970-01-01T00:00:00.000Z");
    CHECK(status_api::rfc3339(WallTime{} - milliseconds{1}) == "1969-12-31T23:59:59.999Z");
  }
  TEST_CASE("a time ahead of the view has age 0, never is null") {
    StatusView view;
    view.now = kNow;
    CHECK(status_api::age_ms(view, kNow + seconds{1}).as_int64() == 0);
    CHECK(status_api::age_ms(view, MonoTime{}).is_null());
    CHECK(status_api::wall_of(view, MonoTime{}).is_null());
  }
}
