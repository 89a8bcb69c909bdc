#include "base/cpu_set.hpp"

#include <doctest/doctest.h>

using namespace koordlet;

namespace {

CpuSet cpus(std::string_view text) { return CpuSet::parse(text).value(); }

}  // namespace

TEST_SUITE("cpu_set") {
  TEST_CASE("5.7: equality is set equality, output is canonical") {
    CHECK(cpus("3,1,2,8") == cpus("1-3,8"));
    CHECK(cpus("3,1,2,8").to_string() == "1-3,8");
    CHECK(cpus("11,0-3,8,10").to_string() == "0-3,8,10-11");
    CHECK(cpus("0-1,1-2,2").to_string() == "0-2");
  }

  TEST_CASE("blanks around the whole text are dropped, empty text is the empty set") {
    CHECK(cpus("0-3\n") == CpuSet::range(0, 3));
    CHECK(cpus(" 5\r\n").count() == 1);
    CHECK(cpus("").empty());
    CHECK(cpus("\n").empty());
    CHECK(CpuSet{}.to_string().empty());
  }

  TEST_CASE("text that is no cpu list is kParse") {
    for (const char* text : {"a",
                             "0-",
                             "-1",
                             "0--1",
                             "1-2-3",
                             "0,,1",
                             "0,",
                             ",0",
                             "3-1",
                             "0 1",
                             "0, 1",
                             "0x1",
                             "+1",
                             "0-3:1/2"}) {
      CAPTURE(text);
      const auto r = CpuSet::parse(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
    }
  }

  TEST_CASE("ids at and beyond the last CPU") {
    CHECK(cpus("4095").contains(4095));
    CHECK(cpus("0-4095").count() == 4096);
    CHECK(cpus("0-4095").to_string() == "0-4095");
    for (const char* text : {"4096", "0-4096", "99999999999999999999"}) {
      CAPTURE(text);
      const auto r = CpuSet::parse(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
  }

  TEST_CASE("set operations") {
    const auto a = cpus("0-3"), b = cpus("2-5");
    CHECK((a | b) == cpus("0-5"));
    CHECK((a & b) == cpus("2-3"));
    CHECK((a - b) == cpus("0-1"));
    CHECK(cpus("1,3").is_subset_of(a));
    CHECK(CpuSet{}.is_subset_of(a));
    CHECK_FALSE(b.is_subset_of(a));
    CHECK_FALSE(a.contains(-1));
    CHECK_FALSE(a.contains(CpuSet::kMaxCpus));
  }

  TEST_CASE("text survives a round trip for every pattern of eight CPUs") {
    for (int bits = 0; bits < 256; ++bits) {
      CpuSet set;
      for (int cpu = 0; cpu < 8; ++cpu) {
        if ((bits >> cpu & 1) != 0) set.add(cpu);
      }
      CAPTURE(bits);
      CHECK(cpus(set.to_string()) == set);
    }
  }
}
