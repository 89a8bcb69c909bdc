#include "kernel/numa.hpp"

#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernel/cgroup_counters.hpp"
#include "kernel/procfs.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

std::string meminfo(int node, long free_kb) {
  return fmt::format(
      "Node {0} MemTotal:       131072000 kB\n"
      "Node {0} MemFree:        {1} kB\n"
      "Node {0} MemUsed:        5 kB\n"
      "Node {0} Active(file):   15000000 kB\n"
      "Node {0} Inactive(file): 25000000 kB\n"
      "Node {0} SReclaimable:   3000000 kB\n",
      node,
      free_kb);
}

TEST_SUITE("numa") {
  TEST_CASE("T7: used is total less free, file pages and reclaimable slabs") {
    const auto use = parse_numa_use(0, meminfo(0, 20'000'000));
    REQUIRE(use.has_value());
    CHECK(use->used == Bytes{69'705'728'000});
    CHECK(use->total == Bytes{131'072'000LL * 1024});
  }
  TEST_CASE("never below 0") {
    CHECK(parse_numa_use(0, meminfo(0, 131'000'000)).value().used == Bytes{0});
  }
  TEST_CASE("a missing line or a wrong unit is refused") {
    auto text = meminfo(0, 1);
    CHECK(parse_numa_use(0, text.substr(0, text.rfind("Node"))).error().code == Errc::kParse);
    CHECK(parse_numa_use(0, "Node 0 MemTotal: 5 MB\n").error().code == Errc::kParse);
    CHECK(parse_numa_use(0, "Node 0 MemTotal: -5 kB\n").error().code == Errc::kParse);
    CHECK(parse_numa_use(0, "").error().code == Errc::kParse);
    CHECK(parse_numa_use(0, meminfo(1, 1)).error().code == Errc::kParse);  // another node's
    text = meminfo(0, 1);
    CHECK(parse_numa_use(0, text.substr(0, text.size() - 5)).error().code == Errc::kParse);
  }
  TEST_CASE("nodes keep their gaps, one without memory information is left out") {
    const FakeTree t{{"sys/bus/node/devices/node0/meminfo", meminfo(0, 20'000'000)},
                     {"sys/bus/node/devices/node3/meminfo", meminfo(3, 30'000'000)},
                     {"sys/bus/node/devices/node2/cpulist", "\n"},
                     {"sys/bus/node/devices/power/x", ""}};
    HostRoots roots;
    roots.sys = t.path("sys");
    const auto all = read_numa_use(roots);
    REQUIRE(all.has_value());
    REQUIRE(all->size() == 2);
    CHECK(all->at(0).node == 0);
    CHECK(all->at(1).node == 3);
    roots.sys = t.path("nowhere");
    CHECK(read_numa_use(roots).error().code == Errc::kNotFound);
  }
  TEST_CASE("CPU lines: used columns of each CPU; idle, iowait, steal and guest left out") {
    const auto cpus = parse_cpu_lines(
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 200 4 5 6 7 8\ncpu12 1 0 0 0 0 0 0\nintr 1\n");
    REQUIRE(cpus.has_value());
    CHECK(*cpus == std::map<int, std::uint64_t>{{0, 15}, {12, 1}});
    CHECK(parse_cpu_lines("cpu 1 2 3 4 5 6 7\n").error().code == Errc::kParse);
    CHECK(parse_cpu_lines("cpu0 1 2 3\n").error().code == Errc::kParse);
    CHECK(parse_cpu_lines("cpu0 1 2 3 4 5 6 x\n").error().code == Errc::kParse);
    CHECK(parse_cpu_lines("cpux 1 2 3 4 5 6 7\n").error().code == Errc::kParse);
    CHECK(parse_cpu_lines("").error().code == Errc::kParse);
    CHECK(parse_cpu_lines("cpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7").error().code == Errc::kParse);
  }
  TEST_CASE("a reading of stat that failed leaves no CPU lines of an older moment") {
    const FakeTree t{{"stat", "cpu 1 1 1 1 1 1 1 0\ncpu0 1 1 1 1 1 1 1 0\nintr 5 5\n"}};
    HostRoots roots;
    roots.proc = t.root();
    ProcFs proc{roots};
    REQUIRE(proc.stat().has_value());
    t.write("stat", "cpu 1 1 1 1 1 1 x\ncpu0 1 1 1 1 1 1 1 0\nintr 5 5\n");
    CHECK(proc.stat().has_error());
    CHECK(proc.cpu_lines().error().code == Errc::kNotFound);
  }
  TEST_CASE("ProcFs gives the CPU lines of its last reading, and none before") {
    const FakeTree t{{"stat", "cpu 1 1 1 1 1 1 1 0\ncpu0 1 1 1 1 1 1 1 0\nintr 5 5\n"}};
    HostRoots roots;
    roots.proc = t.root();
    ProcFs proc{roots};
    CHECK(proc.cpu_lines().error().code == Errc::kNotFound);
    REQUIRE(proc.stat().has_value());
    CHECK(proc.cpu_lines().value() == std::map<int, std::uint64_t>{{0, 5}});
  }
  TEST_CASE("a v1 cgroup by its hierarchical line, in pages of the kernel's size") {
    const char* text =
        "total=10 N0=6 N1=4\nfile=1 N0=1 N1=0\nhierarchical_total=700 N0=600 N1=100\n";
    CHECK(parse_cgroup_numa_v1(text, 4096).value() ==
          std::map<int, Bytes>{{0, Bytes{600 * 4096}}, {1, Bytes{100 * 4096}}});
    CHECK(parse_cgroup_numa_v1(text, 65536).value().at(1) == Bytes{100 * 65536});
    CHECK(parse_cgroup_numa_v1("total=1 N0=1\n", 4096).error().code == Errc::kParse);
    for (const char* bad : {"hierarchical_total=1 N0=x\n",
                            "hierarchical_total=1\n",
                            "hierarchical_total=1 N0\n",
                            "hierarchical_total=1 N=1\n",
                            "hierarchical_total=1 N0=-1\n",
                            "hierarchical_total=1 N0=99999999999999999\n",
                            "hierarchical_total=10 N0=1",
                            ""}) {
      CAPTURE(bad);
      CHECK(parse_cgroup_numa_v1(bad, 4096).error().code == Errc::kParse);
    }
  }
  TEST_CASE("a v2 cgroup: anon and file in bytes, other lines left alone") {
    CHECK(parse_cgroup_numa_v2("anon N0=100 N1=1\nkernel_stack N0=9\nfile N0=20 N1=2\n").value() ==
          std::map<int, Bytes>{{0, Bytes{120}}, {1, Bytes{3}}});
    for (const char* bad : {"anon N0=100\n",
                            "file N0=100\n",
                            "anon\nfile N0=1\n",
                            "anon N0=1 N1=1\nfile N0=1\n",
                            "anon N0=1\nfile N1=1\n",
                            "anon N0=100\nfile N0=1",
                            ""}) {
      CAPTURE(bad);
      CHECK(parse_cgroup_numa_v2(bad).error().code == Errc::kParse);
    }
  }
  TEST_CASE(
      "10.3: a pod's memory is in its containers: the hierarchical line counts, not the first") {
    const FakeTree t{
        {"memory/pod/memory.numa_stat", "total=0 N0=0 N2=0\nhierarchical_total=30 N0=10 N2=20\n"},
        {"pod/memory.numa_stat", "anon N0=4096 N2=0\nfile N0=4096 N2=8192\n"}};
    HostRoots roots;
    roots.cgroup = t.root();
    const auto pod = CgroupPath::parse("pod").value();
    const auto page = ::sysconf(_SC_PAGESIZE);
    CgroupCounters v1{roots, CgroupVersion::kV1}, v2{roots, CgroupVersion::kV2};
    CHECK(v1.numa(pod).value() ==
          std::map<int, Bytes>{{0, Bytes{10 * page}}, {2, Bytes{20 * page}}});
    CHECK(v2.numa(pod).value() == std::map<int, Bytes>{{0, Bytes{8192}}, {2, Bytes{8192}}});
    CHECK(v1.numa(CgroupPath::parse("gone").value()).error().code == Errc::kNotFound);
    t.write("pod/memory.numa_stat", "anon N0=4096\n");
    CHECK(v2.numa(pod).error().code == Errc::kParse);
    t.remove("pod/memory.numa_stat");
    t.write("pod/cpu.stat", "usage_usec 1\n");  // no memory controller here
    CHECK(v2.numa(pod).error().code == Errc::kNotSupported);
  }
  TEST_CASE("row 17: a generic initiator and a node of CPUs alone are no nodes with memory") {
    const FakeTree t{{"sys/bus/node/devices/node0/meminfo", meminfo(0, 20'000'000)},
                     {"sys/bus/node/devices/node1/meminfo",
                      "Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB\nNode 1 Active(file): 0 kB\n"
                      "Node 1 Inactive(file): 0 kB\nNode 1 SReclaimable: 0 kB\n"},
                     {"sys/bus/node/devices/node2/meminfo", "of no use\n"},
                     {"sys/devices/system/node/has_memory", "0\n"},
                     {"sys/devices/system/node/has_generic_initiator", "2\n"}};
    HostRoots roots;
    roots.sys = t.path("sys");
    const auto nodes = read_numa_use(roots).value();
    REQUIRE(nodes.size() == 1);
    CHECK(nodes[0].node == 0);
    t.write("sys/devices/system/node/has_generic_initiator", "\n");
    CHECK(read_numa_use(roots).error().code == Errc::kParse);
  }
}

}  // namespace
