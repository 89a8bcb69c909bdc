#include "kernel/cpu_info.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

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

TEST_SUITE("kernel/cpu_cache") {
  /// Four CPUs: two threads a core, one L3 for all.
  struct Machine {
    FakeTree tree{{"sys/devices/system/cpu/online", "0-3\n"}};
    Machine() {
      for (int cpu = 0; cpu < 4; ++cpu) {
        const auto core = cpu < 2 ? "0-1\n" : "2-3\n";
        add(cpu, 0, 1, "Data", "48K", core, cpu / 2);
        add(cpu, 1, 1, "Instruction", "32K", core, cpu / 2);
        add(cpu, 2, 3, "Unified", "266240K", "0-3\n", 8);
      }
    }
    void add(int cpu,
             int index,
             int level,
             const char* type,
             const char* size,
             const char* shared,
             int id) const {
      const auto folder = fmt::format("sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
      tree.write(folder + "level", fmt::format("{}\n", level));
      tree.write(folder + "type", fmt::format("{}\n", type));
      tree.write(folder + "size", fmt::format("{}\n", size));
      tree.write(folder + "shared_cpu_list", shared);
      tree.write(folder + "id", fmt::format("{}\n", id));
    }
    void damage(const char* file, const char* text) const {
      tree.write(fmt::format("sys/devices/system/cpu/cpu2/cache/index0/{}", file), text);
    }
  };

  TEST_CASE("each cache once, with its size, its CPUs and the id that resctrl uses") {
    const Machine m;
    const auto caches = read_caches(rooted(m.tree)).value();
    REQUIRE(caches.size() == 5);  // two L1d, two L1i, one L3
    CHECK(caches[0].level == 1);
    CHECK(caches[0].type == CacheType::kData);
    CHECK(caches[0].size == Bytes{49'152});
    CHECK(caches[0].cpus == CpuSet::range(0, 1));
    CHECK(caches[1].cpus == CpuSet::range(2, 3));
    CHECK(caches[1].id == 1);
    CHECK(caches[2].type == CacheType::kInstruction);
    CHECK(caches[4].level == 3);
    CHECK(caches[4].size == Bytes{272'629'760});
    CHECK(caches[4].cpus == CpuSet::range(0, 3));
    CHECK(caches[4].id == 8);  // ids need not start at 0
  }

  TEST_CASE("CPUs that are offline share nothing") {
    const Machine m;
    m.tree.write("sys/devices/system/cpu/online", "0,2-3\n");
    const auto caches = read_caches(rooted(m.tree)).value();
    CHECK(caches.front().cpus == CpuSet::range(0, 0));
    CHECK(caches.back().cpus.count() == 3);
  }

  TEST_CASE("row 16: a machine without L3, without ids, or without caches at all") {
    const Machine m;
    for (int cpu = 0; cpu < 4; ++cpu) {
      m.tree.remove(fmt::format("sys/devices/system/cpu/cpu{}/cache/index2", cpu));
      m.tree.remove(fmt::format("sys/devices/system/cpu/cpu{}/cache/index0/id", cpu));
    }
    const auto caches = read_caches(rooted(m.tree)).value();
    REQUIRE(caches.size() == 4);
    CHECK_FALSE(caches[0].id.has_value());
    const FakeTree bare{{"sys/devices/system/cpu/online", "0\n"}};
    CHECK(read_caches(rooted(bare)).value().empty());
  }

  TEST_CASE("damaged files are named; a size that is not there is no size of 0") {
    for (const auto& [file, text] : {std::pair{"level", "one\n"},
                                     std::pair{"type", "Magic\n"},
                                     std::pair{"size", "big\n"},
                                     std::pair{"size", "K\n"},
                                     std::pair{"size", "99999999999999999999K\n"},
                                     std::pair{"shared_cpu_list", "2-\n"},
                                     std::pair{"id", "-1\n"}}) {
      const Machine m;
      m.damage(file, text);
      const auto caches = read_caches(rooted(m.tree));
      CAPTURE(text);
      REQUIRE(caches.has_error());
      CHECK(caches.error().code == Errc::kParse);
      CHECK(caches.error().context.find(file) != std::string::npos);
    }
    const Machine m;
    m.tree.remove("sys/devices/system/cpu/cpu2/cache/index0/size");
    m.tree.remove("sys/devices/system/cpu/cpu3/cache/index0/size");
    const auto caches = read_caches(rooted(m.tree)).value();
    CHECK(caches.size() == 4);  // the second core's L1d is unknown, its other caches are not
    for (const auto& cache : caches) CHECK(cache.size.v > 0);
    CHECK(read_caches(rooted(FakeTree{})).error().code == Errc::kNotFound);
  }

  TEST_CASE("SMT is on, off or unknown") {
    const FakeTree tree;
    CHECK_FALSE(read_smt_active(rooted(tree)).has_value());
    tree.write("sys/devices/system/cpu/smt/active", "1\n");
    CHECK(read_smt_active(rooted(tree)) == true);
    tree.write("sys/devices/system/cpu/smt/active", "0\n");
    CHECK(read_smt_active(rooted(tree)) == false);
    tree.write("sys/devices/system/cpu/smt/active", "perhaps\n");
    CHECK_FALSE(read_smt_active(rooted(tree)).has_value());
  }
}
