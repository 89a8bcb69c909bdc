#include <filesystem>
#include <map>
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

/// The control files that koordlet or the kernel may change under a cap; counters are left out.
const std::vector<std::string> kControls{"cpu.cfs_quota_us",
                                         "cpu.cfs_period_us",
                                         "cpu.cfs_burst_us",
                                         "cpu.shares",
                                         "cpu.idle",
                                         "cpu.max",
                                         "cpu.max.burst",
                                         "cpu.weight",
                                         "cpuset.cpus",
                                         "cpuset.mems",
                                         "cpuset.cpus.effective",
                                         "memory.limit_in_bytes",
                                         "memory.min",
                                         "memory.low",
                                         "memory.high",
                                         "memory.max"};

/// A sub-tree of the real cgroups: <name>/be, two pods with two containers each.
class LiveTree {
 public:
  LiveTree() {
    const auto version = kernel::detect_cgroup_version({});
    if (!version) return;
    version_ = *version;
    name_ = fmt::format("koordlet-test-exec-{}", ::getpid());
    if (version_ == CgroupVersion::kV1) {
      for (const char* c : {"cpu", "cpuset", "memory"})
        mounts_.push_back(fmt::format("{}/{}", kRoot, c));
    } else {
      mounts_.emplace_back(kRoot);
      delegate("");
    }
    usable_ = true;
    for (const char* path : {"", "/be", "/be/pod1", "/be/pod2"}) {
      usable_ = usable_ && make(path);
      if (version_ == CgroupVersion::kV2) delegate(name_ + path);
    }
    for (const char* path : {"/be/pod1/a", "/be/pod1/b", "/be/pod2/a", "/be/pod2/b"}) {
      usable_ = usable_ && make(path);
    }
  }
  ~LiveTree() {
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) ::rmdir(dir->c_str());
  }
  LiveTree(const LiveTree&) = delete;
  LiveTree& operator=(const LiveTree&) = delete;

  bool usable() const { return usable_; }
  CgroupVersion version() const { return version_; }
  CgroupKey key(std::string_view path, CgroupFile file) const {
    return {CgroupPath::parse(fmt::format("{}/{}", name_, path)).value(), file};
  }
  /// Raw text of one file, whatever reads it elsewhere.
  std::string raw(std::string_view path, std::string_view file) const {
    for (const auto& mount : mounts_) {
      const auto text = kernel::read_file(fmt::format("{}/{}/{}/{}", mount, name_, path, file));
      if (text) return std::string{trim(*text)};
    }
    return "-";
  }
  bool put(std::string_view path, std::string_view file, std::string_view text) const {
    for (const auto& mount : mounts_) {
      const auto name = fmt::format("{}/{}/{}/{}", mount, name_, path, file);
      if (fs::exists(name)) return kernel::write_file(name, text).has_value();
    }
    return false;
  }
  /// Quota as text: v1 "-1" and v2 "max" both read "max".
  std::string quota(std::string_view path) const {
    if (version_ == CgroupVersion::kV1) {
      const auto text = raw(path, "cpu.cfs_quota_us");
      return text == "-1" ? "max" : text;
    }
    const auto text = raw(path, "cpu.max");
    return text.substr(0, text.find(' '));
  }
  void put_quota(std::string_view path, std::int64_t us) const {
    const bool v1 = version_ == CgroupVersion::kV1;
    REQUIRE(put(path, v1 ? "cpu.cfs_quota_us" : "cpu.max", std::to_string(us)));
  }
  void remove(std::string_view path) const {
    for (const auto& mount : mounts_) ::rmdir(fmt::format("{}/{}/{}", mount, name_, path).c_str());
  }
  /// Every control file of the sub-tree.
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> out;
    for (const auto& dir : made_) {
      for (const auto& file : kControls) {
        const auto text = kernel::read_file(dir + "/" + file);
        if (text) out.emplace(dir + "/" + file, *text);
      }
    }
    return out;
  }

 private:
  static constexpr const char* kRoot = "/sys/fs/cgroup";

  bool make(std::string_view path) {
    for (const auto& mount : mounts_) {
      auto dir = fmt::format("{}/{}{}", mount, name_, path);
      if (::mkdir(dir.c_str(), 0755) != 0) return false;
      made_.push_back(std::move(dir));
    }
    return true;
  }
  void delegate(const std::string& path) {
    const auto done = kernel::write_file(fmt::format("{}/{}/cgroup.subtree_control", kRoot, path),
                                         "+cpu +cpuset +memory");
    if (!done) usable_ = false;
  }

  CgroupVersion version_ = CgroupVersion::kV1;
  std::string name_;
  std::vector<std::string> mounts_, made_;
  bool usable_ = false;
};

struct LiveRig {
  LiveTree tree;
  kernel::CgroupFs cgroups{{}, tree.version()};
  SystemClock clock;
  boost::asio::io_context io;
  ResourceExecutor executor{{}, cgroups, nullptr, nullptr, clock, "boot"};

  std::vector<Outcome> apply(const DesiredTable& table) {
    return run(io, executor.apply(table, clock.now()));
  }
  /// Pods asked for 4 cores, their containers for 2; quota = request x permille.
  DesiredTable level(std::int64_t permille) const {
    DesiredTable table;
    const auto put = [&](std::string_view path, std::int64_t us, int order) {
      Desired want;
      want.value = cpu_max(us);
      want.order = order;
      table.emplace(tree.key(path, CgroupFile::kCpuMax), want);
    };
    put("be", 800 * permille, 0);
    for (const char* pod : {"be/pod1", "be/pod2"}) {
      put(pod, 400 * permille, 1);
      for (const char* c : {"a", "b"}) put(fmt::format("{}/{}", pod, c), 200 * permille, 2);
    }
    return table;
  }
  void prepare() {
    for (const char* pod : {"be/pod1", "be/pod2"}) {
      tree.put_quota(pod, 400'000);
      for (const char* c : {"a", "b"}) tree.put_quota(fmt::format("{}/{}", pod, c), 200'000);
    }
  }
};

void all_are(const std::vector<Outcome>& outcomes, OutcomeKind kind) {
  for (const auto& o : outcomes) {
    const auto text = fmt::format("{}: {} {}", to_string(o.key), to_string(o.kind), o.error);
    CHECK_MESSAGE(o.kind == kind, text);
  }
}

constexpr const char* kNoTree = "no writable cgroup tree with cpu, cpuset and memory";

}  // namespace

TEST_SUITE("live/executor") {
  TEST_CASE("levels MID, HIGH, MID, NONE are accepted by the real kernel and given back") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    rig.prepare();
    const auto before = rig.tree.all();
    struct Step {
      std::int64_t permille;
      const char *root, *pod, *container;
    };
    for (const auto& step : {Step{700, "560000", "280000", "140000"},
                             Step{300, "240000", "120000", "60000"},
                             Step{700, "560000", "280000", "140000"},
                             Step{300, "240000", "120000", "60000"},
                             Step{1000, "800000", "400000", "200000"}}) {
      const auto permille = step.permille;
      CAPTURE(permille);
      for (const auto& o : rig.apply(rig.level(permille))) {
        const auto text = fmt::format("{}: {}", to_string(o.key), o.error);
        const bool fine = o.kind == OutcomeKind::kWritten || o.kind == OutcomeKind::kUnchanged;
        CHECK_MESSAGE(fine, text);
      }
      CHECK(rig.tree.quota("be") == step.root);
      CHECK(rig.tree.quota("be/pod1") == step.pod);
      CHECK(rig.tree.quota("be/pod2/b") == step.container);
      all_are(rig.apply(rig.level(permille)), OutcomeKind::kUnchanged);
    }
    rig.apply(rig.level(300));
    all_are(rig.apply({}), OutcomeKind::kWritten);
    CHECK(rig.tree.quota("be") == "max");
    CHECK(rig.tree.all() == before);
  }
  TEST_CASE("restore_all brings every file of the tree back to what it was") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    rig.prepare();
    const bool v1 = rig.tree.version() == CgroupVersion::kV1;
    const auto before = rig.tree.all();
    auto table = rig.level(300);
    const auto add = [&](std::string_view path, CgroupFile file, CgroupValue value) {
      Desired want;
      want.value = std::move(value);
      table.emplace(rig.tree.key(path, file), want);
    };
    add("be", CgroupFile::kCpuWeight, number(v1 ? 20 : 2));
    add("be/pod1/a", CgroupFile::kCpuIdle, number(1));
    add("be/pod1", CgroupFile::kMemoryMax, bytes((64 << 20) + 100));  // not a whole page
    if (!v1) {
      add("be/pod2", CgroupFile::kMemoryHigh, bytes(32 << 20));
      add("be/pod2", CgroupFile::kMemoryLow, bytes(1 << 20));
    }
    all_are(rig.apply(table), OutcomeKind::kWritten);
    all_are(rig.apply(table), OutcomeKind::kUnchanged);
    CHECK(rig.tree.all() != before);
    CHECK(rig.tree.raw("be/pod1/a", "cpu.idle") == "1");
    all_are(rig.executor.restore_all(), OutcomeKind::kWritten);
    CHECK(rig.tree.all() == before);
    CHECK(rig.executor.restore_all().empty());
  }
  TEST_CASE("a moving cpuset passes the kernel's parent and child checks") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(::sysconf(_SC_NPROCESSORS_ONLN) >= 2, "one CPU only");
    const std::vector<const char*> paths{"be", "be/pod1", "be/pod1/a"};
    REQUIRE(rig.tree.put("", "cpuset.cpus", "0-1"));
    for (const char* path : paths) REQUIRE(rig.tree.put(path, "cpuset.cpus", "0"));
    const auto before = rig.tree.all();
    DesiredTable table;
    for (const char* path : paths) {
      Desired want;
      want.value = cpus("1");
      table.emplace(rig.tree.key(path, CgroupFile::kCpuset), want);
    }
    all_are(rig.apply(table), OutcomeKind::kWritten);
    for (const char* path : paths) CHECK(rig.tree.raw(path, "cpuset.cpus") == "1");
    all_are(rig.apply({}), OutcomeKind::kWritten);
    CHECK(rig.tree.all() == before);
  }
  TEST_CASE("a foreign write is healed by the next batch") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    rig.prepare();
    rig.apply(rig.level(300));
    rig.tree.put_quota("be/pod1/a", 50'000);
    rig.tree.put_quota("be/pod2", 200'000);
    rig.apply(rig.level(300));
    CHECK(rig.tree.quota("be/pod1/a") == "60000");
    CHECK(rig.tree.quota("be/pod2") == "120000");
    CHECK(rig.executor.counters().foreign == 2);
    rig.executor.restore_all();
    CHECK(rig.tree.quota("be/pod2") == "400000");
  }
  TEST_CASE("cgroups removed under our hands are gone, the others follow the level") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    rig.prepare();
    rig.apply(rig.level(700));
    rig.tree.remove("be/pod1/a");
    const auto removed = rig.tree.key("be/pod1/a", CgroupFile::kCpuMax);
    auto table = rig.level(300);
    for (const auto& o : rig.apply(table)) {
      CHECK((o.kind == OutcomeKind::kGone) == (o.key == removed));
    }
    // The v1 kernel counts a removed child until it is freed, some milliseconds later.
    table.erase(removed);
    auto now = rig.clock.now();
    for (int i = 0; i < 500 && rig.tree.quota("be") != "240000"; ++i) {
      ::usleep(10'000);
      now += std::chrono::seconds{10};
      run(rig.io, rig.executor.apply(table, now));
    }
    CHECK(rig.tree.quota("be/pod1") == "120000");
    CHECK(rig.tree.quota("be") == "240000");
    rig.tree.remove("be/pod1/b");
    rig.tree.remove("be/pod1");
    for (const auto& o : rig.apply({})) {
      const bool in_pod1 = o.key.path.str().find("/pod1") != std::string::npos;
      CHECK(o.kind == (in_pod1 ? OutcomeKind::kGone : OutcomeKind::kWritten));
    }
    CHECK(rig.tree.quota("be/pod2/a") == "200000");
    CHECK(rig.executor.held().empty());
  }
  TEST_CASE("a cgroup made anew under the same name is taken for a new one") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    rig.prepare();
    const auto key = rig.tree.key("be/pod1/a", CgroupFile::kCpuMax);
    Desired want;
    want.value = cpu_max(60'000);
    rig.apply({{key, want}});
    const auto dir = fs::path{rig.cgroups.file(key)}.parent_path();
    REQUIRE(::rmdir(dir.c_str()) == 0);
    REQUIRE(::mkdir(dir.c_str(), 0755) == 0);
    CHECK(rig.tree.quota("be/pod1/a") == "max");
    CHECK(rig.apply({{key, want}}).at(0).kind == OutcomeKind::kWritten);
    const auto held = rig.executor.held();
    REQUIRE(held.size() == 1);
    CHECK(held[0].original == "max 100000");
    CHECK(held[0].foreign_writes == 0);
  }
  TEST_CASE("v1: a quota above the parent's is refused with file and value") {
    LiveRig rig;
    KOORDLET_SKIP_UNLESS(rig.tree.usable(), kNoTree);
    KOORDLET_SKIP_UNLESS(rig.tree.version() == CgroupVersion::kV1, "cgroup v1 only");
    rig.tree.put_quota("be/pod1", 100'000);
    Desired want;
    want.value = cpu_max(200'000);
    const auto key = rig.tree.key("be/pod1/a", CgroupFile::kCpuMax);
    const auto out = rig.apply({{key, want}}).at(0);
    CHECK(out.kind == OutcomeKind::kRefused);
    CHECK(out.error.find("be/pod1/a/cpu.cfs_quota_us") != std::string::npos);
    CHECK(out.error.find("200000") != std::string::npos);
    CHECK(rig.tree.quota("be/pod1/a") == "max");
  }
}
