#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "app/commands.hpp"
#include "app/simulate_command.hpp"

namespace fs = std::filesystem;
using namespace koordlet;
using namespace koordlet::app;

namespace {

const std::string kSmall = R"(
duration = "30s"
[node]
cpu = 10
[[group]]
name = "web"
class = "LS"
request = 4.0
demand = { curve = "steps", steps = [["0s", 2.0], ["10s", 7.0]] }
[[group]]
name = "batch"
class = "BE"
count = 2
request = 2.0
demand = 2.0
)";

std::vector<std::string> faults_of(const std::string& text, const Overrides& overrides = {}) {
  std::vector<std::string> out;
  for (const auto& f : load_scenario_text(text, "s.toml", overrides).faults) {
    out.push_back(to_string(f));
  }
  return out;
}

ScenarioReading good(const std::string& text) {
  auto reading = load_scenario_text(text, "s.toml", {});
  for (const auto& f : reading.faults) FAIL(to_string(f));
  return reading;
}

/// A folder that goes with its test.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "koordlet-sim-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path / name} << text;
    return (path / name).string();
  }
  fs::path path;
};

CommandOutput run(const std::vector<std::string>& args) {
  const auto command = parse_command_line(args);
  REQUIRE(command.has_value());
  return run_simulate(*command, [](const std::string&) {});
}

std::vector<std::string> scenario_files() {
  std::vector<std::string> out;
  for (const auto& e : fs::directory_iterator{fs::path{KOORDLET_SOURCE_DIR} / "test/scenario"}) {
    out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_SUITE("simulate/scenario") {
  TEST_CASE("defaults, the node, groups and the daemon's own keys") {
    const auto r = good(kSmall + "[qos]\ninterval = \"2s\"\n[qos.pressure]\nmid_percent = 60\n");
    CHECK(r.scenario.node.cpus == 10);
    CHECK(r.scenario.node.cgroup == CgroupVersion::kV2);
    CHECK(r.scenario.groups.size() == 2);
    CHECK(r.scenario.groups[0].demand.steps.size() == 2);
    CHECK(r.scenario.groups[1].request == MilliCpu{2000});
    CHECK(r.scenario.sample_interval == std::chrono::seconds{2});
    CHECK(r.config.qos.policy.pressure.mid_percent == 60);
  }
  TEST_CASE("--set stands above the file") {
    const auto r = load_scenario_text(kSmall + "[qos.pressure]\nmid_percent = 60\n",
                                      "s.toml",
                                      {{"qos.pressure.mid_percent", "50"}});
    CHECK(r.faults.empty());
    CHECK(r.config.qos.policy.pressure.mid_percent == 50);
  }
  TEST_CASE("all faults at once, each with its line, path, value and what was expected") {
    const auto faults = faults_of(R"(duration = "10"
speed = 2
[node]
cpu = 0
cgroup = "v3"
[[group]]
name = "A"
class = "ls"
count = -1
demand = { curve = "steps", steps = [["5s", 1], ["5s", 2]] }
[[group]]
name = "b"
class = "BE"
demand = true
request = nan
[qos.pressure]
mid_percent = 200
[[event]]
at = "1s"
group = "c"
)");
    CHECK(faults ==
          std::vector<std::string>{
              "s.toml:1: duration: \"10\": expected a duration from 1s to 168h",
              "s.toml:2: speed: 2: expected a known key",
              "s.toml:4: node.cpu: 0: expected a whole number from 1 to 4096",
              "s.toml:5: node.cgroup: \"v3\": expected \"v1\" or \"v2\"",
              "s.toml:7: group[0].name: \"A\": expected 1 to 40 of a-z, 0-9 and -",
              "s.toml:8: group[0].class: \"ls\": expected \"LSR\", \"LS\" or \"BE\"",
              "s.toml:9: group[0].count: -1: expected a whole number from 0 to 20000",
              "s.toml:10: group[0].demand.steps: an array: expected pairs [\"TIME\", CORES], times "
              "rising, cores from 0 to 4096",
              "s.toml:14: group[1].demand: true: expected a number from 0 to 4096",
              "s.toml:15: group[1].request: nan: expected a number from 0.001 to 4096",
              "s.toml:17: qos.pressure.mid_percent: 200: expected a whole number from 1 to 99",
              "s.toml:19: event[0].at: \"1s\": expected count, memory_growth or api beside it",
              "s.toml:20: event[0].group: \"c\": expected the name of a group"});
  }
  TEST_CASE("what is missing is named") {
    CHECK(faults_of("") == std::vector<std::string>{"s.toml: duration: absent: expected a value",
                                                    "s.toml: node: absent: expected a value",
                                                    "s.toml: group: absent: expected a value"});
  }
  TEST_CASE("rules over several keys") {
    CHECK(faults_of("koordlet_from = \"1m\"\n" + kSmall).size() == 1);
    CHECK(faults_of(kSmall + "[qos]\ninterval = \"7s\"\n").size() == 1);   // 30 s in sevens
    CHECK(faults_of(kSmall + "[[expect]]\nat = \"40s\"\n").size() == 1);   // after the end
    CHECK(faults_of(kSmall + "[claims]\nat = \"1500ms\"\n").size() == 1);  // between two steps
    CHECK(faults_of(kSmall + "[limits]\nfrom = \"30s\"\n").size() == 1);
    CHECK(faults_of(kSmall + kSmall.substr(kSmall.find("[[group]]"))).size() == 2);  // names twice
  }
  TEST_CASE("what could never be looked at is refused: empty expectations, events past the end") {
    CHECK(faults_of(kSmall + "[[expect]]\nat = \"5s\"\n") ==
          std::vector<std::string>{
              "s.toml:17: expect[0].at: \"5s\": expected what shall be then beside it"});
    const auto at = [](const char* moment) {
      return faults_of(kSmall + "[[event]]\napi = false\nat = \"" + moment + "\"\n");
    };
    CHECK(at("29s").empty());
    for (const char* moment : {"30s", "31s"}) {
      const auto faults = at(moment);
      REQUIRE(faults.size() == 1);
      CHECK(faults[0].find("expected at below duration; got") != std::string::npos);
    }
  }
  TEST_CASE("--set of a key that no simulation looks at is refused") {
    CHECK(faults_of(kSmall, {{"collect.interval", "30s"}}).empty());
    const auto faults = faults_of(kSmall, {{"store.folder", "/x"}});
    REQUIRE(faults.size() == 1);
    CHECK(faults[0] ==
          "command line: store.folder: \"/x\": expected a key of [qos], [collect] or [executor]: a "
          "simulation looks at no other");
  }
  TEST_CASE("damage of every kind is a fault, never a crash") {
    for (std::size_t cut = 0; cut < kSmall.size(); cut += 3) {
      static_cast<void>(faults_of(kSmall.substr(0, cut)));
      std::string bent = kSmall;
      bent[cut] = '\xff';
      static_cast<void>(faults_of(bent));
    }
    CHECK_FALSE(faults_of("group = 1\nnode = 2\nevent = [1]\nlimits = []\nqos = 3").empty());
    CHECK(load_scenario("/nowhere/s.toml", {}).faults.size() == 1);
  }
}

TEST_SUITE("simulate/command") {
  TEST_CASE("LS steps up: HIGH and the cap in the tree within one step, LS has all it asks for") {
    const auto report = make_report("s.toml", good(kSmall));
    const auto& rows = report.timeline.rows;
    REQUIRE(rows.size() == 30);
    CHECK(rows[9].level == policy::Level::kNone);   // (2 + 4) / 10 = 60 %
    CHECK(rows[10].level == policy::Level::kHigh);  // 7 + what is left
    CHECK(rows[10].factor_permille == 300);
    CHECK(*rows[10].be_cap_after == doctest::Approx(1.2));
    CHECK(rows[11].use.ls_used == doctest::Approx(7.0));
    CHECK(rows[11].use.be_used == doctest::Approx(1.2));
    CHECK(report.summary.step_to_cap == std::chrono::seconds{1});
    CHECK(report.summary.flips == 0);
    CHECK(report.timeline.refused_writes == 0);
  }
  TEST_CASE("the same scenario gives the same run") {
    CHECK(simulation_json(make_report("s", good(kSmall))) ==
          simulation_json(make_report("s", good(kSmall))));
  }
  TEST_CASE("a broken expectation is exit 1 and one line with both values") {
    const Folder folder;
    const auto file = folder.write("s.toml", kSmall + "[[expect]]\nat = \"12s\"\nbe_used = 4\n");
    const auto out = run({"simulate", file});
    CHECK(out.exit_code == kExitFailed);
    CHECK(out.err == file + ": at 12 s: be_used: 1.2: expected 4\n");
    CHECK(out.out.find("1 expectations or limits do not hold") != std::string::npos);
  }
  TEST_CASE("--json is one object, --plot a whole file or none") {
    const Folder folder;
    const auto file = folder.write("s.toml", kSmall);
    const auto svg = (folder.path / "s.svg").string();
    const auto out = run({"simulate", file, "--json", "--plot", svg});
    CHECK(out.exit_code == kExitOk);
    const auto json = boost::json::parse(out.out).as_object();
    CHECK(json.at("ok").as_bool());
    CHECK(json.at("summary").as_object().at("step_to_cap_s").to_number<double>() == 1);
    CHECK(fs::file_size(svg) > 1000);
    const auto nowhere = (folder.path / "no/such.svg").string();
    const auto failed = run({"simulate", file, "--plot", nowhere});
    CHECK(failed.exit_code == kExitFailed);
    CHECK(failed.err.find(nowhere) != std::string::npos);
  }
  TEST_CASE("a faulty file is not run; a faulty --set is a usage error") {
    const Folder folder;
    const auto bad = folder.write("bad.toml", "duration = 5\n" + kSmall);
    CHECK(run({"simulate", bad}).exit_code == kExitFailed);
    CHECK(run({"simulate", bad}).out.empty());
    const auto file = folder.write("s.toml", kSmall);
    CHECK(run({"simulate", file, "--set", "qos.pressure.mid_percent=0"}).exit_code == kExitUsage);
  }
  TEST_CASE("the command line: FILE is needed, --plot belongs to simulate alone") {
    CHECK(parse_command_line({"simulate"}).has_error());
    CHECK(parse_command_line({"simulate", ""}).has_error());
    CHECK(parse_command_line({"simulate", "a", "b"}).has_error());
    CHECK(parse_command_line({"status", "--plot", "x"}).has_error());
    CHECK(parse_command_line({"simulate", "a", "--plot", ""}).has_error());
    CHECK(parse_command_line({"simulate", "a", "--dry-run"}).has_error());
    CHECK(parse_command_line({"simulate", "a", "--plot", "x.svg"})->plot_file == "x.svg");
  }
  TEST_CASE("V-A to V-C: the mission's figures stand beside the simulated ones") {
    const auto file = std::string{KOORDLET_SOURCE_DIR} + "/test/scenario/mission_1024.toml";
    const auto out = run({"simulate", file});
    CHECK(out.exit_code == kExitOk);
    for (const char* line : {"LS p99        5.0 ms     5.0 ms  met",
                             "BE slowdown  +30.0 %    +66.7 %  not met: the rule gives +66.7 %",
                             "utilisation  90.00 %    96.68 %  met"}) {
      CHECK_MESSAGE(out.out.find(line) != std::string::npos, line);
    }
  }
}

TEST_SUITE("simulate/disks") {
  const std::string kDisk = R"(
[[disk]]
name = "vdb"
bps = "100MiB"
iops = 1000
[[group]]
name = "db"
class = "LS"
demand = 1
io = { disk = "vdb", read_bps = "10MiB", read_iops = 100 }
[[group]]
name = "copy"
class = "BE"
demand = 1
io = { disk = "vdb", write_bps = "200MiB", write_iops = 200 }
)";
  const std::string kSlo = R"(
[node_slo]
from = "10s"
[node_slo.spec.resourceQOSStrategy.beClass.blkioQOS]
enable = true
blocks = [{ name = "vdb", type = "device", ioCfg = { writeBPS = 20971520, ioWeightPercent = 40 } }]
)";

  TEST_CASE("disks and their users are read; numbers of disks follow each other") {
    const auto r = good(kSmall + kDisk + "[[disk]]\nname = \"vdc\"\n");
    REQUIRE(r.scenario.disks.size() == 2);
    CHECK(r.scenario.disks[0].number == "253:0");
    CHECK(r.scenario.disks[1].number == "253:16");
    CHECK(r.scenario.disks[0].bytes_per_second == 100 * 1048576.0);
    CHECK(r.scenario.groups[3].io->load.write_bytes == 200 * 1048576.0);
    CHECK_FALSE(r.scenario.groups[0].io);
  }
  TEST_CASE("faults of disks, of their users and of the NodeSLO are named") {
    const auto faults = faults_of(kSmall + R"(io = { disk = "vdx", read_bps = "1MiB" }
[[disk]]
name = "sd/a"
number = "8"
iops = 0
[node_slo]
spec.resourceQOSStrategy.beClass.blkioQOS = { enable = 1 }
)");
    REQUIRE(faults.size() == 6);
    CHECK(faults[0].ends_with("group[1].io.disk: \"vdx\": expected the name of a disk"));
    CHECK(faults[1].ends_with("group[1].io.read_bps: \"1MiB\": expected read_iops beside it"));
    CHECK(faults[2].ends_with("disk[0].name: \"sd/a\": expected 1 to 40 of a-z, 0-9 and -"));
    CHECK(faults[3].ends_with("disk[0].number: \"8\": expected MAJOR:MINOR"));
    CHECK(faults[4].find("disk[0].iops: 0: expected a number from 1") != std::string::npos);
    CHECK(faults[5].find("node_slo.spec") != std::string::npos);
    CHECK(faults[5].find("beClass.blkioQOS.enable") != std::string::npos);
  }
  TEST_CASE("the limit of the NodeSLO is in the kernel two ticks after it came, on v1 and on v2") {
    for (const char* version : {"v1", "v2"}) {
      CAPTURE(version);
      std::string text = kSmall;
      text.replace(text.find("cpu = 10"), 8, std::string{"cpu = 10\ncgroup = \""} + version + "\"");
      const auto report = make_report("s", good(text + kDisk + kSlo));
      const auto& rows = report.timeline.rows;
      REQUIRE(rows.size() == 30);
      CHECK(rows[9].use.disk.busy_percent == doctest::Approx(240));  // 10 + 10, 20 + 200
      CHECK(rows[9].use.disk.be_bytes == doctest::Approx(200 * 1048576.0 / 2.4));
      CHECK_FALSE(rows[9].be_held_after);
      CHECK(rows[10].be_held_after);
      CHECK(rows[11].use.disk.be_held);
      CHECK(rows[11].use.disk.be_bytes == doctest::Approx(20 * 1048576.0));
      CHECK(rows[11].use.disk.busy_percent == doctest::Approx(42));  // 20 and 2 + 20
      CHECK(report.summary.disk.held.worst_read_p99_ms == doctest::Approx(1 / 0.58));
      CHECK(report.timeline.refused_writes == 0);  // v1 has no weight: unsupported, not refused
    }
  }
  TEST_CASE("figures of disks stand in the table, the summary and the JSON, and only with disks") {
    const auto with = make_report("s", good(kSmall + kDisk + kSlo));
    const auto text = simulation_text(with);
    for (const char* word :
         {"READ P99", "20.0 MiB/s held", "disk, longest from step to cap  11 s"}) {
      CHECK_MESSAGE(text.find(word) != std::string::npos, word);
    }
    const auto json = boost::json::parse(simulation_json(with)).as_object();
    const auto& disk = json.at("summary").as_object().at("disk").as_object();
    CHECK(disk.at("step_to_cap_s").to_number<double>() == 11);
    CHECK(disk.at("held").as_object().at("mean_busy_percent").to_number<double>() ==
          doctest::Approx(42));
    CHECK(json.at("rows").as_array()[0].as_object().contains("disk_busy_percent"));
    const auto without = make_report("s", good(kSmall));
    CHECK(simulation_text(without).find("DISK") == std::string::npos);
    CHECK(simulation_json(without).find("disk") == std::string::npos);
  }
  TEST_CASE("a limit that is not met is one line with both values") {
    const auto report =
        make_report("s",
                    good(kSmall + kDisk +
                         "[limits]\nmax_ls_read_p99_ms = 5\nmax_disk_step_to_cap = \"5s\"\n"
                         "[[expect]]\nat = \"5s\"\nbe_disk_mib = 200\n"));
    REQUIRE(report.broken.size() == 3);
    CHECK(report.broken[0] == "at 5 s: be_disk_mib: 83.33333: expected 200");
    CHECK(report.broken[1] == "whole run: ls_read_p99_ms: 1025: expected at most 5");
    CHECK(report.broken[2] == "whole run: disk_step_to_cap: no limit: expected one within 5 s");
  }
}

TEST_SUITE("simulate/scenarios") {
  TEST_CASE("every scenario runs, and holds what it expects") {
    const auto files = scenario_files();
    CHECK(files.size() >= 9);
    for (const auto& file : files) {
      CAPTURE(file);
      const auto out = run({"simulate", file});
      CHECK(out.exit_code == kExitOk);
      CHECK(out.err == "");
    }
  }
}
