#include "kernel/cgroup_codec.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::kernel;
using std::chrono::microseconds;

namespace {

constexpr auto kV1 = CgroupVersion::kV1;
constexpr auto kV2 = CgroupVersion::kV2;

CgroupKey key(CgroupFile file) { return {CgroupPath::parse("kubepods/besteffort").value(), file}; }
CgroupValue cpu_max(std::int64_t quota, std::int64_t period) {
  return CpuMax{Limit{microseconds{quota}}, microseconds{period}};
}
CgroupValue bytes(std::int64_t n) { return MemoryBound{Bytes{n}}; }
bool allowed(CgroupVersion version, CgroupFile file, const CgroupValue& value) {
  const auto r = check_range(version, key(file), value);
  if (!r) CHECK(r.error().code == Errc::kRange);
  return r.has_value();
}

}  // namespace

TEST_SUITE("cgroup_codec/decode") {
  TEST_CASE("v1 quota: -1 is unlimited and no other negative number is") {
    CHECK(decode_quota_v1("-1\n").value().is_unlimited());
    CHECK(decode_quota_v1("50000\n").value() == Limit{microseconds{50'000}});
    for (const char* text : {"", "\n", "-2\n", "0\n", "max\n", "5 5\n", "99999999999999999999\n"}) {
      CAPTURE(text);
      CHECK(decode_quota_v1(text).error().code == Errc::kParse);
    }
  }

  TEST_CASE("v1 period") {
    CHECK(decode_period_v1("100000\n").value() == microseconds{100'000});
    for (const char* text : {"", "-1", "0", "x"}) {
      CAPTURE(text);
      CHECK(decode_period_v1(text).error().code == Errc::kParse);
    }
  }

  TEST_CASE("v1 memory limit: from 0x7FFFFFFFFFFFF000 on it is unlimited") {
    const auto read = [](std::string_view text) {
      return std::get<MemoryBound>(decode(kV1, CgroupFile::kMemoryMax, text).value());
    };
    CHECK(read("9223372036854771712\n").is_unlimited());
    CHECK(read("9223372036854775807\n").is_unlimited());
    CHECK(read("18446744073709551615\n").is_unlimited());
    CHECK(read("9223372036854771711\n") == MemoryBound{Bytes{9223372036854771711}});
    CHECK(read("0\n") == MemoryBound{Bytes{0}});
    CHECK(read("4096\n") == MemoryBound{Bytes{4096}});
  }

  TEST_CASE("row 50: v2 max is unlimited") {
    CHECK(decode(kV2, CgroupFile::kMemoryMax, "max\n").value() ==
          CgroupValue{MemoryBound::unlimited()});
    CHECK(decode(kV2, CgroupFile::kMemoryHigh, "max\n").value() ==
          CgroupValue{MemoryBound::unlimited()});
    CHECK(decode(kV2, CgroupFile::kCpuMax, "max 100000\n").value() == CgroupValue{CpuMax{}});
  }

  TEST_CASE("weights of idle groups are accepted as they are") {
    CHECK(decode(kV2, CgroupFile::kCpuWeight, "0\n").value() == CgroupValue{Number{0}});
    CHECK(decode(kV1, CgroupFile::kCpuWeight, "3\n").value() == CgroupValue{Number{3}});
    CHECK(decode(kV1, CgroupFile::kCpuBvt, "-1\n").value() == CgroupValue{Number{-1}});
  }

  TEST_CASE("damaged content is kParse whatever is wrong, never zero") {
    for (const auto version : {kV1, kV2}) {
      for (const auto file : {CgroupFile::kCpuWeight,
                              CgroupFile::kCpuIdle,
                              CgroupFile::kMemoryMax,
                              CgroupFile::kMemoryMin}) {
        for (const char* text : {"", "\n", "x", "1 2", "1.5", "99999999999999999999999"}) {
          CAPTURE(text);
          CHECK(decode(version, file, text).error().code == Errc::kParse);
        }
      }
      CHECK(decode(version, CgroupFile::kCpuset, "4096\n").error().code == Errc::kParse);
    }
    for (const char* text : {"", "max", "x 100000", "1 2 3", "0 100000", "1000 0"}) {
      CAPTURE(text);
      CHECK(decode(kV2, CgroupFile::kCpuMax, text).error().code == Errc::kParse);
    }
  }
}

TEST_SUITE("cgroup_codec/encode") {
  TEST_CASE("5.3: cpu.max is one line, unlimited is max") {
    CHECK(encode(kV2, CgroupFile::kCpuMax, cpu_max(1'200'000, 100'000)) == "1200000 100000");
    CHECK(encode(kV2, CgroupFile::kCpuMax, CpuMax{}) == "max 100000");
  }

  TEST_CASE("v1 quota file takes -1") {
    CHECK(encode(kV1, CgroupFile::kCpuMax, cpu_max(50'000, 100'000)) == "50000");
    CHECK(encode(kV1, CgroupFile::kCpuMax, CpuMax{}) == "-1");
  }

  TEST_CASE("5.4: memory limit") {
    CHECK(encode(kV1, CgroupFile::kMemoryMax, MemoryBound::unlimited()) == "-1");
    CHECK(encode(kV2, CgroupFile::kMemoryMax, MemoryBound::unlimited()) == "max");
    CHECK(encode(kV1, CgroupFile::kMemoryHigh, MemoryBound::unlimited()) == "max");
    CHECK(encode(kV1, CgroupFile::kMemoryMax, bytes(4096)) == "4096");
    CHECK(encode(kV2, CgroupFile::kMemoryMin, bytes(0)) == "0");
  }

  TEST_CASE("numbers and cpu lists are the same on both") {
    for (const auto version : {kV1, kV2}) {
      CHECK(encode(version, CgroupFile::kCpuWeight, Number{20}) == "20");
      CHECK(encode(version, CgroupFile::kCpuBvt, Number{-1}) == "-1");
      CHECK(encode(version, CgroupFile::kCpuset, CpuSet::range(0, 3)) == "0-3");
    }
  }
}

TEST_SUITE("cgroup_codec/range") {
  TEST_CASE("quota and period at their limits") {
    for (const auto version : {kV1, kV2}) {
      CHECK(allowed(version, CgroupFile::kCpuMax, CpuMax{}));
      CHECK(allowed(version, CgroupFile::kCpuMax, cpu_max(1000, 1000)));
      CHECK(allowed(version, CgroupFile::kCpuMax, cpu_max(1000, 1'000'000)));
      CHECK(allowed(version, CgroupFile::kCpuMax, cpu_max((std::int64_t{1} << 44) - 1, 100'000)));
      CHECK_FALSE(allowed(version, CgroupFile::kCpuMax, cpu_max(999, 100'000)));
      CHECK_FALSE(allowed(version, CgroupFile::kCpuMax, cpu_max(0, 100'000)));
      CHECK_FALSE(allowed(version, CgroupFile::kCpuMax, cpu_max(-1, 100'000)));
      CHECK_FALSE(allowed(version, CgroupFile::kCpuMax, cpu_max(std::int64_t{1} << 44, 100'000)));
      CHECK_FALSE(allowed(version, CgroupFile::kCpuMax, cpu_max(1000, 999)));
      CHECK_FALSE(allowed(version, CgroupFile::kCpuMax, cpu_max(1000, 1'000'001)));
      CHECK_FALSE(allowed(
          version, CgroupFile::kCpuMax, CpuMax{Limit<microseconds>::unlimited(), microseconds{0}}));
    }
  }

  TEST_CASE("weight is in the unit of the version") {
    CHECK(allowed(kV1, CgroupFile::kCpuWeight, Number{2}));
    CHECK(allowed(kV1, CgroupFile::kCpuWeight, Number{262'144}));
    CHECK_FALSE(allowed(kV1, CgroupFile::kCpuWeight, Number{1}));
    CHECK_FALSE(allowed(kV1, CgroupFile::kCpuWeight, Number{262'145}));
    CHECK(allowed(kV2, CgroupFile::kCpuWeight, Number{1}));
    CHECK(allowed(kV2, CgroupFile::kCpuWeight, Number{10'000}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuWeight, Number{0}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuWeight, Number{10'001}));
  }

  TEST_CASE("idle and group identity") {
    CHECK(allowed(kV2, CgroupFile::kCpuIdle, Number{0}));
    CHECK(allowed(kV2, CgroupFile::kCpuIdle, Number{1}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuIdle, Number{2}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuIdle, Number{-1}));
    for (const std::int64_t n : {-1, 0, 1, 2}) CHECK(allowed(kV1, CgroupFile::kCpuBvt, Number{n}));
    CHECK_FALSE(allowed(kV1, CgroupFile::kCpuBvt, Number{-2}));
    CHECK_FALSE(allowed(kV1, CgroupFile::kCpuBvt, Number{3}));
  }

  TEST_CASE("row 118: an empty cpuset is refused on v1; on v2 it means what the parent has") {
    CHECK_FALSE(allowed(kV1, CgroupFile::kCpuset, CpuSet{}));
    CHECK(allowed(kV2, CgroupFile::kCpuset, CpuSet{}));
    CHECK(encode(CgroupVersion::kV2, CgroupFile::kCpuset, CpuSet{}) == "\n");
    CHECK(allowed(kV1, CgroupFile::kCpuset, CpuSet::range(4095, 4095)));
  }

  TEST_CASE("memory bounds") {
    CHECK(allowed(kV2, CgroupFile::kMemoryHigh, bytes(0)));
    CHECK(allowed(kV2, CgroupFile::kMemoryHigh, MemoryBound::unlimited()));
    CHECK_FALSE(allowed(kV2, CgroupFile::kMemoryHigh, bytes(-1)));
  }

  TEST_CASE("a value of the wrong kind is refused for every file") {
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuMax, Number{1000}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuWeight, CpuMax{}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kCpuset, Number{1}));
    CHECK_FALSE(allowed(kV2, CgroupFile::kMemoryMax, Number{4096}));
  }

  TEST_CASE("the message names key, value and what was expected") {
    const auto r = check_range(kV1, key(CgroupFile::kCpuWeight), Number{1});
    REQUIRE(r.has_error());
    CHECK(r.error().context == "/kubepods/besteffort cpu.weight: expected 2..262144, got '1'");
  }
}
