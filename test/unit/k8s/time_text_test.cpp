#include "k8s/time_text.hpp"

#include <doctest/doctest.h>

namespace koordlet::k8s {
namespace {

using namespace std::chrono_literals;

TEST_SUITE("k8s/time_text") {
  TEST_CASE("durations are read as Go writes them") {
    CHECK(parse_duration("5m0s").value() == 5min);
    CHECK(parse_duration("1h0m0s").value() == 1h);
    CHECK(parse_duration("90s").value() == 90s);
    CHECK(parse_duration("1.5h").value() == 90min);
    CHECK(parse_duration("250ms").value() == 250ms);
    CHECK(parse_duration("1m30.5s").value() == 90'500ms);
    CHECK(parse_duration("3us").value() == 3us);
    CHECK(parse_duration("3\u00b5s").value() == 3us);
    CHECK(parse_duration("0").value() == 0s);
    CHECK(parse_duration("-2m").value() == -2min);
    CHECK(parse_duration("+.5s").value() == 500ms);
  }
  TEST_CASE("what is no duration is refused") {
    for (const char* text :
         {"", "-", "5", "m", "5 m", "5mm", "1h-5m", "1.2.3s", ".s", "5d", "s5"}) {
      CAPTURE(text);
      const auto r = parse_duration(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
    }
    for (const char* text : {"999999999999h", "2562048h", "99999999999999999999999999999999ns"}) {
      CAPTURE(text);
      const auto r = parse_duration(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
  }
  TEST_CASE("durations are written with all units below the largest") {
    CHECK(format_duration(300s) == "5m0s");
    CHECK(format_duration(3600s) == "1h0m0s");
    CHECK(format_duration(45s) == "45s");
    CHECK(format_duration(0s) == "0s");
    CHECK(format_duration(90061s) == "25h1m1s");
    CHECK(format_duration(-90s) == "-1m30s");
  }
  TEST_CASE("times are UTC and whole seconds, cut off") {
    // 1784875965 s = 2026-07-24T06:52:45Z: 20658 days after the epoch, and 24765 s.
    const WallTime t{std::chrono::seconds{20658LL * 86400 + 24765}};
    CHECK(format_time(t) == "2026-07-24T06:52:45Z");
    CHECK(format_time(t + 999ms) == "2026-07-24T06:52:45Z");
    CHECK(format_time(WallTime{}) == "1970-01-01T00:00:00Z");
  }
}

}  // namespace
}  // namespace koordlet::k8s
