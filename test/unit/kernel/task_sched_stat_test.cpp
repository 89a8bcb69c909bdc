#include "kernel/task_sched_stat.hpp"

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/few_descriptors.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;
using koordlet::test::FewDescriptors;
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
    const auto reused = stats.read(kPod).value();
    CHECK(reused.run == 305ns);
    CHECK(reused.wait == 31ns);
    host.tree.write("pod/cgroup.threads", "8\n");  // 7 ended
    CHECK(stats.read(kPod).value().run == 305ns);
    host.tree.write("pod/cgroup.threads", "7\n8\n");
    host.tree.write("proc/7/schedstat", "2 0 1\n");  // and was reused once more
    CHECK(stats.read(kPod).value().run == 307ns);
  }
  TEST_CASE("row 52: thread 7 ran 100 and exits, a new thread 7 ran 5: 105, seen gone or not") {
    for (const bool seen_gone : {true, false}) {
      CAPTURE(seen_gone);
      const FakeTree tree{{"pod/cgroup.threads", "7\n"}, {"proc/7/schedstat", "100 0 1\n"}};
      HostRoots roots;
      roots.cgroup = tree.root();
      roots.proc = tree.path("proc");
      TaskSchedStats stats{roots, CgroupVersion::kV2};
      CHECK(stats.read(kPod).value().run == 100ns);
      if (seen_gone) {
        tree.write("pod/cgroup.threads", "");
        CHECK(stats.read(kPod).value().run == 100ns);
        tree.write("pod/cgroup.threads", "7\n");
      }
      tree.write("proc/7/schedstat", "5 0 1\n");
      CHECK(stats.read(kPod).value().run == 105ns);
      CHECK(stats.read(kPod).value().run == 105ns);
    }
  }
  TEST_CASE("a thread that ends between the list and its file is skipped") {
    const Host host;
    host.tree.remove("proc/8");
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    CHECK(stats.read(kPod).value().run == 100ns);
  }
  TEST_CASE("a cgroup that is gone is an error, not a sum of zero") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV1};
    CHECK(stats.read(CgroupPath::parse("none").value()).error().code == Errc::kNotFound);
  }
  TEST_CASE("a damaged schedstat is an error that names the file, and leaves the sum as it was") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV1};
    CHECK(stats.read(kPod).value().run == 300ns);
    host.tree.write("proc/7/schedstat", "5 1 1\n");  // reused meanwhile
    host.tree.write("proc/8/schedstat", "x\n");
    for (int i = 0; i < 3; ++i) {
      const auto sum = stats.read(kPod);
      REQUIRE(sum.has_error());
      CHECK(sum.error().code == Errc::kParse);
      CHECK(sum.error().context.find("proc/8/schedstat") != std::string::npos);
    }
    host.tree.write("proc/8/schedstat", "201 20 3\n");
    CHECK(stats.read(kPod).value().run == 306ns);  // 100 of the old 7, 5 of the new one, 201
  }
  TEST_CASE("out of descriptors: an error, and no thread counts as ended") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    CHECK(stats.read(kPod).value().run == 300ns);
    Errc code{};
    {
      const FewDescriptors none{0};
      const auto sum = stats.read(kPod);
      if (!sum) code = sum.error().code;
    }
    CHECK(code == Errc::kBusy);
    CHECK(stats.read(kPod).value().run == 300ns);
  }
  TEST_CASE("a list or a schedstat that is cut is refused, not taken for a shorter number") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    host.tree.write("proc/8/schedstat", "200 20 2");
    CHECK(stats.read(kPod).error().code == Errc::kParse);
    host.tree.write("proc/8/schedstat", "200 20 2\n");
    host.tree.write("pod/cgroup.threads", "8\n7");
    CHECK(stats.read(kPod).error().code == Errc::kParse);
    host.tree.write("pod/cgroup.threads", "8\nseven\n");
    CHECK(stats.read(kPod).error().code == Errc::kParse);
  }
  TEST_CASE("threads of a pid namespace that is not seen from here are left out") {
    const Host host;
    host.tree.write("pod/cgroup.threads", "0\n7\n0\n");
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    CHECK(stats.read(kPod).value().run == 100ns);
  }
  TEST_CASE("a kernel without schedstat, or one that counts nothing in it, is kNotSupported") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    host.tree.write("proc/self/schedstat", "0 0 0\n");
    host.tree.write("proc/7/schedstat", "0 0 0\n");
    host.tree.write("proc/8/schedstat", "0 0 0\n");
    CHECK(stats.read(kPod).error().code == Errc::kNotSupported);
    host.tree.write("proc/self/schedstat", "900 0 4\n");  // it counts; these have not run yet
    CHECK(stats.read(kPod).value().run == 0ns);
    host.tree.remove("proc/7/schedstat");  // the thread lives
    CHECK(stats.read(kPod).error().code == Errc::kNotSupported);
  }
  TEST_CASE("no threads: a sum of zero") {
    const Host host;
    host.tree.write("pod/cgroup.threads", "");
    TaskSchedStats stats{host.roots(), CgroupVersion::kV2};
    const auto sum = stats.read(kPod).value();
    CHECK(sum.run == 0ns);
    CHECK(sum.dispatches == 0);
  }
  TEST_CASE("v1 without the cpu hierarchy is kNotSupported; forget starts anew") {
    const Host host;
    TaskSchedStats stats{host.roots(), CgroupVersion::kV1};
    CHECK(stats.read(kPod).value().run == 300ns);
    host.tree.write("cpu/pod/tasks", "8\n");
    CHECK(stats.read(kPod).value().run == 300ns);
    stats.forget(kPod);
    CHECK(stats.read(kPod).value().run == 200ns);
    host.tree.remove("cpu");
    CHECK(stats.read(kPod).error().code == Errc::kNotSupported);
  }
}

}  // namespace
