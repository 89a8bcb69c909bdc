#include "kernel/task_sched_stat.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;
using namespace std::chrono_literals;

namespace {

const CgroupPath kPod = CgroupPath::parse("pod").value();

struct Host {
  FakeTree tree{{"cpu/pod/tasks", "7\n8\n"},
                {"pod/cgroup.threads", "7\n8\n"},
                {"proc/7/schedstat", "100 10 1\n"},
                {"proc/8/schedstat", "200 20 2\n"}};
  HostRoots roots() const {
    HostRoots out;
    out.cgroup = tree.root();
    out.proc = tree.path("proc");
    return out;
  }
};

TEST_SUITE("task_sched_stat") {
  TEST_CASE("run, wait, slices") {
    const auto s = parse_sched_stat("123 45 6\n");
    REQUIRE(s.has_value());
    CHECK(s->run_ns == 123);
    CHECK(s->wait_ns == 45);
    CHECK(s->slices == 6);
    for (const char* text : {"", "1 2\n", "1 2 x\n", "-1 2 3\n"}) {
      CAPTURE(text);
      CHECK(parse_sched_stat(text).error().code == Errc::kParse);
    }
  }
  TEST_CASE("the sum over all threads, v1 and v2 alike") {
    const Host host;
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      TaskSchedStats stats{host.roots(), version};
      const auto sum = stats.read(kPod);
      REQUIRE(sum.has_value());
      CHECK(sum->run == 300ns);
      CHECK(sum->wait == 30ns);
      CHECK(sum->dispatches == 3);
      CHECK_FALSE(sum->slots);
    }
  }
  TEST_CASE("pitfall 52: a thread that ended stays in the sum, its reused id starts anew") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    REQUIRE(stats.read(kPod).has_value());
    host.tree.write("proc/7/schedstat", "5 1 1\n");  // another thread 7
    const auto reused = stats.read(kPod);
    CHECK(reused->run == 305ns);
    CHECK(reused->wait == 31ns);
    host.tree.write("pod/cgroup.threads", "8\n");  // 7 ended
    CHECK(stats.read(kPod)->run == 305ns);
    host.tree.write("pod/cgroup.threads", "7\n8\n");
    host.tree.write("proc/7/schedstat", "2 0 1\n");  // and was reused once more
    CHECK(stats.read(kPod)->run == 307ns);
  }
  TEST_CASE("a thread that ends between the list and its file is skipped") {
    const Host host;
    std::filesystem::remove(host.tree.path("proc/8/schedstat"));
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    CHECK(stats.read(kPod)->run == 100ns);
  }
  TEST_CASE("a cgroup that is gone is an error, not a sum of zero") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV1};
    CHECK(stats.read(CgroupPath::parse("none").value()).error().code == Errc::kNotFound);
  }
  TEST_CASE("a damaged schedstat is an error that names the thread") {
    const Host host;
    host.tree.write("proc/8/schedstat", "x\n");
    TaskSchedStats stats{host.roots(), CgroupVersion::kV1};
    const auto sum = stats.read(kPod);
    REQUIRE(sum.has_error());
    CHECK(sum.error().context.find("thread 8") != std::string::npos);
  }
}

}  // namespace
