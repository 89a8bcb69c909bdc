#include "kernel/host.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using test::FakeTree;

namespace {

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.cgroup = tree.root();
  roots.proc = tree.root();
  return roots;
}

}  // namespace

TEST_SUITE("host/version") {
  TEST_CASE("folders of v1 controllers, an empty unified tree beside them: v1") {
    const FakeTree tree;
    tree.mkdir("cpu");
    tree.mkdir("unified");
    CHECK(detect_cgroup_version(rooted(tree)).value() == CgroupVersion::kV1);
  }

  TEST_CASE("co-mounted cpu,cpuacct with its links: v1") {
    const FakeTree tree;
    tree.mkdir("cpu,cpuacct");
    std::filesystem::create_directory_symlink("cpu,cpuacct", tree.path("cpu"));
    CHECK(detect_cgroup_version(rooted(tree)).value() == CgroupVersion::kV1);
  }

  TEST_CASE("a folder that is no cgroup root") {
    const FakeTree tree;
    CHECK(detect_cgroup_version(rooted(tree)).error().code == Errc::kNotSupported);
  }

  TEST_CASE("a missing root") {
    HostRoots roots;
    roots.cgroup = "/nonexistent/cgroup";
    const auto r = detect_cgroup_version(roots);
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotFound);
    CHECK(r.error().context.find("/nonexistent/cgroup") != std::string::npos);
  }
}

TEST_SUITE("host/driver") {
  TEST_CASE("row 121: kubepods.slice is systemd, kubepods is cgroupfs, none waits") {
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      const std::string base = version == CgroupVersion::kV1 ? "cpu/" : "";
      const FakeTree tree;
      CHECK_FALSE(detect_cgroup_driver(rooted(tree), version));
      tree.mkdir(base + "system.slice");
      CHECK_FALSE(detect_cgroup_driver(rooted(tree), version));
      tree.mkdir(base + "kubepods");
      CHECK(detect_cgroup_driver(rooted(tree), version) == CgroupDriver::kCgroupfs);
      tree.mkdir(base + "kubepods.slice");
      CHECK(detect_cgroup_driver(rooted(tree), version) == CgroupDriver::kSystemd);
    }
  }

  TEST_CASE("a plain file of that name is no tier") {
    const FakeTree tree{{"kubepods.slice", ""}};
    CHECK_FALSE(detect_cgroup_driver(rooted(tree), CgroupVersion::kV2));
  }
}

TEST_SUITE("host/boot_id") {
  TEST_CASE("the id without its newline") {
    const FakeTree tree{{"sys/kernel/random/boot_id", "0a1b2c3d-1111-2222-3333-444455556666\n"}};
    CHECK(read_boot_id(rooted(tree)).value() == "0a1b2c3d-1111-2222-3333-444455556666");
  }

  TEST_CASE("missing, empty and damaged") {
    const FakeTree tree;
    CHECK(read_boot_id(rooted(tree)).error().code == Errc::kNotFound);
    for (const char* body : {"", "\n", "0a1b2c3d", "0A1B2C3D-1111-2222-3333-444455556666"}) {
      CAPTURE(body);
      tree.write("sys/kernel/random/boot_id", body);
      CHECK(read_boot_id(rooted(tree)).error().code == Errc::kParse);
    }
  }
}
