#include "kernel/cgroup_fs.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using std::chrono::microseconds;
using test::FakeTree;

namespace {

constexpr auto kV1 = CgroupVersion::kV1;
constexpr auto kV2 = CgroupVersion::kV2;

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.cgroup = tree.root();
  return roots;
}
CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }
CgroupKey key(CgroupFile file, std::string_view cgroup = "kubepods") {
  return {path(cgroup), file};
}
CpuMax cpu_max(std::int64_t quota, std::int64_t period = 100'000) {
  return {Limit{microseconds{quota}}, microseconds{period}};
}

}  // namespace

TEST_SUITE("cgroup_fs/read") {
  TEST_CASE("v1 and v2 files read as the same value") {
    const FakeTree v1{{"cpu/kubepods/cpu.cfs_quota_us", "50000\n"},
                      {"cpu/kubepods/cpu.cfs_period_us", "100000\n"},
                      {"cpuset/kubepods/cpuset.cpus", "0-3,8\n"},
                      {"memory/kubepods/memory.limit_in_bytes", "9223372036854771712\n"}};
    const FakeTree v2{{"kubepods/cpu.max", "50000 100000\n"},
                      {"kubepods/cpuset.cpus", "0-3,8\n"},
                      {"kubepods/memory.max", "max\n"}};
    CgroupFs one{rooted(v1), kV1}, two{rooted(v2), kV2};
    for (auto* fs : {&one, &two}) {
      CHECK(fs->read(key(CgroupFile::kCpuMax)).value() == CgroupValue{cpu_max(50'000)});
      CHECK(fs->read(key(CgroupFile::kCpuset)).value() ==
            CgroupValue{CpuSet::parse("0-3,8").value()});
      CHECK(fs->read(key(CgroupFile::kMemoryMax)).value() == CgroupValue{MemoryBound::unlimited()});
    }
  }

  TEST_CASE("weights are in the unit of the version") {
    const FakeTree v1{{"cpu/kubepods/cpu.shares", "1024\n"}};
    const FakeTree v2{{"kubepods/cpu.weight", "39\n"}};
    CHECK(CgroupFs{rooted(v1), kV1}.read(key(CgroupFile::kCpuWeight)).value() ==
          CgroupValue{Number{1024}});
    CHECK(CgroupFs{rooted(v2), kV2}.read(key(CgroupFile::kCpuWeight)).value() ==
          CgroupValue{Number{39}});
  }

  TEST_CASE("v1 quota -1 is unlimited and keeps its period") {
    const FakeTree tree{{"cpu/kubepods/cpu.cfs_quota_us", "-1\n"},
                        {"cpu/kubepods/cpu.cfs_period_us", "50000\n"}};
    CgroupFs fs{rooted(tree), kV1};
    CHECK(fs.read(key(CgroupFile::kCpuMax)).value() ==
          CgroupValue{CpuMax{Limit<microseconds>::unlimited(), microseconds{50'000}}});
  }

  TEST_CASE("a later read sees the kernel's new value through the kept descriptor") {
    const FakeTree tree{{"kubepods/cpu.max", "50000 100000\n"}};
    CgroupFs fs{rooted(tree), kV2};
    CHECK(fs.read(key(CgroupFile::kCpuMax)));
    tree.write("kubepods/cpu.max", "max 100000\n");
    CHECK(fs.read(key(CgroupFile::kCpuMax)).value() == CgroupValue{CpuMax{}});
  }

  TEST_CASE("damaged content is kParse and names the file") {
    const FakeTree tree{{"cpu/kubepods/cpu.cfs_quota_us", "abc\n"},
                        {"cpu/kubepods/cpu.cfs_period_us", "100000\n"}};
    CgroupFs fs{rooted(tree), kV1};
    const auto r = fs.read(key(CgroupFile::kCpuMax));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kParse);
    CHECK(r.error().context.starts_with(tree.path("cpu/kubepods/cpu.cfs_quota_us")));
    CHECK(r.error().context.find("'abc'") != std::string::npos);
    tree.write("cpu/kubepods/cpu.cfs_quota_us", "-1\n");
    tree.write("cpu/kubepods/cpu.cfs_period_us", "\n");
    const auto period = fs.read(key(CgroupFile::kCpuMax));
    REQUIRE(period.has_error());
    CHECK(period.error().code == Errc::kParse);
    CHECK(period.error().context.starts_with(tree.path("cpu/kubepods/cpu.cfs_period_us")));
  }

  TEST_CASE("row 49: no content at all is kGone, an empty cpu list with its newline is a value") {
    const FakeTree tree{{"kubepods/cpuset.cpus", ""}};
    CgroupFs fs{rooted(tree), kV2};
    CHECK(fs.read(key(CgroupFile::kCpuset)).error().code == Errc::kGone);
    tree.write("kubepods/cpuset.cpus", "\n");
    CHECK(fs.read(key(CgroupFile::kCpuset)).value() == CgroupValue{CpuSet{}});
  }

  TEST_CASE("a missing cgroup is kNotFound, a missing file of a present one kNotSupported") {
    const FakeTree tree{{"cpu/kubepods/cpu.shares", "2\n"}};
    tree.mkdir("memory/kubepods");
    CgroupFs fs{rooted(tree), kV1};
    CHECK(fs.read(key(CgroupFile::kCpuWeight, "none")).error().code == Errc::kNotFound);
    CHECK(fs.read(key(CgroupFile::kMemoryHigh, "none")).error().code == Errc::kNotFound);
    for (const auto file : {CgroupFile::kMemoryMin,
                            CgroupFile::kMemoryLow,
                            CgroupFile::kMemoryHigh,
                            CgroupFile::kCpuBvt}) {
      const auto r = fs.read(key(file));
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kNotSupported);
      CHECK(r.error().context.starts_with(fs.file(key(file))));
    }
  }

  TEST_CASE("a v1 hierarchy that is not mounted is kNotSupported") {
    const FakeTree tree;
    tree.mkdir("cpu/kubepods");
    CgroupFs fs{rooted(tree), kV1};
    CHECK(fs.read(key(CgroupFile::kCpuset)).error().code == Errc::kNotSupported);
  }

  TEST_CASE("a cgroup that was removed and made anew is not mistaken for the old one") {
    const FakeTree tree{{"kubepods/cpu.max", "50000 100000\n"}};
    CgroupFs fs{rooted(tree), kV2};
    CHECK(fs.read(key(CgroupFile::kCpuMax)));
    tree.remove("kubepods");
    CHECK(fs.read(key(CgroupFile::kCpuMax)).error().code == Errc::kNotFound);
    tree.write("kubepods/cpu.max", "max 100000\n");
    CHECK(fs.read(key(CgroupFile::kCpuMax)).value() == CgroupValue{CpuMax{}});
  }

  TEST_CASE("co-mounted cpu,cpuacct is reached through its link") {
    const FakeTree tree{{"cpu,cpuacct/kubepods/cpu.shares", "1024\n"}};
    std::filesystem::create_directory_symlink("cpu,cpuacct", tree.path("cpu"));
    CgroupFs fs{rooted(tree), kV1};
    CHECK(fs.read(key(CgroupFile::kCpuWeight)).value() == CgroupValue{Number{1024}});
    CHECK(fs.children({}).value() == std::vector<std::string>{"kubepods"});
  }
}

TEST_SUITE("cgroup_fs/write") {
  TEST_CASE("5.3: v2 writes quota and period in one line") {
    const FakeTree tree{{"kubepods/cpu.max", "max 100000\n"}};
    CgroupFs fs{rooted(tree), kV2};
    REQUIRE(fs.write(key(CgroupFile::kCpuMax), cpu_max(1'200'000)));
    CHECK(tree.read("kubepods/cpu.max") == "1200000 100000");
    REQUIRE(fs.write(key(CgroupFile::kCpuMax), CpuMax{}));
    CHECK(tree.read("kubepods/cpu.max") == "max 100000");
  }

  TEST_CASE("v1 writes only the file that differs") {
    const FakeTree tree{{"cpu/kubepods/cpu.cfs_quota_us", "-1\n"},
                        {"cpu/kubepods/cpu.cfs_period_us", "100000\n"}};
    CgroupFs fs{rooted(tree), kV1};
    // A file that was written has lost its newline.
    REQUIRE(fs.write(key(CgroupFile::kCpuMax), CpuMax{}));
    CHECK(tree.read("cpu/kubepods/cpu.cfs_quota_us") == "-1\n");
    CHECK(tree.read("cpu/kubepods/cpu.cfs_period_us") == "100000\n");
    REQUIRE(fs.write(key(CgroupFile::kCpuMax), cpu_max(50'000)));
    CHECK(tree.read("cpu/kubepods/cpu.cfs_quota_us") == "50000");
    CHECK(tree.read("cpu/kubepods/cpu.cfs_period_us") == "100000\n");
    tree.write("cpu/kubepods/cpu.cfs_quota_us", "50000\n");
    REQUIRE(fs.write(key(CgroupFile::kCpuMax), cpu_max(50'000, 50'000)));
    CHECK(tree.read("cpu/kubepods/cpu.cfs_quota_us") == "50000\n");
    CHECK(tree.read("cpu/kubepods/cpu.cfs_period_us") == "50000");
    REQUIRE(fs.write(key(CgroupFile::kCpuMax), CpuMax{}));
    CHECK(tree.read("cpu/kubepods/cpu.cfs_quota_us") == "-1");
    CHECK(tree.read("cpu/kubepods/cpu.cfs_period_us") == "100000");
  }

  TEST_CASE("v1: when the second of two writes fails, the first is put back") {
    // A file that reads as a number and that even root may not write.
    constexpr const char* kReadOnly = "/proc/sys/kernel/ngroups_max";
    KOORDLET_SKIP_UNLESS(std::filesystem::exists(kReadOnly), "no read-only sysctl");
    const FakeTree tree{{"cpu/kubepods/cpu.cfs_period_us", "100000\n"}};
    std::filesystem::create_symlink(kReadOnly, tree.path("cpu/kubepods/cpu.cfs_quota_us"));
    CgroupFs fs{rooted(tree), kV1};
    REQUIRE(fs.read(key(CgroupFile::kCpuMax)));
    const auto r = fs.write(key(CgroupFile::kCpuMax), cpu_max(50'000, 200'000));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kDenied);
    CHECK(r.error().context.find("cpu.cfs_quota_us") != std::string::npos);
    CHECK(tree.read("cpu/kubepods/cpu.cfs_period_us") == "100000");
  }

  TEST_CASE("cpuset, weight and memory, in the spelling of the version") {
    const FakeTree v1{{"cpuset/kubepods/cpuset.cpus", "0-7\n"},
                      {"cpu/kubepods/cpu.shares", "1024\n"},
                      {"memory/kubepods/memory.limit_in_bytes", "4096\n"}};
    CgroupFs one{rooted(v1), kV1};
    REQUIRE(one.write(key(CgroupFile::kCpuset), CpuSet::parse("3,1,2").value()));
    CHECK(v1.read("cpuset/kubepods/cpuset.cpus") == "1-3");
    REQUIRE(one.write(key(CgroupFile::kCpuWeight), Number{2}));
    CHECK(v1.read("cpu/kubepods/cpu.shares") == "2");
    REQUIRE(one.write(key(CgroupFile::kMemoryMax), MemoryBound::unlimited()));
    CHECK(v1.read("memory/kubepods/memory.limit_in_bytes") == "-1");
    const FakeTree v2{{"kubepods/memory.high", "0\n"}, {"kubepods/cpu.weight", "100\n"}};
    CgroupFs two{rooted(v2), kV2};
    REQUIRE(two.write(key(CgroupFile::kMemoryHigh), MemoryBound::unlimited()));
    CHECK(v2.read("kubepods/memory.high") == "max");
    REQUIRE(two.write(key(CgroupFile::kCpuWeight), Number{1}));
    CHECK(v2.read("kubepods/cpu.weight") == "1");
  }

  TEST_CASE("a value out of range is refused before the file is touched") {
    const FakeTree tree{{"kubepods/cpuset.cpus", "0-7\n"}, {"kubepods/cpu.max", "max 100000\n"}};
    CgroupFs fs{rooted(tree), kV2};
    CHECK(fs.write(key(CgroupFile::kCpuMax), cpu_max(999)).error().code == Errc::kRange);
    CHECK(fs.write(key(CgroupFile::kCpuMax), Number{1}).error().code == Errc::kRange);
    CHECK(tree.read("kubepods/cpu.max") == "max 100000\n");
    // What the parent has: one byte, for a write of none would do nothing.
    REQUIRE(fs.write(key(CgroupFile::kCpuset), CpuSet{}));
    CHECK(tree.read("kubepods/cpuset.cpus") == "\n");
  }

  TEST_CASE("missing cgroup and missing file; nothing is created") {
    const FakeTree tree;
    tree.mkdir("kubepods");
    CgroupFs fs{rooted(tree), kV2};
    const auto gone = fs.write(key(CgroupFile::kCpuMax, "none"), CpuMax{});
    REQUIRE(gone.has_error());
    CHECK(gone.error().code == Errc::kNotFound);
    CHECK(gone.error().context.find(tree.path("none/cpu.max")) != std::string::npos);
    CHECK(gone.error().context.find("errno 2") != std::string::npos);
    CHECK(fs.write(key(CgroupFile::kCpuMax), CpuMax{}).error().code == Errc::kNotSupported);
    CHECK_FALSE(std::filesystem::exists(tree.path("kubepods/cpu.max")));
  }
}

TEST_SUITE("cgroup_fs/tree") {
  TEST_CASE("children: directories only, sorted, unusable names left out") {
    const FakeTree tree{{"kubepods/cpu.max", "max 100000\n"}};
    tree.mkdir("kubepods/podb");
    tree.mkdir("kubepods/poda");
    tree.mkdir("kubepods/system-systemd\\x2dfsck.slice");
    CgroupFs fs{rooted(tree), kV2};
    CHECK(fs.children(path("kubepods")).value() == std::vector<std::string>{"poda", "podb"});
    CHECK(fs.children(path("kubepods/poda")).value().empty());
    CHECK(fs.children(path("none")).error().code == Errc::kNotFound);
  }

  TEST_CASE("v1: tree and identity are those of the cpu hierarchy") {
    const FakeTree tree;
    tree.mkdir("cpu/kubepods/poda");
    tree.mkdir("memory/kubepods/podb");
    CgroupFs fs{rooted(tree), kV1};
    CHECK(fs.children(path("kubepods")).value() == std::vector<std::string>{"poda"});
    CHECK(fs.inode({path("kubepods/poda"), CgroupFile::kCpuMax}));
    CHECK(fs.inode({path("kubepods/podb"), CgroupFile::kCpuMax}).error().code == Errc::kNotFound);
    CHECK(fs.version() == kV1);
  }

  TEST_CASE("inode tells directories apart") {
    const FakeTree tree;
    tree.mkdir("a");
    tree.mkdir("b");
    CgroupFs fs{rooted(tree), kV2};
    CHECK(fs.inode({path("a"), CgroupFile::kCpuMax}).value() !=
          fs.inode({path("b"), CgroupFile::kCpuMax}).value());
    CHECK(fs.inode({path("a"), CgroupFile::kCpuMax}).value() ==
          fs.inode({path("a"), CgroupFile::kCpuMax}).value());
  }

  TEST_CASE("has and file") {
    const FakeTree tree{{"cpu/kubepods/cpu.idle", "0\n"}};
    CgroupFs fs{rooted(tree), kV1};
    CHECK(fs.has(key(CgroupFile::kCpuIdle)));
    CHECK_FALSE(fs.has(key(CgroupFile::kCpuBvt)));
    CHECK(fs.file(key(CgroupFile::kCpuMax)) == tree.path("cpu/kubepods/cpu.cfs_quota_us"));
    CHECK(fs.file({{}, CgroupFile::kMemoryMax}) == tree.path("memory/memory.limit_in_bytes"));
    CHECK(CgroupFs{rooted(tree), kV2}.file({{}, CgroupFile::kCpuMax}) == tree.path("cpu.max"));
  }
}

TEST_SUITE("effective_cpus") {
  TEST_CASE("v2 reads the effective list, v1 the configured one") {
    const FakeTree v2{{"be/cpuset.cpus", "\n"}, {"be/cpuset.cpus.effective", "0-3\n"}};
    CHECK(read_effective_cpus(rooted(v2), kV2, path("be")).value() == CpuSet::range(0, 3));
    const FakeTree v1{{"cpuset/be/cpuset.cpus", "2-3\n"}};
    CHECK(read_effective_cpus(rooted(v1), kV1, path("be")).value() == CpuSet::range(2, 3));
  }

  TEST_CASE("v2: without the controller the nearest ancestor's list holds") {
    const FakeTree tree{{"cpuset.cpus.effective", "0-7\n"}};
    tree.mkdir("kubepods/besteffort");
    CHECK(read_effective_cpus(rooted(tree), kV2, path("kubepods/besteffort")).value() ==
          CpuSet::range(0, 7));
  }

  TEST_CASE("missing cgroup, missing hierarchy, damaged and empty content") {
    const FakeTree tree{{"cpuset.cpus.effective", "0-7\n"}, {"bad/cpuset.cpus.effective", "x\n"}};
    tree.write("empty/cpuset.cpus.effective", "");
    CHECK(read_effective_cpus(rooted(tree), kV2, path("none")).error().code == Errc::kNotFound);
    CHECK(read_effective_cpus(rooted(tree), kV2, path("bad")).error().code == Errc::kParse);
    CHECK(read_effective_cpus(rooted(tree), kV2, path("empty")).error().code == Errc::kGone);
    CHECK(read_effective_cpus(rooted(tree), kV1, path("bad")).error().code == Errc::kNotSupported);
  }
}
