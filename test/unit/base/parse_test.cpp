#include "base/parse.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>

using namespace koordlet;

TEST_SUITE("parse") {
  TEST_CASE("trim drops blanks at both ends only") {
    CHECK(trim(" \t a b\r\n") == "a b");
    CHECK(trim("").empty());
    CHECK(trim(" \n\t\r").empty());
  }

  TEST_CASE("whole integers up to the limits of their type") {
    CHECK(parse_i64("-9223372036854775808").value() == std::numeric_limits<std::int64_t>::min());
    CHECK(parse_i64("9223372036854775807").value() == std::numeric_limits<std::int64_t>::max());
    CHECK(parse_u64("18446744073709551615").value() == std::numeric_limits<std::uint64_t>::max());
    CHECK(parse_u64("007").value() == 7);
  }

  TEST_CASE("whole real numbers, finite") {
    CHECK(parse_real("1.25").value() == 1.25);
    CHECK(parse_real("-3").value() == -3);
    CHECK(parse_real("5e-1").value() == 0.5);
    for (const char* bad :
         {"", " 1", "1 ", "+1", "1.2x", "x", "nan", "inf", "-inf", "0x10", "1,5"}) {
      CAPTURE(bad);
      REQUIRE_FALSE(parse_real(bad));
      CHECK(parse_real(bad).error().code == Errc::kParse);
    }
    CHECK(parse_real("1e999").error().code == Errc::kRange);
  }

  TEST_CASE("overflow is kRange") {
    CHECK(parse_i64("9223372036854775808").error().code == Errc::kRange);
    CHECK(parse_i64("-9223372036854775809").error().code == Errc::kRange);
    CHECK(parse_u64("18446744073709551616").error().code == Errc::kRange);
  }

  TEST_CASE("everything else is kParse") {
    for (const char* text :
         {"", " ", " 1", "1 ", "1\n", "+1", "0x1", "1e3", "1.0", "--1", "-", "a"}) {
      CAPTURE(text);
      CHECK(parse_i64(text).error().code == Errc::kParse);
      CHECK(parse_u64(text).error().code == Errc::kParse);
    }
    CHECK(parse_u64("-1").error().code == Errc::kParse);
  }

  TEST_CASE("a huge damaged text is cut in the message") {
    const std::string junk(100'000, 'x');
    const auto r = parse_i64(junk);
    REQUIRE(r.has_error());
    CHECK(r.error().context.size() < 200);
  }

  TEST_CASE("fields are separated by any run of blanks") {
    std::string_view rest = "  a \t b\r\n";
    CHECK(next_field(rest) == "a");
    CHECK(next_field(rest) == "b");
    CHECK_FALSE(next_field(rest));
    CHECK_FALSE(next_field(rest));
  }

  TEST_CASE("lines: empty ones count, a last one without newline counts") {
    std::string_view rest = "a\n\nb";
    CHECK(next_line(rest) == "a");
    CHECK(next_line(rest) == "");
    CHECK(next_line(rest) == "b");
    CHECK_FALSE(next_line(rest));
    std::string_view ended = "a\n";
    CHECK(next_line(ended) == "a");
    CHECK_FALSE(next_line(ended));
  }

  TEST_CASE("outside text is cut and made printable") {
    CHECK(printable("a\r\n\x1b[31mb\xff", 100) == "a???[31mb?");
    CHECK(printable("abcdef", 3) == "abc...");
  }
}
