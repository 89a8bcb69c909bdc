#include <array>
#include <chrono>
#include <fcntl.h>
#include <perfmon/pfmlib_perf_event.h>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernel/perf_group.hpp"
#include "kernel/perf_group_events.hpp"
#include "perf_kit.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using namespace koordlet::test;

TEST_SUITE("live/perf_group") {
  TEST_CASE("a busy cgroup counts, an idle one counts 0, and a parent counts its descendants") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    auto parent = PerfGroup::open(cgroups.path("busy"), kSoftware, online());
    auto busy = PerfGroup::open(cgroups.path("busy/inner"), kSoftware, online());
    auto idle = PerfGroup::open(cgroups.path("idle"), kSoftware, online());
    for (const auto* group : {&parent, &busy, &idle}) {
      CAPTURE(group->has_error() ? group->error().context : "");
      REQUIRE(group->has_value());
      CHECK((*group)->open_files() == 4 * static_cast<std::size_t>(online().count()));
    }
    REQUIRE(cgroups.work_in("busy/inner"));
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{20}));  // it is in its cgroup
    const auto before = cgroups.child_time();
    for (auto* group : {&parent, &busy, &idle}) REQUIRE((*group)->start().has_value());
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{100}));
    const auto parent_counts = (*parent).stop_and_read();
    const auto counts = (*busy).stop_and_read();
    const auto nothing = (*idle).stop_and_read();
    const auto most = static_cast<double>((cgroups.child_time() - before).count());
    REQUIRE(counts.has_value());
    REQUIRE(nothing.has_value());
    REQUIRE(parent_counts.has_value());
    const double clock = counts->values.at(0).value(), switches = counts->values.at(1).value();
    const double faults = counts->values.at(2).value();
    // The kernel's own count of the same time: both see the child alone.
    CHECK(clock > most / 2);
    CHECK(clock < most * 1.2 + 20e6);
    CHECK(switches > 0);
    CHECK(faults >= 16);
    CHECK(counts->values.at(3).value() >= 0);
    CHECK(parent_counts->values.at(2).value() >= faults / 2);
    for (const auto& value : nothing->values) CHECK(value == 0.0);
    MESSAGE(fmt::format("{:.1f} ms on a CPU: task-clock {:.1f} ms, {:.0f} switches, {:.0f} faults",
                        most / 1e6,
                        clock / 1e6,
                        switches,
                        faults));
  }
  TEST_CASE("the bytes of a real group read decode: ids of the kernel, time enabled and running") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    REQUIRE(cgroups.work_in("busy"));
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{20}));
    const Fd directory{::open(cgroups.path("busy").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    double enabled = 0, clock = 0;
    std::vector<std::vector<Fd>> groups;
    const auto cpus = online();
    for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
      if (!cpus.contains(cpu)) continue;
      auto group = open_perf_group(kSoftware, {directory.get(), cpu, true}, "");
      REQUIRE(group.has_value());
      groups.push_back(std::move(*group));
      REQUIRE(::ioctl(groups.back()[0].get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0);
    }
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{100}));
    for (const auto& group : groups) {
      REQUIRE(::ioctl(group[0].get(), PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) == 0);
      std::array<std::byte, 1024> bytes;
      const auto n = ::read(group[0].get(), bytes.data(), bytes.size());
      CHECK(n == 24 + 16 * 4);
      const auto r = parse_perf_group(std::span{bytes}.first(static_cast<std::size_t>(n)));
      REQUIRE(r.has_value());
      REQUIRE(r->values.size() == 4);
      for (std::size_t i = 0; i < group.size(); ++i) {
        std::uint64_t id = 0;
        REQUIRE(::ioctl(group[i].get(), PERF_EVENT_IOC_ID, &id) == 0);
        CHECK(r->values[i].id == id);
      }
      CHECK(r->running_ns == r->enabled_ns);  // software events share no counters
      for (std::size_t cut = 0; cut < static_cast<std::size_t>(n); ++cut)
        CHECK(parse_perf_group(std::span{bytes}.first(cut)).has_error());
      enabled += static_cast<double>(r->enabled_ns);
      clock += static_cast<double>(r->values[0].value);
    }
    // Time only passes for the group while a task of the cgroup is on the CPU.
    CHECK(enabled > 50e6);
    CHECK(clock > enabled * 0.8);
    CHECK(clock < enabled * 1.2);
  }
  TEST_CASE("only the CPUs asked for are counted") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    KOORDLET_SKIP_UNLESS(online().contains(0) && online().contains(1), "one CPU");
    REQUIRE(cgroups.work_in("busy"));
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{20}));
    auto zero = PerfGroup::open(cgroups.path("busy"), kSoftware, CpuSet::range(0, 0));
    auto one = PerfGroup::open(cgroups.path("busy"), kSoftware, CpuSet::range(1, 1));
    REQUIRE(zero.has_value());
    REQUIRE(one.has_value());
    CHECK(zero->open_files() == 4);
    CHECK(cgroups.pin(1));
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{10}));
    REQUIRE(zero->start().has_value());
    REQUIRE(one->start().has_value());
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{30}));
    CHECK(zero->stop_and_read()->values.at(0) == 0.0);
    CHECK(one->stop_and_read()->values.at(0).value() > 0);
  }
  TEST_CASE("a second window starts at 0") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    REQUIRE(cgroups.work_in("busy"));
    auto group = PerfGroup::open(cgroups.path("busy"), kSoftware, online());
    REQUIRE(group.has_value());
    REQUIRE(group->start().has_value());
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{50}));
    CHECK(group->stop_and_read()->values.at(0).value() > 0);
    cgroups.stop();
    REQUIRE(group->start().has_value());
    CHECK(group->stop_and_read()->values.at(1) == 0.0);
  }
  TEST_CASE("a cgroup removed while its group is open is read once more; afterwards it is gone") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    auto group = PerfGroup::open(cgroups.path("idle"), kSoftware, online());
    REQUIRE(group.has_value());
    REQUIRE(group->start().has_value());
    cgroups.remove("idle");
    CHECK(group->stop_and_read()->values.at(0) == 0.0);
    const auto again = PerfGroup::open(cgroups.path("idle"), kSoftware, online());
    REQUIRE(again.has_error());
    CHECK(again.error().code == Errc::kGone);
  }
}

TEST_SUITE("live/perf_group failures") {
  TEST_CASE("nothing stays open after a failure on the second event, or on the second CPU") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    const auto before = open_files();
    const auto name =
        PerfGroup::open(cgroups.path("busy"), {{"task-clock"}, {"no-such-event"}}, online());
    REQUIRE(name.has_error());
    CHECK(name.error().code == Errc::kNotFound);
    CHECK(open_files() == before);
    auto cpus = online();
    cpus.add(CpuSet::kMaxCpus - 1);
    const auto cpu = PerfGroup::open(cgroups.path("busy"), kSoftware, cpus);
    REQUIRE(cpu.has_error());
    CHECK(cpu.error().context.find("'task-clock' on CPU 4095") != std::string::npos);
    CHECK(open_files() == before);
  }
  TEST_CASE("no descriptors left is busy, and gives back those it got") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    const auto before = open_files();
    // The first number that is free, then room for the directory and two events.
    const Fd next{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    struct rlimit old {};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
    struct rlimit tight = old;
    tight.rlim_cur = static_cast<rlim_t>(next.get()) + 4;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    const auto r = PerfGroup::open(cgroups.path("busy"), kSoftware, online());
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kBusy);
    CHECK(r.error().context.find("on CPU") != std::string::npos);
    CHECK(open_files() == before + 1);  // `next`
  }
  TEST_CASE("a folder that is no cgroup is invalid") {
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    const FakeTree tree;
    const auto r = PerfGroup::open(tree.root(), kSoftware, online());
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kInvalid);
    CHECK(r.error().context.find("task-clock") != std::string::npos);
  }
  TEST_CASE("without rights it is denied") {
    KOORDLET_SKIP_UNLESS(::geteuid() == 0 && paranoid() >= 2, "needs root and paranoid >= 2");
    const auto child = ::fork();
    if (child == 0) {
      if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
      const auto r = probe_perf_events(kSoftware);
      ::_exit(r.has_error() && r.error().code == Errc::kDenied ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  TEST_CASE("38: 10000 windows, and 1000 groups opened and closed, leave no descriptor") {
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    KOORDLET_SKIP_UNLESS(probe_perf_events(kSoftware), "perf events are not allowed");
    const auto before = open_files();
    {
      auto group = PerfGroup::open(cgroups.path("idle"), kSoftware, online());
      REQUIRE(group.has_value());
      const auto with_group = open_files();
      int failed = 0;
      for (int i = 0; i < 10'000; ++i) {
        if (!group->start() || !group->stop_and_read()) ++failed;
      }
      CHECK(failed == 0);
      CHECK(open_files() == with_group);
    }
    for (int i = 0; i < 1000; ++i)
      REQUIRE(PerfGroup::open(cgroups.path("idle"), kSoftware, online()).has_value());
    CHECK(open_files() == before);
  }
}

TEST_SUITE("live/perf_group hardware") {
  TEST_CASE("without a PMU the counters are not found, and nothing is opened") {
    KOORDLET_SKIP_UNLESS(!has_pmu(), "this machine has a PMU");
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    const auto before = open_files();
    for (const auto& events :
         {interference_events(HostRoots{}), std::vector<PerfEventSpec>{{"cycles"}}}) {
      const auto probe = probe_perf_events(events);
      REQUIRE(probe.has_error());
      CHECK(probe.error().code == Errc::kNotFound);
      const auto group = PerfGroup::open(cgroups.path("busy"), events, online());
      REQUIRE(group.has_error());
      CHECK(group.error().code == Errc::kNotFound);
      CHECK(group.error().context.find(events[0].name) != std::string::npos);
    }
    CHECK(open_files() == before);
  }
  TEST_CASE("with a PMU a busy cgroup has a CPI") {
    KOORDLET_SKIP_UNLESS(has_pmu(), "this machine has no PMU");
    const auto events = interference_events(HostRoots{});
    KOORDLET_SKIP_UNLESS(probe_perf_events(events), "the PMU does not count these events");
    PerfCgroups cgroups;
    KOORDLET_SKIP_UNLESS(cgroups.usable(), "no cgroups with perf_event can be made");
    REQUIRE(cgroups.work_in("busy"));
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{20}));
    auto group = PerfGroup::open(cgroups.path("busy"), events, online());
    REQUIRE(group.has_value());
    REQUIRE(group->start().has_value());
    REQUIRE(cgroups.let_work(std::chrono::milliseconds{200}));
    const auto counts = group->stop_and_read();
    REQUIRE(counts.has_value());
    const double cycles = counts->values.at(0).value(), instructions = counts->values.at(1).value();
    CHECK(instructions > 0);
    CHECK(cycles / instructions > 0.05);
    CHECK(cycles / instructions < 50);
  }
}
