#include "kernel/verbs_devices.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/skip.hpp"

namespace koordlet::test {
namespace {

namespace fs = std::filesystem;

struct Host {
  Host() {
    roots.sys = tree.path("sys");
    roots.dev = tree.path("dev");
    fs::create_directories(roots.sys + "/class/infiniband_verbs");
    fs::create_directories(roots.dev + "/infiniband");
  }
  /// As sysfs has it: a folder of the class with a link to its PCI function.
  void add_class(const std::string& name, const std::string& device) {
    const auto folder = roots.sys + "/class/infiniband_verbs/" + name;
    fs::create_directories(folder);
    fs::create_symlink("../../../" + device, folder + "/device");
  }
  bool add_node(const std::string& name, unsigned major, unsigned minor) {
    return ::mknod((roots.dev + "/infiniband/" + name).c_str(),
                   S_IFCHR | 0600,
                   makedev(major, minor)) == 0;
  }
  FakeTree tree;
  kernel::HostRoots roots;
};

}  // namespace

TEST_SUITE("verbs_devices") {
  TEST_CASE("reference 13: nodes by PCI id, and the connection manager") {
    Host h;
    KOORDLET_SKIP_UNLESS(h.add_node("rdma_cm", 10, 57), std::strerror(errno));
    REQUIRE(h.add_node("uverbs0", 231, 192));
    REQUIRE(h.add_node("uverbs300", 4095, 70'000));  // both numbers above a byte
    h.add_class("uverbs0", "0000:1f:00.2");
    h.add_class("uverbs300", "0001:a0:1f.7");
    const auto out = kernel::read_verbs_devices(h.roots);
    REQUIRE(out.connection_manager.has_value());
    CHECK(*out.connection_manager == kernel::DeviceNode{"/dev/infiniband/rdma_cm", 10, 57});
    REQUIRE(out.by_pci.size() == 2);
    CHECK(out.by_pci.at("0000:1f:00.2") == kernel::DeviceNode{"/dev/infiniband/uverbs0", 231, 192});
    CHECK(out.by_pci.at("0001:a0:1f.7") ==
          kernel::DeviceNode{"/dev/infiniband/uverbs300", 4095, 70'000});
  }

  TEST_CASE("a machine without RDMA") {
    const FakeTree tree;
    kernel::HostRoots roots;
    roots.sys = tree.path("no-sys");
    roots.dev = tree.path("no-dev");
    CHECK(kernel::read_verbs_devices(roots) == kernel::VerbsDevices{});
  }

  TEST_CASE("left out: no node, a file in its place, no PCI function, other entries") {
    Host h;
    KOORDLET_SKIP_UNLESS(h.add_node("uverbs2", 231, 194), std::strerror(errno));
    h.add_class("uverbs0", "0000:1f:00.2");
    h.add_class("uverbs1", "0000:1f:00.3");
    h.add_class("uverbs2", "virtual");
    h.tree.write("dev/infiniband/uverbs1", "");
    h.tree.write("sys/class/infiniband_verbs/abi_version", "6\n");
    CHECK(kernel::read_verbs_devices(h.roots) == kernel::VerbsDevices{});
  }
}

}  // namespace koordlet::test
