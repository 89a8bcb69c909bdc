#include "runtime/unit_property.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "base/parse.hpp"

using namespace koordlet;
using namespace koordlet::runtime;
using namespace std::chrono_literals;

namespace {

CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }

std::vector<UnitProperty> one(CgroupFile file, CgroupValue value) {
  return unit_properties({{file, std::move(value)}}, {file});
}

CpuMax cpu_max(std::int64_t quota_us, std::int64_t period_us) {
  return {Limit{std::chrono::microseconds{quota_us}}, std::chrono::microseconds{period_us}};
}

MemoryBound bytes(std::int64_t v) { return MemoryBound{Bytes{v}}; }

using Properties = std::vector<UnitProperty>;

}  // namespace

TEST_SUITE("unit properties") {
  TEST_CASE("slices and scopes are units, whatever lies below a scope is not") {
    CHECK(unit_of(path("kubepods.slice")) == "kubepods.slice");
    CHECK(unit_of(path("kubepods.slice/kubepods-besteffort.slice")) == "kubepods-besteffort.slice");
    CHECK(unit_of(path("kubepods.slice/kubepods-podx.slice/cri-containerd-1.scope")) ==
          "cri-containerd-1.scope");
    CHECK(unit_of(CgroupPath{}) == std::nullopt);
    CHECK(unit_of(path("kubepods/besteffort")) == std::nullopt);
    CHECK(unit_of(path("kubepods.slice/besteffort")) == std::nullopt);
    CHECK(unit_of(path("system.slice/containerd.service")) == std::nullopt);
    // A container that runs a systemd of its own.
    CHECK(unit_of(path("kubepods.slice/cri-containerd-1.scope/system.slice")) == std::nullopt);
    CHECK(unit_of(path("system.slice/docker.service/kubepods.slice")) == std::nullopt);
  }

  TEST_CASE("files of systemd's controllers have a property, lines of devices and vendors none") {
    for (const auto file : {CgroupFile::kCpuMax,
                            CgroupFile::kCpuWeight,
                            CgroupFile::kCpuIdle,
                            CgroupFile::kCpuset,
                            CgroupFile::kMemoryMin,
                            CgroupFile::kMemoryLow,
                            CgroupFile::kMemoryHigh,
                            CgroupFile::kMemoryMax}) {
      CAPTURE(file);
      CHECK(has_unit_property(file));
    }
    for (const auto file : {CgroupFile::kCpuBurst,
                            CgroupFile::kCpuBvt,
                            CgroupFile::kMemoryOomGroup,
                            CgroupFile::kIoMax,
                            CgroupFile::kIoWeight,
                            CgroupFile::kResctrlL3,
                            CgroupFile::kMinFreeKbytes}) {
      CAPTURE(file);
      CHECK_FALSE(has_unit_property(file));
    }
  }

  TEST_CASE("a quota is microseconds a second; the period of 100 ms is systemd's own default") {
    CHECK(one(CgroupFile::kCpuMax, cpu_max(150'000, 100'000)) ==
          Properties{{"CPUQuotaPerSecUSec", std::uint64_t{1'500'000}},
                     {"CPUQuotaPeriodUSec", kUnitInfinity}});
    CHECK(one(CgroupFile::kCpuMax, cpu_max(50'000, 50'000)) ==
          Properties{{"CPUQuotaPerSecUSec", std::uint64_t{1'000'000}},
                     {"CPUQuotaPeriodUSec", std::uint64_t{50'000}}});
    CHECK(one(CgroupFile::kCpuMax, CpuMax{}) ==
          Properties{{"CPUQuotaPerSecUSec", kUnitInfinity}, {"CPUQuotaPeriodUSec", kUnitInfinity}});
  }

  TEST_CASE("what systemd writes back is the very quota, for any period") {
    // systemd: quota = share * period / 1 s, in whole numbers, at least 1 ms.
    for (const std::int64_t period : {1'000, 7'777, 33'333, 99'999, 100'000, 250'000, 1'000'000}) {
      for (const std::int64_t quota : {1'000, 1'001, 12'345, 33'333, 99'999, 6'400'001}) {
        CAPTURE(period);
        CAPTURE(quota);
        const auto properties = one(CgroupFile::kCpuMax, cpu_max(quota, period));
        if (quota * 100 < period) {  // systemd would note "0%" and refuse to read it again
          CHECK(properties.empty());
          continue;
        }
        REQUIRE(properties.size() == 2);
        const auto share = std::get<std::uint64_t>(properties[0].value);
        CHECK(share * static_cast<std::uint64_t>(period) / 1'000'000 ==
              static_cast<std::uint64_t>(quota));
      }
    }
  }

  TEST_CASE("a damaged quota is no property") {
    CHECK(one(CgroupFile::kCpuMax, cpu_max(-1, 100'000)).empty());
    CHECK(one(CgroupFile::kCpuMax, cpu_max(0, 100'000)).empty());
    CHECK(one(CgroupFile::kCpuMax, cpu_max(1'000, 0)).empty());
    CHECK(one(CgroupFile::kCpuMax, cpu_max(INT64_MAX, 100'000)).empty());
    CHECK(one(CgroupFile::kCpuMax, Number{5}).empty());
  }

  TEST_CASE("memory bounds: bytes, and infinity for none") {
    CHECK(one(CgroupFile::kMemoryHigh, bytes(1 << 20)) ==
          Properties{{"MemoryHigh", std::uint64_t{1 << 20}}});
    CHECK(one(CgroupFile::kMemoryMax, MemoryBound::unlimited()) ==
          Properties{{"MemoryMax", kUnitInfinity}});
    CHECK(one(CgroupFile::kMemoryLow, bytes(0)) == Properties{{"MemoryLow", std::uint64_t{0}}});
    CHECK(one(CgroupFile::kMemoryMin, bytes(4096)) ==
          Properties{{"MemoryMin", std::uint64_t{4096}}});
  }

  TEST_CASE("a cpuset is a bit a CPU, the lowest first; empty means no restriction") {
    CHECK(one(CgroupFile::kCpuset, CpuSet::parse("0-1,9").value()) ==
          Properties{{"AllowedCPUs", std::vector<std::uint8_t>{0x03, 0x02}}});
    CHECK(one(CgroupFile::kCpuset, CpuSet{}) ==
          Properties{{"AllowedCPUs", std::vector<std::uint8_t>{}}});
    const auto far = one(CgroupFile::kCpuset, CpuSet::range(4095, 4095));
    REQUIRE(far.size() == 1);
    CHECK(std::get<1>(far[0].value).size() == 512);
    CHECK(std::get<1>(far[0].value).back() == 0x80);
  }

  TEST_CASE("idle and weight are one property, idle wins") {
    const UnitFiles idle{{CgroupFile::kCpuIdle, Number{1}}, {CgroupFile::kCpuWeight, Number{20}}};
    const Properties as_idle{{"CPUWeight", std::uint64_t{0}}};
    CHECK(unit_properties(idle, {CgroupFile::kCpuIdle, CgroupFile::kCpuWeight}) == as_idle);
    CHECK(unit_properties(idle, {CgroupFile::kCpuWeight}) == as_idle);
    const UnitFiles awake{{CgroupFile::kCpuIdle, Number{0}}, {CgroupFile::kCpuWeight, Number{20}}};
    CHECK(unit_properties(awake, {CgroupFile::kCpuIdle}) ==
          Properties{{"CPUWeight", std::uint64_t{20}}});
    CHECK(one(CgroupFile::kCpuIdle, Number{0}) == Properties{{"CPUWeight", std::uint64_t{100}}});
    CHECK(one(CgroupFile::kCpuWeight, Number{0}).empty());  // shown under idle, no weight
  }

  TEST_CASE("only what changed is named, and only what is known") {
    const UnitFiles files{{CgroupFile::kCpuMax, cpu_max(10'000, 100'000)},
                          {CgroupFile::kMemoryHigh, bytes(4096)}};
    CHECK(unit_properties(files, {CgroupFile::kMemoryHigh, CgroupFile::kMemoryLow}) ==
          Properties{{"MemoryHigh", std::uint64_t{4096}}});
    CHECK(unit_properties(files, {}).empty());
  }
}

TEST_SUITE("unit drop-ins") {
  const std::string kSlice =
      "# This is a transient unit file\n[Unit]\nDescription=x\n\n[Slice]\nCPUWeight=1\n";

  TEST_CASE("the unit file says the same: dropped") {
    CHECK(is_redundant_drop_in("[Slice]\nCPUWeight=1\n", {kSlice}));
    CHECK_FALSE(is_redundant_drop_in("[Slice]\nCPUWeight=2\n", {kSlice}));
  }

  TEST_CASE("nobody says anything: systemd's own values are dropped, others stay") {
    CHECK(is_redundant_drop_in("[Slice]\nCPUQuota=\n", {kSlice}));
    CHECK(is_redundant_drop_in("[Slice]\nMemoryHigh=infinity\n", {kSlice}));
    CHECK(is_redundant_drop_in("[Scope]\nMemoryLow=0\n", {kSlice}));
    CHECK(is_redundant_drop_in("[Scope]\nAllowedCPUs=\n", {}));
    CHECK(is_redundant_drop_in("[Scope]\nCPUWeight=100\n", {}));
    CHECK_FALSE(is_redundant_drop_in("[Scope]\nCPUWeight=100\n", {kSlice}));
    CHECK_FALSE(is_redundant_drop_in("[Scope]\nMemoryMax=0\n", {kSlice}));
    CHECK_FALSE(is_redundant_drop_in("[Slice]\nCPUQuota=10%\n", {kSlice}));
  }

  TEST_CASE("a limit of the unit file that the drop-in lifts is kept lifted") {
    CHECK_FALSE(is_redundant_drop_in("[Scope]\nMemoryMax=infinity\n", {"[Scope]\nMemoryMax=1G\n"}));
  }

  TEST_CASE("of two drop-ins the last counts, and comments do not") {
    CHECK(is_redundant_drop_in("A=1", {"A=2", "A=1"}));
    CHECK_FALSE(is_redundant_drop_in("A=1", {"A=1", "A=2"}));
    CHECK(is_redundant_drop_in("# A=5\n; B=1\n\n[Slice]\nno setting\n", {}));
    CHECK(is_redundant_drop_in("", {}));
    CHECK(is_redundant_drop_in(" A = 1 ", {"A=1"}));
  }
}
