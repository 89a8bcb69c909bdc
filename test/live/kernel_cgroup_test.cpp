#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernel/cgroup_counters.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/fd.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

const HostRoots kRoots;
constexpr const char* kNoTree = "no writable cgroup tree (root and a mounted v1 or v2 are needed)";

CpuMax cpu_max(std::int64_t quota, std::int64_t period = 100'000) {
  return {Limit{microseconds{quota}}, microseconds{period}};
}

/// One cgroup in every hierarchy that is here, made below the roots, and removed with the object.
class LiveGroup {
 public:
  explicit LiveGroup(CgroupVersion version, const CgroupPath& path) : path_{path} {
    if (version == CgroupVersion::kV2) {
      // So that children get the controllers as well; what the kernel lacks is left out.
      if (!path.parent().is_root()) {
        for (const char* controller : {"+cpu", "+cpuset", "+memory"}) {
          const auto file =
              fmt::format("{}/{}/cgroup.subtree_control", kRoots.cgroup, path.parent().str());
          static_cast<void>(write_file(file, controller).has_value());
        }
      }
      dirs_ = {fmt::format("{}/{}", kRoots.cgroup, path.str())};
    } else {
      for (const char* controller : {"cpu", "cpuacct", "cpuset", "memory"}) {
        const auto root = fmt::format("{}/{}", kRoots.cgroup, controller);
        if (std::filesystem::is_directory(root)) dirs_.push_back(root + "/" + path.str());
      }
    }
    for (const auto& dir : dirs_) ok_ = ::mkdir(dir.c_str(), 0755) == 0 && ok_;
  }
  ~LiveGroup() { remove(); }
  LiveGroup(const LiveGroup&) = delete;
  LiveGroup& operator=(const LiveGroup&) = delete;

  bool ok() const { return ok_ && !dirs_.empty(); }
  const CgroupPath& path() const { return path_; }
  CgroupKey key(CgroupFile file) const { return {path_, file}; }
  std::vector<std::string> proc_files() const {
    std::vector<std::string> out;
    for (const auto& dir : dirs_) {
      // A v1 cpuset without CPUs takes no task, and memory is not wanted.
      const bool wanted = dirs_.size() == 1 || dir.starts_with(kRoots.cgroup + "/cpu/") ||
                          dir.starts_with(kRoots.cgroup + "/cpuacct/");
      if (wanted) out.push_back(dir + "/cgroup.procs");
    }
    return out;
  }
  void remove() {
    for (const auto& dir : dirs_) {
      // A task that was just killed may need a moment to leave.
      for (int i = 0; ::rmdir(dir.c_str()) != 0 && errno == EBUSY && i < 200; ++i) {
        std::this_thread::sleep_for(milliseconds{10});
      }
    }
    dirs_.clear();
  }

 private:
  CgroupPath path_;
  std::vector<std::string> dirs_;
  bool ok_ = true;
};

/// A child process that spins inside the group until the object goes.
class Burner {
 public:
  explicit Burner(const LiveGroup& group) {
    const auto files = group.proc_files();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(120);
    for (const auto& file : files) {
      if (!write_file(file, fmt::format("{}", ::getpid()))) ::_exit(1);
    }
    for (;;) static_cast<void>(::getppid());
  }
  ~Burner() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;

 private:
  pid_t pid_ = -1;
};

/// True as soon as `condition` holds; false after 30 s.
template <class Condition>
bool comes_true(Condition&& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds{10});
  }
  return false;
}

int open_descriptors() {
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    static_cast<void>(entry);
    ++n;
  }
  return n;
}

std::optional<CgroupVersion> version() {
  const auto v = detect_cgroup_version(kRoots);
  if (!v) return std::nullopt;
  return *v;
}

/// Everything a case needs; `ready` is false where it must be skipped.
struct Live {
  std::optional<CgroupVersion> found = version();
  CgroupVersion v = found.value_or(CgroupVersion::kV1);
  bool is_v1 = v == CgroupVersion::kV1;
  CgroupPath path = CgroupPath{}.child(fmt::format("koordlet-test-{}", ::getpid()));
  std::optional<LiveGroup> group;
  CgroupFs fs{kRoots, v};
  bool ready = false;

  Live() {
    if (!found) return;
    group.emplace(v, path);
    ready = group->ok();
  }
  CgroupKey key(CgroupFile file) const { return group->key(file); }
  CgroupValue read(CgroupFile file) { return fs.read(key(file)).value(); }
};

}  // namespace

TEST_SUITE("live/kernel_cgroup") {
  TEST_CASE("quota and period: written values read back, unlimited is unlimited") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuMax)), "no CPU bandwidth control");
    CHECK(live.read(CgroupFile::kCpuMax) == CgroupValue{CpuMax{}});
    for (const auto& want : {cpu_max(50'000),
                             cpu_max(1000),
                             cpu_max(25'000, 50'000),
                             cpu_max(200'000, 100'000),
                             CpuMax{Limit<microseconds>::unlimited(), microseconds{20'000}},
                             cpu_max(100'000, 1'000'000),
                             CpuMax{}}) {
      const auto done = live.fs.write(live.key(CgroupFile::kCpuMax), want);
      CAPTURE(to_string(CgroupValue{want}));
      REQUIRE(done.has_value());
      CHECK(live.read(CgroupFile::kCpuMax) == CgroupValue{want});
    }
  }

  TEST_CASE("weight: written values read back") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuWeight)), "no cpu controller");
    CHECK(live.read(CgroupFile::kCpuWeight) == CgroupValue{Number{live.is_v1 ? 1024 : 100}});
    for (const std::int64_t want : {2, 20, 10'000}) {
      REQUIRE(live.fs.write(live.key(CgroupFile::kCpuWeight), Number{want}).has_value());
      CHECK(live.read(CgroupFile::kCpuWeight) == CgroupValue{Number{want}});
    }
  }

  TEST_CASE("idle: the kernel refuses a weight then, and the readers take what it shows") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuIdle)), "no cpu.idle (before 5.15)");
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuIdle), Number{1}).has_value());
    CHECK(live.read(CgroupFile::kCpuIdle) == CgroupValue{Number{1}});
    CHECK(live.fs.read(live.key(CgroupFile::kCpuWeight)).has_value());
    const auto r = live.fs.write(live.key(CgroupFile::kCpuWeight), Number{20});
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kInvalid);
    CHECK(r.error().context.find(live.fs.file(live.key(CgroupFile::kCpuWeight))) !=
          std::string::npos);
    CHECK(r.error().context.find("'20'") != std::string::npos);
    CHECK(r.error().context.find("errno 22") != std::string::npos);
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuIdle), Number{0}).has_value());
    CHECK(live.fs.write(live.key(CgroupFile::kCpuWeight), Number{20}).has_value());
  }

  TEST_CASE("cpuset: written sets read back, CPUs that are not there are refused") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuset)), "no cpuset controller");
    CHECK(live.read(CgroupFile::kCpuset) == CgroupValue{CpuSet{}});
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuset), CpuSet::range(0, 0)).has_value());
    CHECK(live.read(CgroupFile::kCpuset) == CgroupValue{CpuSet::range(0, 0)});
    CHECK(read_effective_cpus(kRoots, live.v, live.path).value() == CpuSet::range(0, 0));
    const auto none = live.fs.write(live.key(CgroupFile::kCpuset), CpuSet{});
    CHECK(none.has_value() == !live.is_v1);  // v2: the parent's again
    if (live.is_v1) CHECK(none.error().code == Errc::kRange);
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuset), CpuSet::range(0, 0)).has_value());
    const auto far = live.fs.write(live.key(CgroupFile::kCpuset), CpuSet::range(4095, 4095));
    if (live.is_v1) {
      REQUIRE(far.has_error());
      CHECK(far.error().code == Errc::kInvalid);
      CHECK(live.read(CgroupFile::kCpuset) == CgroupValue{CpuSet::range(0, 0)});
    }
  }

  TEST_CASE("cpuset of a child beyond its parent: v1 refuses the value, v2 takes it") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuset)), "no cpuset controller");
    KOORDLET_SKIP_UNLESS(std::thread::hardware_concurrency() > 1, "one CPU only");
    const LiveGroup child{live.v, live.path.child("child")};
    REQUIRE(child.ok());
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuset), CpuSet::range(0, 0)).has_value());
    const auto r = live.fs.write(child.key(CgroupFile::kCpuset), CpuSet::range(1, 1));
    CHECK(r.has_error() == live.is_v1);
    if (r.has_error()) CHECK(r.error().code == Errc::kInvalid);
  }

  TEST_CASE("quota of a child above its parent: v1 says EINVAL with file and value, v2 takes it") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    const LiveGroup child{live.v, live.path.child("child")};
    KOORDLET_SKIP_UNLESS(live.fs.has(child.key(CgroupFile::kCpuMax)), "no CPU bandwidth control");
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuMax), cpu_max(50'000)).has_value());
    const auto r = live.fs.write(child.key(CgroupFile::kCpuMax), cpu_max(60'000));
    if (!live.is_v1) {
      CHECK(r.has_value());
      return;
    }
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kInvalid);
    CHECK(r.error().context == live.fs.file(child.key(CgroupFile::kCpuMax)) +
                                   ": write '60000': Invalid argument (errno 22)");
    CHECK(live.fs.read(child.key(CgroupFile::kCpuMax)).value() == CgroupValue{CpuMax{}});
  }

  TEST_CASE("a quota below the group's burst is refused, and the message says why") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    const auto file =
        live.is_v1 ? fmt::format("{}/cpu/{}/cpu.cfs_burst_us", kRoots.cgroup, live.path.str())
                   : fmt::format("{}/{}/cpu.max.burst", kRoots.cgroup, live.path.str());
    KOORDLET_SKIP_UNLESS(std::filesystem::exists(file), "no CPU burst (before 5.14)");
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuMax), cpu_max(80'000)).has_value());
    REQUIRE(write_file(file, "50000").has_value());
    const auto r = live.fs.write(live.key(CgroupFile::kCpuMax), cpu_max(40'000));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kInvalid);
    CHECK(r.error().context.ends_with(file + " is 50000, above the quota"));
    CHECK(live.read(CgroupFile::kCpuMax) == CgroupValue{cpu_max(80'000)});
    CHECK(live.fs.write(live.key(CgroupFile::kCpuMax), cpu_max(50'000)).has_value());
  }

  TEST_CASE("v1: quota and period change together in an order that parent and child allow") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.is_v1, "v2 writes both in one line");
    const LiveGroup child{live.v, live.path.child("child")};
    KOORDLET_SKIP_UNLESS(live.fs.has(child.key(CgroupFile::kCpuMax)), "no CPU bandwidth control");
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuMax), cpu_max(50'000)).has_value());
    // Half a CPU throughout, in other periods: only one order passes below the parent's half CPU.
    for (const auto& want : {cpu_max(50'000),
                             cpu_max(100'000, 200'000),
                             cpu_max(5'000, 10'000),
                             cpu_max(40'000, 200'000),
                             cpu_max(50'000, 100'000)}) {
      CAPTURE(to_string(CgroupValue{want}));
      REQUIRE(live.fs.write(child.key(CgroupFile::kCpuMax), want).has_value());
      CHECK(live.fs.read(child.key(CgroupFile::kCpuMax)).value() == CgroupValue{want});
    }
    // The parent may be loosened on the way where its child forbids the tight order.
    const auto loose = cpu_max(100'000, 200'000);
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuMax), loose).has_value());
    CHECK(live.read(CgroupFile::kCpuMax) == CgroupValue{loose});
  }

  TEST_CASE("v1: when neither order is allowed, nothing changes") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.is_v1, "v2 writes both in one line");
    const LiveGroup middle{live.v, live.path.child("middle")};
    const LiveGroup leaf{live.v, middle.path().child("leaf")};
    KOORDLET_SKIP_UNLESS(live.fs.has(leaf.key(CgroupFile::kCpuMax)), "no CPU bandwidth control");
    const auto half = cpu_max(50'000);
    for (const auto& key : {live.key(CgroupFile::kCpuMax),
                            middle.key(CgroupFile::kCpuMax),
                            leaf.key(CgroupFile::kCpuMax)}) {
      REQUIRE(live.fs.write(key, half).has_value());
    }
    const auto r = live.fs.write(middle.key(CgroupFile::kCpuMax), cpu_max(100'000, 200'000));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kInvalid);
    CHECK(live.fs.read(middle.key(CgroupFile::kCpuMax)).value() == CgroupValue{half});
    // The second half is refused: the first one is put back.
    const auto more = live.fs.write(leaf.key(CgroupFile::kCpuMax), cpu_max(150'000, 200'000));
    REQUIRE(more.has_error());
    CHECK(live.fs.read(leaf.key(CgroupFile::kCpuMax)).value() == CgroupValue{half});
  }

  TEST_CASE("memory limit: unlimited reads as unlimited, bounds read back") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kMemoryMax)), "no memory controller");
    CHECK(live.read(CgroupFile::kMemoryMax) == CgroupValue{MemoryBound::unlimited()});
    const CgroupValue bound = MemoryBound{Bytes{64 << 20}};
    REQUIRE(live.fs.write(live.key(CgroupFile::kMemoryMax), bound).has_value());
    CHECK(live.read(CgroupFile::kMemoryMax) == bound);
    REQUIRE(live.fs.write(live.key(CgroupFile::kMemoryMax), MemoryBound::unlimited()).has_value());
    CHECK(live.read(CgroupFile::kMemoryMax) == CgroupValue{MemoryBound::unlimited()});
    for (const auto file :
         {CgroupFile::kMemoryMin, CgroupFile::kMemoryLow, CgroupFile::kMemoryHigh}) {
      if (live.fs.has(live.key(file))) {
        const bool high = file == CgroupFile::kMemoryHigh;
        CHECK(live.read(file) ==
              CgroupValue{high ? MemoryBound::unlimited() : MemoryBound{Bytes{0}}});
        CHECK(live.fs.write(live.key(file), bound).has_value());
        CHECK(live.read(file) == bound);
      } else {
        CHECK(live.fs.read(live.key(file)).error().code == Errc::kNotSupported);
        CHECK(live.fs.write(live.key(file), bound).error().code == Errc::kNotSupported);
      }
    }
  }

  TEST_CASE("a removed cgroup is gone for kept descriptors; made anew it is another one") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuWeight)), "no cpu controller");
    CgroupCounters counters{kRoots, live.v};
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuWeight), Number{20}).has_value());
    CHECK(live.read(CgroupFile::kCpuWeight) == CgroupValue{Number{20}});
    CHECK(counters.cpu(live.path).has_value());
    const auto before = live.fs.inode({live.path, CgroupFile::kCpuMax}).value();
    live.group->remove();
    CHECK(live.fs.read(live.key(CgroupFile::kCpuWeight)).error().code == Errc::kNotFound);
    CHECK(live.fs.write(live.key(CgroupFile::kCpuWeight), Number{20}).error().code ==
          Errc::kNotFound);
    CHECK(live.fs.inode({live.path, CgroupFile::kCpuMax}).error().code == Errc::kNotFound);
    CHECK(live.fs.children(live.path).error().code == Errc::kNotFound);
    CHECK(counters.cpu(live.path).error().code == Errc::kNotFound);
    CHECK(counters.open_files() == 0);
    const LiveGroup again{live.v, live.path};
    REQUIRE(again.ok());
    CHECK(live.read(CgroupFile::kCpuWeight) == CgroupValue{Number{live.is_v1 ? 1024 : 100}});
    CHECK(counters.cpu(live.path).value().usage == std::chrono::nanoseconds{0});
    CHECK(live.fs.inode({live.path, CgroupFile::kCpuMax}).value() != before);
  }

  TEST_CASE("a kept descriptor does not hold the cgroup, and says ENODEV after it went") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuWeight)), "no cpu controller");
    auto kept = KeptFile::open(live.fs.file(live.key(CgroupFile::kCpuWeight))).value();
    CHECK(kept.read().has_value());
    live.group->remove();
    CHECK_FALSE(std::filesystem::exists(live.fs.file(live.key(CgroupFile::kCpuWeight))));
    CHECK(kept.read().error().code == Errc::kGone);
  }

  TEST_CASE("usage and throttling move while a process spins under a quota") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuMax)), "no CPU bandwidth control");
    CgroupCounters counters{kRoots, live.v};
    REQUIRE(live.fs.write(live.key(CgroupFile::kCpuMax), cpu_max(10'000)).has_value());
    const auto cpu = counters.cpu(live.path).value();
    const auto throttle = counters.throttle(live.path).value();
    CHECK(throttle.throttled == 0);
    {
      const Burner burner{*live.group};
      CHECK(comes_true(
          [&] { return counters.cpu(live.path).value().usage > cpu.usage + milliseconds{30}; }));
      CHECK(comes_true([&] {
        const auto now = counters.throttle(live.path).value();
        return now.periods > 2 && now.throttled > 0 && now.throttled_time.count() > 0;
      }));
    }
    const auto end = counters.throttle(live.path).value();
    CHECK(end.throttled <= end.periods);
  }

  TEST_CASE("memory counters of an own group; the root's are refused") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kMemoryMax)), "no memory controller");
    CgroupCounters counters{kRoots, live.v};
    const auto stat = counters.memory(live.path).value();
    CHECK(stat.with_cache().v >= stat.without_cache().v);
    CHECK(counters.memory_usage(live.path).value().v >= 0);
    CHECK(counters.memory({}).error().code == Errc::kNotSupported);
  }

  TEST_CASE("10000 reads leave the number of descriptors flat") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    KOORDLET_SKIP_UNLESS(live.fs.has(live.key(CgroupFile::kCpuWeight)), "no cpu controller");
    CgroupCounters counters{kRoots, live.v};
    const auto once = [&] {
      return live.fs.read(live.key(CgroupFile::kCpuWeight)).has_value() &&
             counters.cpu(live.path).has_value();
    };
    REQUIRE(once());
    const int before = open_descriptors();
    int good = 0;
    for (int i = 0; i < 10'000; ++i) good += once() ? 1 : 0;
    CHECK(good == 10'000);
    CHECK(open_descriptors() == before);
  }

  TEST_CASE("children and existence") {
    Live live;
    KOORDLET_SKIP_UNLESS(live.ready, kNoTree);
    const LiveGroup b{live.v, live.path.child("b")}, a{live.v, live.path.child("a")};
    CHECK(live.fs.children(live.path).value() == std::vector<std::string>{"a", "b"});
    CHECK_FALSE(live.fs.has({live.path.child("c"), CgroupFile::kCpuWeight}));
  }
}
