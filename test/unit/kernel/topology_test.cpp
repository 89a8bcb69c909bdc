#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernel/procfs.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using test::FakeTree;

namespace {

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.sys = tree.root();
  return roots;
}

void add_cpu(const FakeTree& tree, int cpu, int core, int socket) {
  const auto folder = fmt::format("devices/system/cpu/cpu{}/topology/", cpu);
  tree.write(folder + "core_id", fmt::format("{}\n", core));
  tree.write(folder + "physical_package_id", fmt::format("{}\n", socket));
}
void add_node(const FakeTree& tree, int node, std::string_view cpus) {
  tree.write(fmt::format("devices/system/node/node{}/cpulist", node), cpus);
}
void set_online(const FakeTree& tree, std::string_view cpus) {
  tree.write("devices/system/cpu/online", cpus);
}

}  // namespace

TEST_SUITE("topology") {
  TEST_CASE("two sockets of two cores with SMT: siblings share a core, sockets never do") {
    const FakeTree tree;
    set_online(tree, "0-7\n");
    for (int cpu = 0; cpu < 8; ++cpu) add_cpu(tree, cpu, cpu % 2, cpu / 2 % 2);
    add_node(tree, 0, "0-1,4-5\n");
    add_node(tree, 1, "2-3,6-7\n");
    const auto cpus = read_topology(rooted(tree)).value();
    REQUIRE(cpus.size() == 8);
    for (int cpu = 0; cpu < 8; ++cpu) {
      const auto& info = cpus[static_cast<std::size_t>(cpu)];
      CAPTURE(cpu);
      CHECK(info.cpu == cpu);
      CHECK(info.core == cpu % 4);  // cpu and cpu+4 are siblings; core_id 0 and 1 repeat per socket
      CHECK(info.socket == cpu / 2 % 2);
      CHECK(info.numa == cpu / 2 % 2);
    }
  }

  TEST_CASE("dies number their cores anew") {
    const FakeTree tree;
    set_online(tree, "0-1\n");
    for (int cpu = 0; cpu < 2; ++cpu) {
      add_cpu(tree, cpu, 0, 0);
      tree.write(fmt::format("devices/system/cpu/cpu{}/topology/die_id", cpu),
                 fmt::format("{}\n", cpu));
    }
    const auto cpus = read_topology(rooted(tree)).value();
    CHECK(cpus[0].core != cpus[1].core);
  }

  TEST_CASE("offline CPUs are left out") {
    const FakeTree tree;
    set_online(tree, "0,2-3\n");
    for (int cpu = 0; cpu < 4; ++cpu) add_cpu(tree, cpu, cpu, 0);
    const auto cpus = read_topology(rooted(tree)).value();
    REQUIRE(cpus.size() == 3);
    CHECK(cpus[0].cpu == 0);
    CHECK(cpus[1].cpu == 2);
    CHECK(cpus[2].cpu == 3);
  }

  TEST_CASE("missing topology and -1 read as 0") {
    const FakeTree tree;
    set_online(tree, "0-1\n");
    tree.write("devices/system/cpu/cpu1/topology/physical_package_id", "-1\n");
    const auto cpus = read_topology(rooted(tree)).value();
    REQUIRE(cpus.size() == 2);
    for (const auto& info : cpus) {
      CHECK(info.core == 0);
      CHECK(info.socket == 0);
      CHECK(info.numa == 0);
    }
  }

  TEST_CASE("row 17: NUMA ids with gaps, memory-only nodes and foreign entries") {
    const FakeTree tree{{"devices/system/node/has_generic_initiator", "2\n"},
                        {"devices/system/node/online", "0,2,8\n"},
                        {"devices/system/node/nodeX/cpulist", "0\n"}};
    set_online(tree, "0-1\n");
    for (int cpu = 0; cpu < 2; ++cpu) add_cpu(tree, cpu, cpu, 0);
    add_node(tree, 0, "0\n");
    add_node(tree, 2, "\n");
    add_node(tree, 8, "1\n");
    tree.mkdir("devices/system/node/node9");
    const auto cpus = read_topology(rooted(tree)).value();
    REQUIRE(cpus.size() == 2);
    CHECK(cpus[0].numa == 0);
    CHECK(cpus[1].numa == 8);
  }

  TEST_CASE("without the list of online CPUs there is no topology") {
    const FakeTree tree;
    CHECK(read_topology(rooted(tree)).error().code == Errc::kNotFound);
  }

  TEST_CASE("damaged files are kParse and named") {
    const FakeTree tree;
    set_online(tree, "0-x\n");
    CHECK(read_topology(rooted(tree)).error().code == Errc::kParse);
    set_online(tree, "0\n");
    tree.write("devices/system/cpu/cpu0/topology/core_id", "abc\n");
    const auto core = read_topology(rooted(tree));
    REQUIRE(core.has_error());
    CHECK(core.error().code == Errc::kParse);
    CHECK(core.error().context.find("core_id") != std::string::npos);
    tree.write("devices/system/cpu/cpu0/topology/core_id", "0\n");
    add_node(tree, 0, "zero\n");
    CHECK(read_topology(rooted(tree)).error().code == Errc::kParse);
  }
}
