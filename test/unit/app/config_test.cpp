#include "app/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include "app/commands.hpp"
#include "app/setting.hpp"
#include "kernel/fd.hpp"
#include "policy/config_fields.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

std::vector<std::string> faults_of(const std::string& text, const Overrides& overrides = {}) {
  std::vector<std::string> out;
  for (const auto& f : load_config_text(text, "k.toml", overrides).faults) {
    out.push_back(to_string(f));
  }
  return out;
}

std::string only_fault(const std::string& text, const Overrides& overrides = {}) {
  const auto all = faults_of(text, overrides);
  REQUIRE(all.size() == 1);
  return all.front();
}

std::string value_of(const LoadedConfig& loaded, const std::string& key) {
  for (const auto& v : loaded.values) {
    if (v.key == key) return v.value;
  }
  return "no such key";
}
std::string source_of(const LoadedConfig& loaded, const std::string& key) {
  for (const auto& v : loaded.values) {
    if (v.key == key) return v.source;
  }
  return "no such key";
}

constexpr const char* kFiveFaults =
    "[qos]\n"
    "interval = \"1 parsec\"\n"
    "intervall = \"1s\"\n"
    "[qos.pressure]\n"
    "mid_percent = \"65\"\n"
    "high_percent = 101\n"
    "[colect]\n"
    "interval = \"60s\"\n";

}  // namespace

TEST_SUITE("config") {
  TEST_CASE("no file: the built-in values of the design") {
    const auto reading = load_config("", {});
    REQUIRE(reading.ok());
    const Config& c = reading.loaded.config;
    CHECK(c.collect.collect_interval == std::chrono::seconds{60});
    CHECK(c.qos.interval == std::chrono::seconds{1});
    CHECK(c.qos.fast_poll == std::chrono::milliseconds{100});
    CHECK(c.qos.on_shutdown == OnShutdown::kRestore);
    CHECK(c.qos.policy.pressure_profile);
    CHECK(c.qos.policy.node_stale_seconds == 3);
    CHECK(c.qos.policy.pressure.mid_percent == 65);
    CHECK(c.qos.policy.pressure.high_percent == 80);
    CHECK(c.qos.policy.identity.be_shares == 20);
    CHECK_FALSE(c.qos.policy.suppress.min_percent.has_value());
    CHECK(c.executor.batch_size == 100);
    CHECK_FALSE(c.executor.dry_run);
    CHECK(c.store.folder == "/var/lib/koordlet");
    CHECK(c.store.metrics.ttl == std::chrono::seconds{3600});
    CHECK(c.store.metrics.gc_interval == std::chrono::minutes{30});
    CHECK(c.status.listen == "127.0.0.1:6060");
    CHECK(c.status.metrics_listen == "127.0.0.1:9316");
    CHECK(c.host.cgroup == "/sys/fs/cgroup");
    for (const auto& v : reading.loaded.values) CHECK(v.source == "built-in");
  }

  // KOORDLET_WRITE_GENERATED=1 writes the file anew after a key was changed.
  TEST_CASE("the checked-in file is the generated one, names every key, and equals the defaults") {
    const std::string file = std::string{KOORDLET_SOURCE_DIR} + "/config/koordlet.toml";
    if (std::getenv("KOORDLET_WRITE_GENERATED") != nullptr) std::ofstream{file} << default_toml();
    const auto text = kernel::read_file(file);
    REQUIRE(text.has_value());
    CHECK(*text == default_toml());
    const auto from_file = load_config_text(*text, "koordlet.toml", {});
    REQUIRE(from_file.ok());
    const auto built_in = load_config("", {});
    REQUIRE(from_file.loaded.values.size() == settings().size());
    for (std::size_t i = 0; i < settings().size(); ++i) {
      CHECK(from_file.loaded.values[i].key == settings()[i].key);
      CHECK(from_file.loaded.values[i].value == built_in.loaded.values[i].value);
      CHECK(from_file.loaded.values[i].source == "toml");
    }
  }

  TEST_CASE("every key has a unique name, a description, and a default within its own range") {
    std::set<std::string> names;
    std::set<std::string> flags;
    for (const auto& s : settings()) {
      CAPTURE(s.key);
      CHECK(names.insert(s.key).second);
      CHECK_FALSE(s.about.empty());
      CHECK_FALSE(range_text(s).empty());
      const auto text = format_value(s, s.get(Config{}));
      const auto back = convert_text(s, text);
      REQUIRE(back.has_value());
      CHECK(*back == s.get(Config{}));
      if (!s.flag.empty()) CHECK(flags.insert(s.flag).second);
    }
    CHECK(flags == std::set<std::string>{"metric-cache-ttl",
                                         "nodemetric-report-interval",
                                         "gc-interval",
                                         "collect-interval",
                                         "predict-window",
                                         "qos-interval",
                                         "batch-size"});
  }

  TEST_CASE("set and get of a key meet the same member") {
    for (const auto& s : settings()) {
      CAPTURE(s.key);
      Config c;
      SettingValue other = s.get(c);
      if (auto* flag = std::get_if<bool>(&other)) {
        *flag = !*flag;
      } else if (s.type == SettingType::kOptionalInteger) {
        other = s.max;
      } else if (auto* n = std::get_if<std::int64_t>(&other)) {
        *n = *n == s.max ? s.min : s.max;
      } else if (s.type == SettingType::kEnum) {
        other = s.choices.back();
      } else {
        other = std::string{"/elsewhere"};
      }
      s.set(c, other);
      CHECK(s.get(c) == other);
      for (const auto& rest : settings()) {
        if (rest.key != s.key) CHECK(rest.get(c) == rest.get(Config{}));
      }
    }
  }

  TEST_CASE("five faults: five lines with file, line, key, value and what was expected") {
    const auto all = faults_of(kFiveFaults);
    REQUIRE(all.size() == 5);
    CHECK(all[0] ==
          "k.toml:2: qos.interval: \"1 parsec\": expected a duration from 1s to 1m, such as "
          "\"500ms\"");
    CHECK(all[1] ==
          "k.toml:3: qos.intervall: \"1s\": expected a known key; did you mean qos.interval?");
    CHECK(all[2] ==
          "k.toml:5: qos.pressure.mid_percent: \"65\": expected a whole number from 1 to 99");
    CHECK(all[3] ==
          "k.toml:6: qos.pressure.high_percent: 101: expected a whole number from 2 to 100");
    CHECK(all[4] ==
          "k.toml:7: colect: unknown section: expected a known section; did you mean collect?");
  }

  TEST_CASE("check-config of five faults: five lines on stderr, nothing on stdout, exit 1") {
    const test::FakeTree tree{{"bad.toml", kFiveFaults}};
    CommandLine command;
    command.verb = Verb::kCheckConfig;
    command.config_file = tree.path("bad.toml");
    const auto out = run_command(command);
    CHECK(out.exit_code == 1);
    CHECK(out.out.empty());
    CHECK(std::count(out.err.begin(), out.err.end(), '\n') == 5);
    CHECK(out.err.find(tree.path("bad.toml") + ":2: qos.interval: ") == 0);
  }

  TEST_CASE("check-config of a good file says so") {
    const test::FakeTree tree{{"good.toml", "[qos]\ninterval = \"2s\"\n"}};
    CommandLine command;
    command.verb = Verb::kCheckConfig;
    command.config_file = tree.path("good.toml");
    const auto out = run_command(command);
    CHECK(out.exit_code == 0);
    CHECK(out.out == tree.path("good.toml") + ": ok\n");
    CHECK(out.err.empty());
  }

  TEST_CASE("a file that is not there is one fault that names it") {
    const auto reading = load_config("/nonexistent/koordlet.toml", {});
    REQUIRE(reading.faults.size() == 1);
    const auto text = to_string(reading.faults.front());
    CHECK(text.starts_with("/nonexistent/koordlet.toml: open: No such file"));
    CHECK(fault_exit_code(reading.faults) == 1);
  }

  TEST_CASE("a section that stands twice is a fault, and the rest of the file is still checked") {
    const auto all = faults_of(
        "[qos]\ninterval = \"2s\"\n[log]\nlevel = \"loud\"\n[qos]\nfast_poll = \"90m\"\n"
        "[store]\nfolder = \"here\"\n");
    REQUIRE(all.size() == 3);
    CHECK(all[0].starts_with("k.toml:4: log.level: \"loud\": expected \"debug\", \"info\""));
    CHECK(all[1].starts_with("k.toml:5: syntax: [qos]: expected valid TOML: "));
    CHECK(all[2] == "k.toml:8: store.folder: \"here\": expected an absolute path");
  }

  TEST_CASE("a key that stands twice, and a line that is no TOML") {
    const auto all = faults_of(
        "[log]\njson = true\njson = false\n[qos]\ninterval = 2 s\nprofile = \"mission\"\n");
    REQUIRE(all.size() == 3);
    CHECK(all[0].starts_with("k.toml:3: syntax: json = false: "));
    CHECK(all[1].starts_with("k.toml:5: syntax: interval = 2 s: "));
    CHECK(all[2].starts_with("k.toml:6: qos.profile: \"mission\": expected \"pressure\" or"));
  }

  TEST_CASE("values of a wrong type") {
    const char* const table[][2] = {
        {"[executor]\ndry_run = \"yes\"\n", "expected true or false"},
        {"[executor]\ndry_run = 1\n", "expected true or false"},
        {"[executor]\nbatch_size = 1.5\n", "expected a whole number"},
        {"[executor]\nbatch_size = true\n", "expected a whole number"},
        {"[executor]\nbatch_size = [1]\n", "an array: expected a whole number"},
        {"[executor.batch_size]\nx = 1\n", "a table: expected a whole number"},
        {"[qos]\ninterval = 1\n", "expected a duration"},
        {"[qos]\ninterval = 1979-05-27\n", "a date or time: expected a duration"},
        {"[store]\nstate_map_size = 67108864\n", "expected a size"},
        {"[store]\nfolder = 5\n", "expected an absolute path"},
        {"qos = 3\n", "qos: 3: expected a section [qos]"},
        {"[[qos]]\ninterval = \"1s\"\n", "qos: an array: expected a section [qos]"},
        {"interval = \"1s\"\n", "expected a known key"},
    };
    for (const auto& row : table) {
      CAPTURE(row[0]);
      CHECK(only_fault(row[0]).find(row[1]) != std::string::npos);
    }
  }

  TEST_CASE("precedence: command line over TOML over built-in, and the source of each value") {
    const auto reading =
        load_config_text("[executor]\nbatch_size = 50\ndry_run = true\n",
                         "k.toml",
                         {{"executor.batch_size", "7"}, {"executor.batch_size", "8"}});
    REQUIRE(reading.ok());
    const auto& loaded = reading.loaded;
    CHECK(loaded.config.executor.batch_size == 8);
    CHECK(loaded.config.executor.dry_run);
    CHECK(value_of(loaded, "executor.batch_size") == "8");
    CHECK(source_of(loaded, "executor.batch_size") == "command line");
    CHECK(source_of(loaded, "executor.dry_run") == "toml");
    CHECK(source_of(loaded, "qos.interval") == "built-in");
    CHECK(value_of(loaded, "qos.interval") == "1s");
  }

  TEST_CASE("--set of an unknown key and of a bad value") {
    CHECK(only_fault("", {{"qos.nothing", "1"}}) ==
          "command line: qos.nothing: \"1\": expected a known key");
    CHECK(only_fault("", {{"executor.batch_size", "many"}}) ==
          "command line: executor.batch_size: \"many\": expected a whole number from 1 to 10000");
    CHECK(fault_exit_code(load_config("", {{"qos.nothing", "1"}}).faults) == 2);
  }

  TEST_CASE("a bad value keeps the value before it") {
    const auto reading =
        load_config_text("[executor]\nbatch_size = 50\n", "k.toml", {{"executor.batch_size", "0"}});
    CHECK_FALSE(reading.ok());
    CHECK(reading.loaded.config.executor.batch_size == 50);
    CHECK(source_of(reading.loaded, "executor.batch_size") == "toml");
  }

  TEST_CASE("rules over two keys name the key, its value and the line") {
    CHECK(only_fault("[executor]\nretry_first = \"10s\"\nretry_max = \"1s\"\n") ==
          "k.toml:3: executor.retry_max: \"1s\": expected at least executor.retry_first (10s)");
    CHECK(only_fault("[store]\nretention = \"30m\"\nmetric_cache_ttl = \"2h\"\n") ==
          "k.toml:2: store.retention: \"30m\": expected at least store.metric_cache_ttl (2h)");
    CHECK(only_fault("[metrics]\nlisten = \"127.0.0.1:6060\"\n") ==
          "k.toml:2: metrics.listen: \"127.0.0.1:6060\": expected another address than "
          "status.listen");
  }

  TEST_CASE("the policy's own rules name the key with its line") {
    CHECK(only_fault("[qos.pressure]\nhigh_percent = 80\nmid_percent = 80\n") ==
          "k.toml:3: qos.pressure.mid_percent: 80: expected less than qos.pressure.high_percent "
          "(80)");
    CHECK(only_fault("[qos.pressure]\n\nhigh_percent = 60\n") ==
          "k.toml:3: qos.pressure.mid_percent: 65: expected less than qos.pressure.high_percent "
          "(60)");
    CHECK(only_fault("", {{"qos.pressure.factor_mid_permille", "200"}}) ==
          "command line: qos.pressure.factor_high_permille: 300: expected at most "
          "qos.pressure.factor_mid_permille (200)");
  }

  TEST_CASE("a refused value is one fault: no rule is checked against the default in its place") {
    CHECK(only_fault("[qos.pressure]\nmid_percent = 90\nhigh_percent = 101\n")
              .starts_with("k.toml:3: qos.pressure.high_percent: 101: "));
  }

  TEST_CASE("the pressure keys have the ranges that NodeSLO has") {
    for (const auto& field : policy::kPressureFields) {
      CAPTURE(field.toml);
      const Setting* s = find_setting("qos.pressure." + std::string{field.toml});
      REQUIRE(s != nullptr);
      CHECK(s->min == field.low);
      CHECK(s->max == field.high);
    }
  }

  TEST_CASE("a longer tick makes node signals stale later, whatever the file says") {
    struct Row {
      Overrides overrides;
      int seconds;
    };
    const Row table[] = {{{}, 3},
                         {{{"qos.interval", "5s"}}, 15},
                         {{{"qos.interval", "5s"}, {"qos.node_stale", "3s"}}, 15},
                         {{{"qos.interval", "1500ms"}}, 6},
                         {{{"qos.node_stale", "20s"}}, 20}};
    for (const auto& row : table) {
      const auto reading = load_config("", row.overrides);
      REQUIRE(reading.ok());
      CHECK(reading.loaded.config.qos.policy.node_stale_seconds == row.seconds);
    }
  }

  TEST_CASE("a source is one of three, and kubelet's needs its address") {
    CHECK(only_fault("[states]\nsource = \"etcd\"\n") ==
          "k.toml:2: states.source: \"etcd\": expected \"files\", \"kubernetes\" or \"kubelet\"");
    CHECK(
        only_fault("[states]\nsource = \"kubelet\"\n") ==
        "k.toml:2: kubelet.url: \"\": expected kubelet's address, as states.source is \"kubelet\"");
    CHECK(only_fault("[kubelet]\nurl = \"ftp://x\"\n") ==
          "k.toml:2: kubelet.url: \"ftp://x\": expected https://HOST:PORT or http://HOST:PORT, or "
          "empty");
    CHECK(only_fault("[kubelet]\ncert_file = \"/a\"\n") ==
          "k.toml:2: kubelet.key_file: \"\": expected a key exactly when there is a "
          "kubelet.cert_file");
    CHECK(only_fault("[report]\ninterval = \"5s\"\n") ==
          "k.toml:2: report.interval: \"5s\": expected 0s, or at least 10s");
  }

  TEST_CASE("resctrl groups are plain names: no empty word, no control character, none reserved") {
    for (const char* bad : {"info",
                            "LS,info",
                            "mon_groups",
                            "mon_data",
                            "LS,,BE",
                            ",",
                            "LS,",
                            " ",
                            "../x",
                            ".x",
                            "a/b",
                            "LS\\u0000",
                            "L\\nS"}) {
      CAPTURE(bad);
      const auto fault = only_fault(fmt::format("[collect]\nresctrl_groups = \"{}\"\n", bad));
      CHECK(fault.starts_with("k.toml:2: collect.resctrl_groups: \""));
      CHECK(fault.find("\": expected names with commas between") != std::string::npos);
      CHECK(fault.find('\0') == std::string::npos);
    }
    const auto good = load_config_text("[collect]\nresctrl_groups = \"LS, BE\"\n", "k.toml", {});
    CHECK(good.loaded.config.collect.resctrl_groups == std::vector<std::string>{"LS", "BE"});
    CHECK(load_config("", {{"collect.resctrl_groups", ""}})
              .loaded.config.collect.resctrl_groups.empty());
    CHECK(only_fault("", {{"collect.resctrl_groups", "info"}})
              .starts_with("command line: collect.resctrl_groups: \"info\": expected names"));
  }

  TEST_CASE("a window of the counters is not longer than what lies between two of them") {
    CHECK(only_fault("[interference]\nperf_window = \"20s\"\nperf_interval = \"10s\"\n") ==
          "k.toml:2: interference.perf_window: \"20s\": expected at most "
          "interference.perf_interval (10s)");
    CHECK(faults_of("[interference]\nperf_window = \"10s\"\nperf_interval = \"10s\"\n").empty());
  }

  TEST_CASE("outside text in a fault is cut and has no control characters") {
    const auto text =
        only_fault("[store]\nfolder = \"\\u001b[31m" + std::string(500, 'x') + "\"\n");
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.size() < 250);
  }

  TEST_CASE("names in keys: namespaces and disks, each fault with its line") {
    CHECK(faults_of("[qos]\nhands_off_namespaces = \"kube-system, team1\"\n").empty());
    CHECK(only_fault("[qos]\nhands_off_namespaces = \"ok,Jobs\"\n") ==
          "k.toml:2: qos.hands_off_namespaces: \"ok,Jobs\": expected names of namespaces (a-z, 0-9 "
          "and '-', at most 63), 'Jobs' is none");
    CHECK(faults_of("[qos.blkio]\ndevices = \"sda,nvme0n1\"\n").empty());
    CHECK(
        only_fault("[qos.blkio]\ndevices = \"/dev/sda\"\n") ==
        "k.toml:2: qos.blkio.devices: '/dev/sda': expected disks or partitions, as sda,nvme0n1p1");
  }

  TEST_CASE("text that is no TOML at all ends, with faults") {
    for (const std::string& bad : {std::string(2000, '['),
                                   std::string("\"\"\"\nnever closed"),
                                   std::string("\xff\xfe\x00", 3),
                                   std::string("a = [\n[\n[\n")}) {
      CHECK_FALSE(load_config_text(bad, "k.toml", {}).ok());
    }
  }

  TEST_CASE("the folders of the two environments follow from store.folder") {
    Config c;
    c.store.folder = "/data";
    c.store.state_map_size = 8 << 20;
    CHECK(state_env_options(c).folder == "/data/state");
    CHECK(state_env_options(c).map_size == 8 << 20);
    CHECK(metric_cache_config(c).folder == "/data/metrics");
  }

  TEST_CASE("the table of docs/tune.md is the generated one") {
    const std::string file = std::string{KOORDLET_SOURCE_DIR} + "/docs/tune.md";
    auto text = kernel::read_file(file);
    REQUIRE(text.has_value());
    if (std::getenv("KOORDLET_WRITE_GENERATED") != nullptr) {
      const auto begin = text->find("### [");
      const auto end = text->find("\n## ", begin);
      REQUIRE(end != std::string::npos);
      text->replace(begin, end - begin, settings_markdown());
      std::ofstream{file} << *text;
    }
    CHECK(text->find(settings_markdown()) != std::string::npos);
  }
}
