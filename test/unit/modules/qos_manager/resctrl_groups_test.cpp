#include "modules/qos_manager/resctrl_groups.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "kernel/resctrl_control.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

kernel::HostRoots roots_of(const FakeTree& tree) {
  return {tree.path("cg"), tree.path("proc"), tree.path("sys"), tree.path("dev")};
}
CgroupPath at(std::string_view text) { return CgroupPath::parse(text).value(); }

const std::string kRoot = "sys/fs/resctrl/";
const std::string kPod = "cg/kubepods/besteffort/podu1/";

/// Resctrl with one cache domain, and a BE pod with tasks 9 (the pod's own), 10 and 12.
struct Bed {
  FakeTree tree{{kRoot + "schemata", "    MB:0=100\n    L3:0=7ff\n"},
                {kRoot + "tasks", ""},
                {kRoot + "info/L3/cbm_mask", "7ff\n"},
                {kRoot + "info/L3/min_cbm_bits", "2\n"},
                {kRoot + "info/L3/num_closids", "16\n"},
                {kRoot + "info/MB/num_closids", "8\n"},
                {kRoot + "info/MB/bandwidth_gran", "10\n"},
                {kRoot + "info/MB/min_bandwidth", "10\n"},
                {kPod + "cgroup.threads", "9\n"},
                {kPod + "c1/cgroup.threads", "10\n12\n"}};
  boost::asio::io_context io;
  ManualClock clock;
  kernel::CgroupFs fs{roots_of(tree), CgroupVersion::kV2};
  ResctrlGroups groups{roots_of(tree), fs, false, "boot-1"};
  policy::ResctrlWish wish{{{"BE", {at("kubepods/besteffort/podu1")}}}};

  void reconcile(const policy::ResctrlWish& w) { run(io, groups.reconcile(w, false, clock.now())); }
  bool there(const std::string& group) const {
    return std::filesystem::is_directory(tree.path(kRoot + group));
  }
};

}  // namespace

TEST_SUITE("qos_manager/resctrl_groups") {
  TEST_CASE("RES-3: tasks that are there already are not written again") {
    Bed bed;
    bed.tree.write(kRoot + "BE/schemata", "    MB:0=100\n    L3:0=7ff\n");
    bed.tree.write(kRoot + "BE/tasks", "10\n11\n");
    bed.reconcile(bed.wish);
    CHECK(bed.tree.read(kRoot + "BE/tasks") == "10\n11\n9\n12\n");
    // 11 was put there by somebody else, in a group of somebody else.
    CHECK(bed.tree.read(kRoot + "tasks") == "");
    CHECK(bed.groups.moved() == 2);
    REQUIRE(bed.groups.state());
    CHECK(bed.groups.state()->groups == std::set<std::string>{"BE"});
    CHECK(bed.groups.state()->closids == 8);
    CHECK(bed.groups.state()->min_cbm_bits == 2);
  }

  TEST_CASE("a pod that leaves the class takes its tasks back to the root group") {
    Bed bed;
    bed.tree.write(kRoot + "BE/schemata", "    L3:0=7ff\n");
    bed.tree.write(kRoot + "BE/tasks", "11\n");
    bed.reconcile(bed.wish);
    CHECK(bed.groups.moved() == 3);
    auto empty = bed.wish;
    empty.groups["BE"].clear();
    // A plain file keeps what was appended: the kernel's list loses what moved away.
    bed.reconcile(empty);
    CHECK(bed.tree.read(kRoot + "tasks").starts_with("9\n10\n12\n"));
    bed.tree.write(kRoot + "BE/tasks", "11\n");
    bed.reconcile({});
    CHECK(bed.there("BE"));  // not made by koordlet
  }

  TEST_CASE("pitfall 107: own groups go, foreign ones stay, also after a restart") {
    Bed bed;
    bed.tree.mkdir(kRoot + "other");
    bed.reconcile(bed.wish);
    CHECK(bed.there("BE"));
    CHECK(bed.groups.changed());
    CHECK_FALSE(bed.groups.changed());
    ResctrlGroups next{roots_of(bed.tree), bed.fs, false, "boot-1"};
    next.load(bed.groups.text());
    run(bed.io, next.reconcile({}, false, bed.clock.now()));
    CHECK_FALSE(bed.there("BE"));
    CHECK(bed.there("other"));
  }

  TEST_CASE("a group of the same name that was made anew is not koordlet's") {
    Bed bed;
    bed.groups.load("boot-1\nBE 1\n");
    bed.tree.mkdir(kRoot + "BE");
    bed.reconcile({});
    CHECK(bed.there("BE"));
    Bed other;
    other.groups.load("boot-0\nBE 1\nrubbish\n");
    CHECK(other.groups.text() == "boot-1\n");
  }

  TEST_CASE("no resctrl: one fault, looked for again after a minute") {
    const FakeTree tree{{"sys/x", ""}};
    boost::asio::io_context io;
    ManualClock clock;
    kernel::CgroupFs fs{roots_of(tree), CgroupVersion::kV2};
    ResctrlGroups groups{roots_of(tree), fs, false, "b"};
    run(io, groups.reconcile({{{"BE", {}}}}, false, clock.now()));
    CHECK(groups.state() == nullptr);
    CHECK(groups.faults().size() == 1);
    run(io, groups.reconcile({}, false, clock.now()));
    CHECK(groups.faults().empty());
  }
}
