#include "kernel/resctrl_control.hpp"

#include <doctest/doctest.h>

#include "kernel/core_sched.hpp"
#include "kernel/mountinfo_options.hpp"
#include "support/fake_tree.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

HostRoots roots_of(const FakeTree& tree) {
  return {tree.path("cg"), tree.path("proc"), tree.path("sys"), tree.path("dev")};
}

const std::string kRoot = "sys/fs/resctrl/";
using Ids = std::vector<int>;

}  // namespace

TEST_SUITE("resctrl control") {
  TEST_CASE("code and data apart, odd ids, no bandwidth") {
    const FakeTree tree{{kRoot + "schemata", "L3DATA:0=fff;8=fff\nL3CODE:0=fff;8=fff\n"},
                        {kRoot + "info/L3DATA/cbm_mask", "fff\n"},
                        {kRoot + "info/L3DATA/min_cbm_bits", "1\n"},
                        {kRoot + "info/L3DATA/num_closids", "8\n"}};
    const auto offer = read_resctrl_offer(roots_of(tree));
    REQUIRE(offer.has_value());
    CHECK(offer->cdp);
    CHECK(offer->l3_ids == Ids{0, 8});
    CHECK(offer->mb_ids.empty());
    CHECK(offer->cbm_mask == 0xfff);
    CHECK(offer->closids == 8);
  }

  TEST_CASE("bandwidth alone, in MB/s by the mount option") {
    FakeTree tree{{kRoot + "schemata", "    MB:0=100;1=100\n"},
                  {kRoot + "info/MB/bandwidth_gran", "10\n"}};
    tree.write("proc/self/mountinfo",
               "30 24 0:26 / " + tree.path("sys/fs/resctrl") +
                   " rw,relatime shared:9 - resctrl resctrl rw,mba_MBps\n");
    const auto offer = read_resctrl_offer(roots_of(tree));
    REQUIRE(offer.has_value());
    CHECK(offer->l3_ids.empty());
    CHECK(offer->mb_ids == Ids{0, 1});
    CHECK(offer->megabytes);
    CHECK_FALSE(mounted_with(roots_of(tree), tree.path("sys/fs/resctrl"), "cdp"));
    CHECK_FALSE(mounted_with(roots_of(tree), "/elsewhere", "mba_MBps"));
  }

  TEST_CASE("not mounted, damaged") {
    const FakeTree none{{"sys/x", ""}};
    CHECK(read_resctrl_offer(roots_of(none)).error().code == Errc::kNotSupported);
    const FakeTree bad{{kRoot + "schemata", "L3:0=f\n"}, {kRoot + "info/L3/cbm_mask", "zz\n"}};
    CHECK(read_resctrl_offer(roots_of(bad)).error().code == Errc::kParse);
  }

  TEST_CASE("groups: made once, listed by their schemata, removed") {
    const FakeTree tree{{kRoot + "schemata", "L3:0=f\n"},
                        {kRoot + "info/last_cmd_status", "ok\n"},
                        {kRoot + "LS/schemata", "L3:0=f\n"},
                        {kRoot + "mon_groups/x/tasks", ""}};
    const auto roots = roots_of(tree);
    CHECK(list_resctrl_groups(roots).value() == std::vector<std::string>{"LS"});
    const auto made = make_resctrl_group(roots, "BE");
    REQUIRE(made.has_value());
    CHECK(made->made);
    const auto again = make_resctrl_group(roots, "BE");
    REQUIRE(again.has_value());
    CHECK_FALSE(again->made);
    CHECK(again->inode == made->inode);
    CHECK(remove_resctrl_group(roots, "BE"));
    CHECK(remove_resctrl_group(roots, "BE").error().code == Errc::kNotFound);
    CHECK_FALSE(remove_resctrl_group(roots, ""));
  }

  TEST_CASE("tasks: read sorted, written one by one") {
    const FakeTree tree{{kRoot + "BE/tasks", "12\n9\n"},
                        {"cg/cpu/a/tasks", "7\n5\nx\n"},
                        {"cg2/a/cgroup.threads", ""}};
    const auto roots = roots_of(tree);
    CHECK(read_resctrl_tasks(roots, "BE").value() == Ids{9, 12});
    CHECK(read_cgroup_tasks(roots, CgroupVersion::kV1, CgroupPath::parse("a").value()).value() ==
          Ids{5, 7});
    CHECK(
        read_cgroup_tasks(roots, CgroupVersion::kV1, CgroupPath::parse("b").value()).error().code ==
        Errc::kNotFound);
    CHECK(move_tasks(roots, "BE", {5, 7}).value().moved == 2);
    CHECK(tree.read(kRoot + "BE/tasks") == "12\n9\n5\n7\n");
    CHECK(move_tasks(roots, "LS", {5}).error().code == Errc::kNotFound);
  }
}

TEST_SUITE("core scheduling") {
  TEST_CASE("a task that is not there, on any kernel, is an error and no crash") {
    CHECK(core_cookie(1 << 30).has_error());
    CHECK(make_core_cookie(1 << 30).has_error());
    CHECK(share_core_cookie(1 << 30, {1 << 30}).has_error());
  }
}
