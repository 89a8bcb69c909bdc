#include "app/command_line.hpp"

#include <doctest/doctest.h>

#include "app/commands.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

using Args = std::vector<std::string>;

std::string refusal(const Args& args) {
  const auto parsed = parse_command_line(args);
  REQUIRE(parsed.has_error());
  return parsed.error().context;
}

}  // namespace

TEST_SUITE("command line") {
  TEST_CASE("commands") {
    struct Row {
      Args args;
      Verb verb;
    };
    const Row table[] = {
        {{}, Verb::kRun},
        {{"run"}, Verb::kRun},
        {{"--dry-run"}, Verb::kRun},
        {{"check-config", "a.toml"}, Verb::kCheckConfig},
        {{"doctor", "--json"}, Verb::kDoctor},
        {{"status"}, Verb::kStatus},
        {{"--json", "status"}, Verb::kStatus},
        {{"pods", "--socket", "/tmp/s"}, Verb::kPods},
        {{"explain", "default/web"}, Verb::kExplain},
        {{"restore", "--dry-run"}, Verb::kRestore},
        {{"version"}, Verb::kVersion},
        {{"--version"}, Verb::kVersion},
        {{"help"}, Verb::kHelp},
        {{"run", "--help"}, Verb::kHelp},
        {{"-h"}, Verb::kHelp},
    };
    for (const auto& row : table) {
      const auto parsed = parse_command_line(row.args);
      REQUIRE(parsed.has_value());
      CHECK(parsed->verb == row.verb);
    }
  }

  TEST_CASE("usage faults are one line each") {
    const Args table[] = {
        {"fly"},
        {"--fly"},
        {"run", "--fly=1"},
        {"run", "extra"},
        {"status", "extra"},
        {"check-config", "a", "b"},
        {"check-config", "a", "--config", "b"},
        {"explain"},
        {"explain", "a", "b"},
        {"explain", "../etc"},
        {"explain", "a/b/c"},
        {"explain", "/a"},
        {"explain", "a b"},
        {"run", "--json"},
        {"status", "--dry-run"},
        {"status", "--batch-size", "5"},
        {"--set"},
        {"--set", "novalue"},
        {"--set", "=5"},
        {"--config"},
        {"--words", "status"},
        {"--batch", "5"},  // no abbreviations
        {"--qos-interval"},
    };
    for (const auto& args : table) {
      CAPTURE(args.front());
      const auto text = refusal(args);
      CHECK_FALSE(text.empty());
      CHECK(text.find('\n') == std::string::npos);
    }
    CHECK(refusal({"fly"}) == "unknown command 'fly'; see `koordlet help`");
  }

  TEST_CASE("flags of keys become overrides; --set comes last and wins") {
    const auto parsed = parse_command_line({"run",
                                            "--set",
                                            "executor.batch_size=9",
                                            "--batch-size",
                                            "5",
                                            "--qos-interval=2s",
                                            "--socket",
                                            "/tmp/k.sock",
                                            "--set",
                                            "log.level=debug",
                                            "--dry-run"});
    REQUIRE(parsed.has_value());
    const auto reading = load_config("", parsed->overrides);
    REQUIRE(reading.ok());
    const Config& c = reading.loaded.config;
    CHECK(c.executor.batch_size == 9);
    CHECK(c.qos.interval == std::chrono::seconds{2});
    CHECK(c.status.socket == "/tmp/k.sock");
    CHECK(c.log.level == log::Level::kDebug);
    CHECK(c.executor.dry_run);
  }

  TEST_CASE("--set keeps everything after the first equals sign") {
    const auto parsed = parse_command_line({"--set", "store.folder=/a=b"});
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->overrides.size() == 1);
    CHECK(parsed->overrides.front().second == "/a=b");
  }

  TEST_CASE("restore --dry-run looks only and is no override of the daemon's key") {
    const auto parsed = parse_command_line({"restore", "--dry-run"});
    REQUIRE(parsed.has_value());
    CHECK(parsed->dry_run);
    CHECK(parsed->overrides.empty());
  }

  TEST_CASE("help names every command and flag") {
    const auto text = help_text();
    for (const char* word : {"run",
                             "check-config [FILE]",
                             "doctor",
                             "status",
                             "pods",
                             "explain POD",
                             "restore",
                             "version",
                             "--config",
                             "--socket",
                             "--set",
                             "--dry-run",
                             "--metric-cache-ttl",
                             "--predict-window",
                             "--gc-interval",
                             "--collect-interval",
                             "--qos-interval",
                             "--batch-size"}) {
      CAPTURE(word);
      CHECK(text.find(word) != std::string::npos);
    }
    CommandLine command;
    command.verb = Verb::kHelp;
    CHECK(run_command(command).out == text);
  }

  TEST_CASE("version") {
    CommandLine command;
    command.verb = Verb::kVersion;
    const auto out = run_command(command);
    CHECK(out.exit_code == 0);
    CHECK(out.out == std::string{"koordlet "} + KOORDLET_VERSION + "\n");
  }

  TEST_CASE("a bad --set is a usage fault of every command") {
    CommandLine command;
    command.verb = Verb::kStatus;
    command.overrides = {{"no.such", "1"}};
    const auto out = run_command(command);
    CHECK(out.exit_code == 2);
    CHECK(out.err == "command line: no.such: \"1\": expected a known key\n");
  }
}
