// Every lever on the real kernel, through the real executor: written, read back raw, restored.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/fd.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "support/async.hpp"
#include "support/fake_cgroups.hpp"
#include "support/skip.hpp"

namespace fs = std::filesystem;
using namespace koordlet;
using namespace koordlet::test;

namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";
constexpr const char* kNoTree = "no writable cgroup tree (root and a mounted v1 or v2 are needed)";

/// One cgroup "<name>/pod" in every hierarchy.
class LeverTree {
 public:
  LeverTree() {
    const auto version = kernel::detect_cgroup_version({});
    if (!version) return;
    version_ = *version;
    usable_ = true;
    if (version_ == CgroupVersion::kV2) {
      make(kRoot + ("/" + name_));
      for (const char* c : {"+cpu", "+cpuset", "+memory", "+io"}) {
        for (const auto& dir : {std::string{kRoot}, made_.front()}) {
          static_cast<void>(kernel::write_file(dir + "/cgroup.subtree_control", c).has_value());
        }
      }
      make(made_.front() + "/pod");
      return;
    }
    for (const char* c : {"cpu", "cpuset", "memory", "blkio"}) {
      const auto mount = fmt::format("{}/{}", kRoot, c);
      if (!fs::exists(mount)) continue;
      make(fmt::format("{}/{}", mount, name_));
      if (std::string_view{c} == "cpuset") give_cpus(mount, made_.back());
      make(made_.back() + "/pod");
      if (std::string_view{c} == "cpuset") give_cpus(mount, made_.back());
    }
  }
  ~LeverTree() {
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) ::rmdir(dir->c_str());
  }
  LeverTree(const LeverTree&) = delete;
  LeverTree& operator=(const LeverTree&) = delete;

  bool usable() const { return usable_; }
  CgroupVersion version() const { return version_; }
  bool v1() const { return version_ == CgroupVersion::kV1; }
  CgroupKey key(CgroupFile file, std::string item = {}) const {
    return {CgroupPath::parse(name_ + "/pod").value(), file, std::move(item)};
  }

 private:
  void make(std::string dir) {
    usable_ = ::mkdir(dir.c_str(), 0755) == 0 && usable_;
    made_.push_back(std::move(dir));
  }
  static void give_cpus(const std::string& mount, const std::string& dir) {
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
      const auto text = kernel::read_file(mount + file);
      if (text) static_cast<void>(kernel::write_file(dir + file, trim(*text)).has_value());
    }
  }
  std::string name_ = fmt::format("koordlet-test-lever-{}", ::getpid());
  CgroupVersion version_ = CgroupVersion::kV1;
  bool usable_ = false;
  std::vector<std::string> made_;
};

struct LeverRig {
  LeverTree tree;
  kernel::CgroupFs cgroups{{}, tree.version()};
  SystemClock clock;
  boost::asio::io_context io;
  ResourceExecutor executor{{}, cgroups, nullptr, nullptr, clock, "boot"};

  std::string raw(const CgroupKey& key) const {
    const auto text = kernel::read_file(cgroups.file(key));
    return text ? std::string{trim(*text)} : "-";
  }
  Outcome apply(const DesiredTable& table) {
    const auto outcomes = run(io, executor.apply(table, clock.now()));
    return outcomes.empty() ? Outcome{} : outcomes.front();
  }
  static Desired wish(CgroupValue value) {
    Desired out;
    out.value = std::move(value);
    out.plugin = "test";
    return out;
  }
  /// Written, shown by the kernel as `expected`, and back to what it was when nobody wants it.
  /// `expected` is looked for in the raw text: a file of many settings has other lines.
  void prove(const CgroupKey& key, const CgroupValue& value, std::string_view expected) {
    CAPTURE(to_string(key));
    const auto before = raw(key);
    const auto written = apply({{key, wish(value)}});
    CHECK_MESSAGE(written.kind == OutcomeKind::kWritten,
                  fmt::format("{} {}", to_string(written.kind), written.error));
    CHECK_MESSAGE(raw(key).find(expected) != std::string::npos, raw(key));
    CHECK(apply({{key, wish(value)}}).kind == OutcomeKind::kUnchanged);
    apply({});
    CHECK(raw(key) == before);
    CHECK(executor.held().empty());
  }
  /// False, and said so, where this kernel has no such file.
  bool offers(CgroupFile file, std::string item = {}) {
    const bool there = cgroups.has(tree.key(file, std::move(item)));
    if (!there) MESSAGE("this kernel has no ", to_string(file));
    return there;
  }
};

/// A disk whose bandwidth can be limited: "254:0".
std::optional<std::string> a_disk() {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{"/sys/block", ec}) {
    const auto name = entry.path().filename().string();
    const bool disk = name.starts_with("vd") || name.starts_with("sd") || name.starts_with("nvme");
    if (!disk) continue;
    if (const auto dev = kernel::read_file(entry.path() / "dev")) return std::string{trim(*dev)};
  }
  return std::nullopt;
}

constexpr std::int64_t kMi = 1 << 20;

}  // namespace

TEST_SUITE("live/levers") {
  TEST_CASE("burst: up to the quota, and down again before the quota sinks") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kCpuBurst), "no CFS burst (Linux 5.14)");
    const auto quota = rig.tree.key(CgroupFile::kCpuMax);
    const auto burst = rig.tree.key(CgroupFile::kCpuBurst);
    const auto table = [&](std::int64_t us) {
      return DesiredTable{{quota, LeverRig::wish(cpu_max(us))},
                          {burst, LeverRig::wish(number(us))}};
    };
    for (const std::int64_t us : {50'000, 200'000, 20'000}) {
      for (const auto& o : run(rig.io, rig.executor.apply(table(us), rig.clock.now()))) {
        CHECK_MESSAGE(o.kind == OutcomeKind::kWritten, fmt::format("{} {}", us, o.error));
      }
      CHECK(rig.raw(burst) == std::to_string(us));
    }
    // The kernel's own rule, which the order has to respect: a burst above the quota.
    const auto refused = rig.cgroups.write(burst, number(20'001));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::kInvalid);
    rig.apply({});
    CHECK(rig.raw(burst) == "0");
    CHECK(rig.cgroups.read(quota).value() == cpu_unlimited());
  }

  TEST_CASE("cpu.idle and back: the weight is what it was before") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kCpuIdle), "no cpu.idle (Linux 5.15)");
    const auto weight = rig.tree.key(CgroupFile::kCpuWeight);
    REQUIRE(rig.cgroups.write(weight, number(20)));
    rig.prove(rig.tree.key(CgroupFile::kCpuIdle), number(1), "1");
    CHECK(rig.raw(weight) == "20");
  }

  TEST_CASE("cpuset") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kCpuset), "no cpuset controller");
    rig.prove(rig.tree.key(CgroupFile::kCpuset), cpus("0"), "0");
  }

  TEST_CASE("memory: min, low, high and the group that dies together") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(!rig.tree.v1(), "cgroup v1 has none of them on mainline kernels");
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kMemoryMin), "no memory controller");
    rig.prove(rig.tree.key(CgroupFile::kMemoryMin), bytes(8 * kMi), "8388608");
    rig.prove(rig.tree.key(CgroupFile::kMemoryLow), bytes(16 * kMi), "16777216");
    rig.prove(rig.tree.key(CgroupFile::kMemoryHigh), bytes(32 * kMi), "33554432");
    rig.prove(rig.tree.key(CgroupFile::kMemoryOomGroup), number(1), "1");
  }

  TEST_CASE("memory limit") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kMemoryMax), "no memory controller");
    rig.prove(rig.tree.key(CgroupFile::kMemoryMax), bytes(64 * kMi), "67108864");
  }

  TEST_CASE("bandwidth of a disk") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    const auto disk = a_disk();
    KOORDLET_SKIP_UNLESS(disk.has_value(), "no disk");
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kIoMax, *disk), "no IO controller");
    const IoMax limits{IoMax::Rate{10 * kMi},
                       IoMax::Rate::unlimited(),
                       IoMax::Rate::unlimited(),
                       IoMax::Rate{120}};
    const auto key = rig.tree.key(CgroupFile::kIoMax, *disk);
    rig.prove(key,
              limits,
              rig.tree.v1() ? *disk + " 10485760"
                            : *disk + " rbps=10485760 wbps=max riops=max wiops=120");
    const auto refused = rig.cgroups.write(rig.tree.key(CgroupFile::kIoMax, "999:999"), limits);
    CHECK_FALSE(refused);  // no such device
  }

  TEST_CASE("weight of a disk") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    const auto disk = a_disk();
    KOORDLET_SKIP_UNLESS(disk.has_value(), "no disk");
    KOORDLET_SKIP_UNLESS(rig.offers(CgroupFile::kIoWeight, *disk), "no io.weight");
    const auto key = rig.tree.key(CgroupFile::kIoWeight, *disk);
    const CgroupKey cost{{}, CgroupFile::kIoCostQos, *disk};
    DesiredTable table{{key, LeverRig::wish(number(60))}};
    // The kernel takes weights only for a disk whose cost it keeps account of.
    if (std::getenv("KOORDLET_OWN_MACHINE") != nullptr) {
      table.emplace(cost,
                    LeverRig::wish(Line{"enable=1 ctrl=user rpct=95 rlat=3000 wpct=95 wlat=3000"}));
    }
    bool supported = true;
    for (const auto& o : run(rig.io, rig.executor.apply(table, rig.clock.now()))) {
      supported = supported && o.kind != OutcomeKind::kUnsupported;
      CHECK_MESSAGE((o.kind == OutcomeKind::kWritten || o.kind == OutcomeKind::kUnsupported),
                    fmt::format("{}: {}", to_string(o.key), o.error));
    }
    KOORDLET_SKIP_UNLESS(supported, "no cost model is on for the disk (io.cost.qos)");
    CHECK(rig.raw(key).find(*disk + " 60") != std::string::npos);
    CHECK(rig.raw(cost).find("enable=1") != std::string::npos);
    for (const auto& o : run(rig.io, rig.executor.apply(table, rig.clock.now()))) {
      CHECK(o.kind == OutcomeKind::kUnchanged);
    }
    rig.apply({});
    CHECK(rig.cgroups.read(key).value() == number(100));
    CHECK(rig.cgroups.read(cost).value() == CgroupValue{Line{"enable=0"}});
  }

  TEST_CASE("settings of the machine, on a machine that is the test's own") {
    LeverRig rig;
    KOORDLET_SKIP_UNLESS(std::getenv("KOORDLET_OWN_MACHINE") != nullptr,
                         "this is not a machine of the test's own (KOORDLET_OWN_MACHINE)");
    rig.prove({{}, CgroupFile::kWatermarkScaleFactor}, number(150), "150");
    rig.prove({{}, CgroupFile::kMinFreeKbytes}, number(20'480), "20480");
  }
}
