#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/docker_client.hpp"

namespace koordlet::test {
namespace {

using runtime::parse_docker_stats;
using std::chrono::nanoseconds;

constexpr const char* kTime = R"("read":"2023-11-14T22:13:20.000000005Z")";  // 1700000000 s

constexpr const char* kV2 = R"({
  "read": "2023-11-14T22:13:20.123456789Z", "preread": "0001-01-01T00:00:00Z",
  "id": "abc", "name": "/web", "num_procs": 0, "os_type": "linux",
  "pids_stats": {"current": 3, "limit": 18446744073709551615},
  "cpu_stats": {"cpu_usage": {"total_usage": 2000000000, "usage_in_kernelmode": 5,
                              "usage_in_usermode": 7},
                "system_cpu_usage": 80000000000, "online_cpus": 4,
                "throttling_data": {"periods": 0, "throttled_periods": 0, "throttled_time": 0}},
  "precpu_stats": {"cpu_usage": {"total_usage": 0}},
  "memory_stats": {"usage": 1000000, "limit": 8000000,
                   "stats": {"anon": 300000, "file": 600000, "inactive_file": 400000}}
})";

constexpr const char* kV1 = R"({
  "read": "2023-11-14T22:13:20Z",
  "cpu_stats": {"cpu_usage": {"total_usage": 5, "percpu_usage": [2, 3]}},
  "memory_stats": {"usage": 1000, "max_usage": 2000, "failcnt": 0,
                   "stats": {"cache": 1, "rss": 2, "inactive_file": 3,
                             "total_cache": 500, "total_rss": 300, "total_inactive_file": 400}}
})";

Errc code_of(const std::string& text) {
  const auto out = parse_docker_stats(text);
  REQUIRE(out.has_error());
  return out.error().code;
}

}  // namespace

TEST_SUITE("docker_stats") {
  TEST_CASE("cgroup v2: working set = usage less inactive_file") {
    const auto out = parse_docker_stats(kV2);
    REQUIRE(out.has_value());
    CHECK(out->at == WallTime{nanoseconds{1'700'000'000'123'456'789}});
    CHECK(out->cpu_usage == std::chrono::seconds{2});
    CHECK(out->memory_usage == Bytes{1000000});
    CHECK(out->memory_working_set == Bytes{600000});
    CHECK(out->memory_rss == Bytes{300000});
  }

  TEST_CASE("cgroup v1: the sums of the subtree come first") {
    const auto out = parse_docker_stats(kV1);
    REQUIRE(out.has_value());
    CHECK(out->at == WallTime{std::chrono::seconds{1'700'000'000}});
    CHECK(out->cpu_usage == nanoseconds{5});
    CHECK(out->memory_working_set == Bytes{600});
    CHECK(out->memory_rss == Bytes{300});
  }

  TEST_CASE("what is not there, or null, is unknown and not zero") {
    for (const char* rest : {"",
                             R"(,"cpu_stats":{},"memory_stats":{})",
                             R"(,"cpu_stats":null,"memory_stats":null)",
                             R"(,"cpu_stats":{"cpu_usage":null},"memory_stats":{"stats":null})",
                             R"(,"cpu_stats":{"cpu_usage":{}},"memory_stats":{"usage":null})"}) {
      CAPTURE(rest);
      const auto out = parse_docker_stats(fmt::format("{{{}{}}}", kTime, rest));
      REQUIRE(out.has_value());
      CHECK_FALSE(out->cpu_usage);
      CHECK_FALSE(out->memory_usage);
      CHECK_FALSE(out->memory_working_set);
      CHECK_FALSE(out->memory_rss);
    }
    const auto usage = parse_docker_stats(
        fmt::format(R"({{{},"memory_stats":{{"usage":10,"stats":{{"cache":1}}}}}})", kTime));
    REQUIRE(usage.has_value());
    CHECK(usage->memory_usage == Bytes{10});
    CHECK_FALSE(usage->memory_working_set);
    const auto inactive = parse_docker_stats(
        fmt::format(R"({{{},"memory_stats":{{"stats":{{"inactive_file":1}}}}}})", kTime));
    REQUIRE(inactive.has_value());
    CHECK_FALSE(inactive->memory_working_set);
  }

  TEST_CASE("more inactive pages than usage (two readings of the kernel): nothing is in use") {
    const auto out = parse_docker_stats(fmt::format(
        R"({{{},"memory_stats":{{"usage":10,"stats":{{"inactive_file":11}}}}}})", kTime));
    REQUIRE(out.has_value());
    CHECK(out->memory_working_set == Bytes{0});
  }

  TEST_CASE("wrong types are kParse and name the field") {
    const std::pair<const char*, const char*> kCases[] = {
        {R"("cpu_stats":5)", "cpu_stats.cpu_usage.total_usage"},
        {R"("cpu_stats":{"cpu_usage":[]})", "cpu_stats.cpu_usage.total_usage"},
        {R"("cpu_stats":{"cpu_usage":{"total_usage":"5"}})", "cpu_stats.cpu_usage.total_usage"},
        {R"("cpu_stats":{"cpu_usage":{"total_usage":-1}})", "cpu_stats.cpu_usage.total_usage"},
        {R"("cpu_stats":{"cpu_usage":{"total_usage":1.5}})", "cpu_stats.cpu_usage.total_usage"},
        {R"("cpu_stats":{"cpu_usage":{"total_usage":true}})", "cpu_stats.cpu_usage.total_usage"},
        {R"("cpu_stats":{"cpu_usage":{"total_usage":9223372036854775808}})",
         "cpu_stats.cpu_usage.total_usage"},
        {R"("memory_stats":"x")", "memory_stats.usage"},
        {R"("memory_stats":{"usage":{}})", "memory_stats.usage"},
        {R"("memory_stats":{"stats":7})", "memory_stats.stats.total_inactive_file"},
        {R"("memory_stats":{"stats":{"total_inactive_file":"1"}})",
         "memory_stats.stats.total_inactive_file"},
        {R"("memory_stats":{"stats":{"inactive_file":-4}})", "memory_stats.stats.inactive_file"},
        {R"("memory_stats":{"stats":{"anon":[1]}})", "memory_stats.stats.anon"},
    };
    for (const auto& [field, name] : kCases) {
      CAPTURE(field);
      const auto out = parse_docker_stats(fmt::format("{{{},{}}}", kTime, field));
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
      CHECK(out.error().context.starts_with(name));
    }
  }

  TEST_CASE("no JSON object is kParse") {
    for (const char* text : {"", "{", "[]", "null", "5", "\"read\"", "<html></html>", "{}x"})
      CHECK(code_of(text) == Errc::kParse);
    CHECK(code_of(std::string(5000, '[')) == Errc::kParse);
    CHECK(code_of(R"({"message":"page not found"})") == Errc::kParse);
  }

  TEST_CASE("the time of the reading, in any zone") {
    const std::pair<const char*, std::int64_t> kCases[] = {
        {"2023-11-14T22:13:20Z", 1'700'000'000'000'000'000},
        {"2023-11-14T22:13:20.5Z", 1'700'000'000'500'000'000},
        {"2023-11-15T00:13:20+02:00", 1'700'000'000'000'000'000},
        {"2023-11-14T16:43:20.000000001-05:30", 1'700'000'000'000'000'001},
        {"2024-02-29T00:00:00Z", 1'709'164'800'000'000'000},
        {"1970-01-01T00:00:00.000000001Z", 1},
    };
    for (const auto& [text, ns] : kCases) {
      CAPTURE(text);
      const auto out = parse_docker_stats(fmt::format(R"({{"read":"{}"}})", text));
      REQUIRE(out.has_value());
      CHECK(out->at == WallTime{nanoseconds{ns}});
    }
  }

  TEST_CASE("a time that is none is kParse") {
    for (const char* text : {"",
                             "now",
                             "2023-11-14",
                             "2023-11-14T22:13:20",
                             "2023-11-14 22:13:20Z",
                             "2023-11-14T22:13:20.Z",
                             "2023-11-14T22:13:20.1234567890Z",
                             "2023-11-14T22:13:20.x5Z",
                             "2023-11-14T22:13:20+2:00",
                             "2023-11-14T22:13:20+24:00",
                             "2023-11-14T22:13:20*02:00",
                             "2023-11-14T22:13:20ZZ",
                             "2023-02-29T22:13:20Z",
                             "2023-13-01T22:13:20Z",
                             "2023-00-01T22:13:20Z",
                             "2023-11-14T24:13:20Z",
                             "2023-11-14T22:60:20Z",
                             "2023-11-14T22:13:61Z",
                             "-023-11-14T22:13:20Z",
                             "+023-11-14T22:13:20Z",
                             "1969-12-31T23:59:59Z",
                             "9999-11-14T22:13:20Z"}) {
      CAPTURE(text);
      CHECK(code_of(fmt::format(R"({{"read":"{}"}})", text)) == Errc::kParse);
    }
    CHECK(code_of(R"({"read":5})") == Errc::kParse);
    CHECK(code_of(R"({"read":null})") == Errc::kParse);
  }

  TEST_CASE("a container that does not run has the time of year 1: kGone, not counters of zero") {
    CHECK(code_of(R"({"read":"0001-01-01T00:00:00Z",
                      "cpu_stats":{"cpu_usage":{"total_usage":0}},"memory_stats":{}})") ==
          Errc::kGone);
  }
}

}  // namespace koordlet::test
