#include "base/near_name.hpp"

#include <doctest/doctest.h>

#include "base/parse.hpp"

using namespace koordlet;

TEST_SUITE("near names") {
  TEST_CASE("edit distance counts insertions, deletions and replacements") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("abc", "abc") == 0);
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("pod_cpu", "pod_cpi") == 1);
  }
  TEST_CASE("a typing error finds its name, nearest first; something else finds nothing") {
    const std::vector<std::string_view> names{"pod_cpu_usage", "pod_cpi", "node_cpu_usage"};
    CHECK(near_names("pod_cpu_usge", names).front() == "pod_cpu_usage");
    CHECK(near_names("zzzzzz", names).empty());
    CHECK(near_names("", names).empty());
    CHECK(near_names(std::string(129, 'p'), names).empty());
  }
  TEST_CASE("a part of a name finds those that contain it, at most as many as asked for") {
    const std::vector<std::string_view> names{"pod_cpu_usage", "node_cpu_usage", "sys_cpu_usage"};
    CHECK(near_names("cpu_usage", names, 2).size() == 2);
    CHECK(suggestion_text({"a", "b"}) == "; did you mean a, b?");
    CHECK(suggestion_text({}).empty());
  }
}

TEST_SUITE("time spans") {
  TEST_CASE("numbers with units add up") {
    CHECK(parse_span_ms("250ms").value() == 250);
    CHECK(parse_span_ms("90s").value() == 90'000);
    CHECK(parse_span_ms("1h30m").value() == 5'400'000);
    CHECK(parse_span_ms("7d").value() == 604'800'000);
    CHECK(parse_span_ms("0s").value() == 0);
  }
  TEST_CASE("no number, no unit, signs, fractions and overflow are refused") {
    for (const char* text : {"", "5", "m", "-5m", "1.5h", "5 m", "5w", "5mm", "nan", "1h-1m"}) {
      CAPTURE(text);
      const auto r = parse_span_ms(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
    }
    for (const char* text :
         {"99999999999999999999s", "106751991168d", "9223372036854775807ms1ms"}) {
      CAPTURE(text);
      const auto r = parse_span_ms(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
  }
}
