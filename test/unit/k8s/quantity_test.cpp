#include "k8s/quantity.hpp"

#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

struct Read {
  const char* text;
  std::int64_t want;
};

}  // namespace

TEST_SUITE("k8s/quantity") {
  TEST_CASE("API-0: CPU is read in milli-cores, rounded up") {
    for (const auto& c : {Read{"1500m", 1500},
                          Read{"2", 2000},
                          Read{"0.5", 500},
                          Read{"0", 0},
                          Read{"0.1m", 1},
                          Read{"100u", 1},
                          Read{"1n", 1},
                          Read{"1001u", 2},
                          Read{"1.0001", 1001},
                          Read{"1k", 1'000'000},
                          Read{"+5", 5000},
                          Read{"-1", -1000},
                          Read{"-0.1m", -1},
                          Read{"1e3", 1'000'000},
                          Read{"15e-1", 1500},
                          Read{".5", 500},
                          Read{"1.", 1000},
                          Read{"1Ki", 1'024'000}}) {
      CAPTURE(c.text);
      const auto r = parse_cpu(c.text);
      REQUIRE(r.has_value());
      CHECK(r->v == c.want);
    }
  }

  TEST_CASE("API-0: every suffix and exponent of memory") {
    for (const auto& c : {Read{"1Ki", 1024},
                          Read{"1Mi", 1048576},
                          Read{"1Gi", 1073741824},
                          Read{"1Ti", 1099511627776},
                          Read{"1Pi", 1125899906842624},
                          Read{"1Ei", 1152921504606846976},
                          Read{"1k", 1000},
                          Read{"1M", 1'000'000},
                          Read{"1G", 1'000'000'000},
                          Read{"1T", 1'000'000'000'000},
                          Read{"1P", 1'000'000'000'000'000},
                          Read{"1E", 1'000'000'000'000'000'000},
                          Read{"1E3", 1000},
                          Read{"1E+3", 1000},
                          Read{"1e3", 1000},
                          Read{"1e-3", 1},
                          Read{"1e-99999999999", 1},
                          Read{"0e99999999999", 0},
                          Read{"1.5Gi", 1610612736},
                          Read{"0.1Ki", 103},
                          Read{"1m", 1},
                          Read{"1000m", 1},
                          Read{"1001m", 2},
                          Read{"128974848", 128974848},
                          Read{"129e6", 129'000'000},
                          Read{"123Mi", 128974848},
                          Read{"007", 7},
                          Read{"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
                          Read{"9223372036854775806.1", std::numeric_limits<std::int64_t>::max()},
                          Read{"0.00000000000000000001", 1}}) {
      CAPTURE(c.text);
      const auto r = parse_memory(c.text);
      REQUIRE(r.has_value());
      CHECK(r->v == c.want);
    }
  }

  TEST_CASE("a plain integer resource takes the decimal suffix") {
    CHECK(parse_integer("1k").value() == 1000);
    CHECK(parse_integer("4500").value() == 4500);
  }

  TEST_CASE("values beyond int64 are out of range, never wrapped") {
    for (const char* text : {"99999999999999999999",
                             "9223372036854775808",
                             "9223372036854775807.5",
                             "8Ei",
                             "7.9999999999999999999Ei",  // 0.12 bytes below 2^63, rounded up
                             "10E",
                             "1e19",
                             "1e99999999999",
                             "-9223372036854775809"}) {
      CAPTURE(text);
      const auto r = parse_memory(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
    // The same number may fit as an integer and not in milli-cores.
    CHECK(parse_integer("9300000000000000").has_value());
    REQUIRE(parse_cpu("9300000000000000").has_error());
    CHECK(parse_cpu("9300000000000000").error().code == Errc::kRange);
  }

  TEST_CASE("what is not a quantity is a parse error that shows the text") {
    for (const char* text : {"",     ".",   "-",  "+",   " 1",   "1 ",   "NaN",   "1k5", "1K",
                             "1kI",  "1ki", "1e", "1e+", "1E-",  "1ee3", "1.2.3", "--1", "1,5",
                             "0x10", "m",   "Gi", "1i",  "1e3m", "1Gii", "inf",   "1\n"}) {
      CAPTURE(text);
      const auto r = parse_memory(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
      CHECK(r.error().context.find(text) != std::string::npos);
    }
    const auto longer = parse_cpu(std::string(5000, '1'));
    REQUIRE(longer.has_error());
    CHECK(longer.error().context.size() < 120);
  }

  TEST_CASE("API-0: CPU is written in cores when whole, else in milli-cores") {
    CHECK(format_cpu({1500}) == "1500m");
    CHECK(format_cpu({2000}) == "2");
    CHECK(format_cpu({0}) == "0");
    CHECK(format_cpu({-1500}) == "-1500m");
    CHECK(format_cpu({1'000'000}) == "1k");
    CHECK(format_cpu({2350}) == "2350m");
  }

  TEST_CASE("API-0: memory is written with whole factors of 1024, below 1024 decimal") {
    CHECK(format_memory({570425344}) == "544Mi");
    CHECK(format_memory({4617089844}) == "4617089844");
    CHECK(format_memory({1073741824}) == "1Gi");
    CHECK(format_memory({6442450944}) == "6Gi");
    CHECK(format_memory({1023}) == "1023");
    CHECK(format_memory({1000}) == "1k");
    CHECK(format_memory({1024}) == "1Ki");
    CHECK(format_memory({0}) == "0");
    CHECK(format_memory({-2048}) == "-2Ki");
    CHECK(format_memory({std::numeric_limits<std::int64_t>::min()}) == "-8Ei");
  }

  TEST_CASE("what is written reads back as the same value") {
    for (const std::int64_t v :
         {0LL, 1LL, 999LL, 1000LL, 1024LL, 1536LL, 4617089844LL, 1LL << 60}) {
      CAPTURE(v);
      CHECK(parse_memory(format_memory({v})).value().v == v);
      if (v < (1LL << 50)) CHECK(parse_cpu(format_cpu({v})).value().v == v);
    }
  }
}
