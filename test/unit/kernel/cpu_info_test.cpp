#include "kernel/cpu_info.hpp"

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using test::FakeTree;

namespace {

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.proc = tree.path("proc");
  roots.sys = tree.path("sys");
  return roots;
}

constexpr const char* kCpuinfo =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"
    "model name\t: Intel(R) Xeon(R): 8481C\n\n"
    "processor\t: 1\nvendor_id\t: Other\nmodel name\t: Other\n";

}  // namespace

TEST_SUITE("kernel/cpu_info") {
  TEST_CASE("model and vendor of the first CPU; turbo and L3 mask where the kernel shows them") {
    const FakeTree tree;
    tree.write("proc/cpuinfo", kCpuinfo);
    const auto plain = read_cpu_model(rooted(tree)).value();
    CHECK(plain.vendor == "GenuineIntel");
    CHECK(plain.name == "Intel(R) Xeon(R): 8481C");
    CHECK_FALSE(plain.turbo.has_value());
    CHECK(plain.l3_mask.empty());
    tree.write("sys/devices/system/cpu/cpufreq/boost", "0\n");
    CHECK(read_cpu_model(rooted(tree)).value().turbo == false);
    tree.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    tree.write("sys/fs/resctrl/info/L3/cbm_mask", "7ff\n");
    const auto full = read_cpu_model(rooted(tree)).value();
    CHECK(full.turbo == true);
    CHECK(full.l3_mask == "7ff");
  }

  TEST_CASE("a machine without these lines has no names; one without cpuinfo is an error") {
    const FakeTree tree;
    tree.write("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n");
    CHECK(read_cpu_model(rooted(tree)).value().name.empty());
    CHECK(read_cpu_model(rooted(FakeTree{})).has_error());
  }

  TEST_CASE("17: a generic initiator without memory information is left out") {
    const FakeTree tree;
    tree.write("sys/devices/system/node/has_generic_initiator", "2\n");
    tree.write("sys/devices/system/node/node0/meminfo",
               "Node 0 MemTotal:       1048576 kB\nNode 0 MemFree:        262144 kB\n");
    tree.write("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       2048 kB\n");
    tree.write("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n");
    tree.write("sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
    tree.mkdir("sys/devices/system/node/node2");
    const auto numa = read_numa_memory(rooted(tree)).value();
    REQUIRE(numa.size() == 2);
    CHECK(numa.at(0).total == Bytes{1073741824});
    CHECK(numa.at(0).huge_2mi == Bytes{6291456});
    CHECK(numa.at(0).huge_1gi == Bytes{0});
    CHECK(numa.at(1).total == Bytes{2097152});
    CHECK_FALSE(numa.at(1).huge_2mi.has_value());
  }

  TEST_CASE("no NUMA folder is none; a damaged number is an error, never a zero") {
    CHECK(read_numa_memory(rooted(FakeTree{})).value().empty());
    for (const char* text : {"Node 0 MemTotal: many kB\n",
                             "Node 0 MemTotal:\n",
                             "Node 0 MemTotal: 99999999999999999999 kB\n"}) {
      CAPTURE(text);
      const FakeTree tree;
      tree.write("sys/devices/system/node/node0/meminfo", text);
      CHECK(read_numa_memory(rooted(tree)).has_error());
    }
    const FakeTree silent;
    silent.write("sys/devices/system/node/node0/meminfo", "Node 0 MemFree: 5 kB\n");
    CHECK_FALSE(read_numa_memory(rooted(silent)).value().at(0).total.has_value());
  }
}
