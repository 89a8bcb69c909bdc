#include <thread>

#include <doctest/doctest.h>

#include "kernel/host.hpp"
#include "kernel/procfs.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;

TEST_SUITE("live/kernel_procfs") {
  TEST_CASE("the node's counters read, and never go back") {
    ProcFs proc{HostRoots{}};
    const auto first = proc.stat().value();
    CHECK(first.used > 0);
    CHECK(proc.stat().value().used >= first.used);
    const auto memory = proc.meminfo().value();
    CHECK(memory.total.v > 0);
    CHECK(memory.available.v > 0);
    CHECK(memory.available <= memory.total);
  }

  TEST_CASE("pressure of this kernel") {
    ProcFs proc{HostRoots{}};
    for (const char* resource : {"cpu", "memory", "io"}) {
      const auto psi = proc.pressure(resource);
      if (psi.has_error()) {
        const auto code = psi.error().code;
        REQUIRE((code == Errc::kNotFound || code == Errc::kNotSupported));
        KOORDLET_SKIP_UNLESS(false, "this kernel has no pressure files");
      }
      CHECK(psi->some.total.count() >= 0);
    }
  }

  TEST_CASE("topology holds every online CPU once") {
    const auto cpus = read_topology(HostRoots{}).value();
    REQUIRE_FALSE(cpus.empty());
    CHECK(cpus.size() >= std::thread::hardware_concurrency());
    for (std::size_t i = 1; i < cpus.size(); ++i) CHECK(cpus[i - 1].cpu < cpus[i].cpu);
  }

  TEST_CASE("boot id and cgroup version of this machine") {
    CHECK(read_boot_id(HostRoots{}).value().size() == 36);
    const auto version = detect_cgroup_version(HostRoots{});
    KOORDLET_SKIP_UNLESS(version.has_value(), "no cgroup tree is mounted");
    CHECK((*version == CgroupVersion::kV1 || *version == CgroupVersion::kV2));
  }
}
