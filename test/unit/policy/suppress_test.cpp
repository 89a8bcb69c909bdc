#include "policy/suppress.hpp"

#include <numeric>

#include <doctest/doctest.h>

#include "policy/be_cpus.hpp"
#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

CpuSet cpus(std::string_view text) { return CpuSet::parse(text).value(); }

struct Rig {
  World world;
  EffectiveConfig config;
  Suppress::State state;

  explicit Rig(int cores, SuppressPolicy policy = SuppressPolicy::kCpuset) : world{cores * 1000LL} {
    config.suppress.enable = true;
    config.suppress.policy = policy;
    world.topology = flat_topology(cores);
    world.be_root->cpuset = CpuSet::range(0, cores - 1);
  }
  std::vector<Proposal> look(bool may_relax = true) {
    auto d = Suppress::decide(world.snap(may_relax), config, state);
    state = d.state;
    return d.proposals;
  }
  std::vector<Proposal> at(std::int64_t ls,
                           std::int64_t be,
                           std::int64_t system = 0,
                           bool may_relax = true) {
    world.wait(seconds{1});
    world.sample(ls, be, system);
    return look(may_relax);
  }
  int cpu_count() const { return state.cpuset ? state.cpuset->count() : -1; }
};

/// LS use at which the budget of 65 % is `budget`, without system use.
std::int64_t ls_for(const Rig& rig, std::int64_t budget) {
  return rig.world.node.cpu_capacity.v * 65 / 100 - budget;
}

/// 16 CPUs, sibling = id + 8, cores 0-3 on node and socket 0, cores 4-7 on node and socket 1.
CpuTopology two_sockets(std::initializer_list<int> without = {}) {
  CpuTopology out;
  for (int cpu = 0; cpu < 16; ++cpu) {
    if (std::find(without.begin(), without.end(), cpu) != without.end()) continue;
    const int core = cpu % 8;
    out.push_back({cpu, core, core / 4, core / 4});
  }
  return out;
}

using Picked = std::vector<int>;
Picked sorted(Picked p) {
  std::sort(p.begin(), p.end());
  return p;
}

}  // namespace

TEST_SUITE("policy/suppress budget") {
  TEST_CASE("SUP-1: 64 cores, LS 28.5, BE 15, node 50 leaves 6600 m: 7 CPUs, quota 660000") {
    for (const auto policy : {SuppressPolicy::kCpuset, SuppressPolicy::kCfsQuota}) {
      Rig rig{64, policy};
      rig.world.node.cpu_reserved = MilliCpu{2000};
      const auto got = rig.at(28'500, 15'000, 6500);
      CHECK(rig.state.budget == MilliCpu{6600});
      if (policy == SuppressPolicy::kCpuset) {
        CHECK(rig.cpu_count() == 7);
      } else {
        CHECK(wish(got, kBeRoot) == "660000 100000");
      }
    }
  }

  TEST_CASE("SUP-2: a budget below zero goes to the floor, min_percent lifts it") {
    Rig set{64};
    set.at(40'000, 0, 4000);
    CHECK(set.state.budget == MilliCpu{-2400});
    CHECK(set.cpu_count() == 2);
    Rig quota{64, SuppressPolicy::kCfsQuota};
    CHECK(wish(quota.at(40'000, 0, 4000), kBeRoot) == "2000 100000");
    for (const auto policy : {SuppressPolicy::kCpuset, SuppressPolicy::kCfsQuota}) {
      Rig rig{64, policy};
      rig.config.suppress.min_percent = 10;
      const auto got = rig.at(40'000, 0, 4000);
      CHECK(rig.state.budget == MilliCpu{6400});
      if (policy == SuppressPolicy::kCpuset) CHECK(rig.cpu_count() == 7);
      if (policy == SuppressPolicy::kCfsQuota) CHECK(wish(got, kBeRoot) == "640000 100000");
    }
  }

  TEST_CASE("unknown is not zero: no class use, no node or no signals give no budget") {
    Rig rig{64};
    CHECK_FALSE(suppress_budget(rig.world.snap(), rig.config.suppress).has_value());
    rig.world.sample(1000, 0);
    CHECK(suppress_budget(rig.world.snap(), rig.config.suppress).has_value());
    CHECK_FALSE(suppress_budget(rig.world.snap_without_node(), rig.config.suppress).has_value());
    rig.world.signals.be_used.reset();
    CHECK_FALSE(suppress_budget(rig.world.snap(), rig.config.suppress).has_value());
    CHECK(rig.look().empty());
  }
}

TEST_SUITE("policy/suppress cpuset") {
  TEST_CASE("SUP-3: growth is limited to 10 % of the processors a sample") {
    Rig rig{64};
    rig.world.be_root->cpuset = CpuSet::range(0, 6);
    rig.at(ls_for(rig, 30'000), 0);
    CHECK(rig.cpu_count() == 14);
    for (const int want : {21, 28, 30, 30}) {
      rig.at(ls_for(rig, 30'000), 0);
      CHECK(rig.cpu_count() == want);
    }
  }

  TEST_CASE("V-D: budgets and CPU counts of the 1024-core case") {
    Rig rig{1024};
    rig.at(600'000, 400'000);
    CHECK(rig.state.budget == MilliCpu{65'600});
    CHECK(rig.cpu_count() == 66);
    rig.at(624'000, 400'000);
    CHECK(rig.state.budget == MilliCpu{41'600});
    CHECK(rig.cpu_count() == 42);
    rig.at(750'000, 240'000);
    CHECK(rig.state.budget == MilliCpu{-84'400});
    CHECK(rig.cpu_count() == 2);
    rig.at(500'000, 2000);
    CHECK(rig.state.budget == MilliCpu{165'600});
    CHECK(rig.cpu_count() == 105);
    rig.at(500'000, 105'000);
    CHECK(rig.cpu_count() == 166);
    rig.config.suppress.threshold_percent = 97;
    rig.world.sample(750'000, 100'000);
    CHECK(suppress_budget(rig.world.snap(), rig.config.suppress) == MilliCpu{243'280});
  }

  TEST_CASE("SUP-6: LSR and shared CPUs are taken in proportion") {
    Rig rig{32};
    rig.world.pods.push_back(be_pod("lsr", 1000));
    rig.world.pods[0].kube_qos = KubeQos::kGuaranteed;
    rig.world.pods[0].qos = QosClass::kLsr;
    rig.world.pods[0].cgroup = path("kubepods/podlsr");
    rig.world.pods[0].allocated_cpus = CpuSet::range(0, 7);
    rig.at(ls_for(rig, 10'000), 0);
    CHECK((*rig.state.cpuset & CpuSet::range(0, 7)).count() == 2);
    CHECK(rig.cpu_count() == 10);
    rig.at(ls_for(rig, 3000), 0);
    CHECK((*rig.state.cpuset & CpuSet::range(0, 7)).count() == 0);
    CHECK(rig.cpu_count() == 3);
  }

  TEST_CASE("SUP-7: what one list lacks comes from the other") {
    // 1 LSR and 9 shared CPUs, 11 wanted: the original is left with one, we give all ten.
    Rig rig{20};
    rig.world.pods.push_back(be_pod("lsr", 1000));
    rig.world.pods[0].qos = QosClass::kLsr;
    rig.world.pods[0].allocated_cpus = cpus("0");
    rig.world.node.reserved_cpus = CpuSet::range(10, 19);
    rig.at(ls_for(rig, 11'000), 0);
    CHECK(*rig.state.cpuset == CpuSet::range(0, 9));
  }

  TEST_CASE("CPUs of LSE pods, reserved and system CPUs are never given to BE") {
    Rig rig{8};
    rig.world.pods.push_back(be_pod("lse", 1000));
    rig.world.pods[0].qos = QosClass::kLse;
    rig.world.pods[0].allocated_cpus = cpus("0-1");
    rig.at(0, 0);
    CHECK(rig.state.cpuset->is_subset_of(cpus("2-7")));
    rig.world.node.reserved_cpus = cpus("2");
    rig.world.node.system_cpus = cpus("3");
    rig.at(0, 0);
    CHECK(*rig.state.cpuset == cpus("4-7"));
    rig.world.pods[0].phase = PodPhase::kSucceeded;  // gives its CPUs back
    rig.at(0, 0);
    CHECK(rig.state.cpuset->is_subset_of(cpus("0-1,4-7")));
    CHECK(rig.cpu_count() == 5);
  }

  TEST_CASE("no CPU is left for BE, or the topology is unknown: no proposal") {
    Rig rig{4};
    rig.world.node.reserved_cpus = CpuSet::range(0, 3);
    CHECK(rig.at(0, 0).empty());
    rig.world.node.reserved_cpus = CpuSet{};
    rig.world.topology.clear();
    CHECK(rig.at(0, 0).empty());
  }

  TEST_CASE("an LSE pod that arrives while signals are stale gets its CPUs") {
    Rig rig{8};
    rig.at(0, 0);
    REQUIRE(rig.state.cpuset->contains(0));
    rig.world.wait(seconds{10});
    rig.world.pods.push_back(be_pod("lse", 1000));
    rig.world.pods[0].qos = QosClass::kLse;
    rig.world.pods[0].allocated_cpus = cpus("0");
    CHECK_FALSE(rig.look().empty());
    CHECK_FALSE(rig.state.cpuset->contains(0));
  }

  TEST_CASE("root, pods and containers get the set; a static kubelet only containers") {
    Rig rig{8};
    rig.world.pods = {be_pod("a", 1000), outside_pod("o", 1000), be_pod("ls", 1000)};
    rig.world.pods[2].qos = QosClass::kLs;  // below the BE root all the same
    auto container = rig.world.pods[0].containers.front();
    container.cgroup.reset();  // the runtime has not made it yet
    rig.world.pods[0].containers.push_back(container);
    const auto got = rig.at(ls_for(rig, 3000), 0);
    const auto pod_a = kBeRoot.child("poda");
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuset) == "0-2");
    CHECK(wish(got, pod_a, CgroupFile::kCpuset) == "0-2");
    CHECK(wish(got, pod_a.child("a-c"), CgroupFile::kCpuset) == "0-2");
    CHECK(wish(got, kBeRoot.child("podls"), CgroupFile::kCpuset) == "0-2");
    CHECK(wish(got, path("kubepods/burstable/podo"), CgroupFile::kCpuset) == "");
    CHECK(got.size() == 5);
    rig.world.node.cpu_policy = KubeletCpuPolicy::kStatic;
    const auto narrow = rig.look();
    CHECK(wish(narrow, pod_a.child("a-c"), CgroupFile::kCpuset) == "0-2");
    CHECK(narrow.size() == 2);
  }

  TEST_CASE("static kubelet: CPUs that it gave to a pod are nobody else's") {
    Rig rig{16};
    rig.world.pods.push_back(be_pod("a", 1000));
    Pod ls = outside_pod("ls", std::nullopt);
    ls.qos = QosClass::kLs;
    rig.world.pods.push_back(ls);
    KubeletCpus kubelet;
    kubelet.policy = KubeletCpuPolicy::kStatic;
    kubelet.exclusive = {{"guaranteed", cpus("0-1")}, {"ls", cpus("2")}};
    const auto look = [&] {
      rig.world.wait(seconds{1});
      rig.world.sample(ls_for(rig, 3000), 0);
      auto snap = rig.world.snap();
      snap.kubelet_cpus = std::make_shared<const KubeletCpus>(kubelet);
      return Suppress::decide(snap, rig.config, rig.state).proposals;
    };
    // By the state file alone: containers get it, the root stays kubelet's.
    const auto got = look();
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuset) == "");
    CHECK(wish(got, kBeRoot.child("poda").child("a-c"), CgroupFile::kCpuset) == "2-4");
    CHECK(got.size() == 1);
    // A pod with CPUs of its own is left alone.
    kubelet.exclusive["a"] = cpus("5");
    CHECK(look().empty());
    // Policy "none" is normal: stale entries mean nothing.
    kubelet.policy = KubeletCpuPolicy::kNone;
    kubelet.exclusive.erase("a");
    const auto none = look();
    CHECK(wish(none, kBeRoot, CgroupFile::kCpuset) == "0-2");
  }

  TEST_CASE("static kubelet: the growth limit counts from the last wish, not from the full root") {
    Rig rig{64};
    rig.world.node.cpu_policy = KubeletCpuPolicy::kStatic;
    rig.at(ls_for(rig, 0), 0);
    CHECK(rig.cpu_count() == 2);
    rig.at(ls_for(rig, 30'000), 0);
    CHECK(rig.cpu_count() == 9);
  }

  TEST_CASE("a budget that sways around a whole number does not move the set") {
    Rig rig{64};
    rig.at(ls_for(rig, 6990), 0);
    CHECK(rig.cpu_count() == 7);
    const auto held = rig.state.cpuset;
    rig.at(ls_for(rig, 7640), 0);  // 640 m over: 1 % of the node
    CHECK(rig.state.cpuset == held);
    rig.at(ls_for(rig, 7641), 0);
    CHECK(rig.cpu_count() == 8);
  }

  TEST_CASE("event ticks shrink the set and never grow it") {
    Rig rig{64};
    rig.at(ls_for(rig, 20'000), 0);
    rig.at(ls_for(rig, 10'000), 0, 0, false);
    CHECK(rig.cpu_count() == 10);
    rig.at(ls_for(rig, 30'000), 0, 0, false);
    CHECK(rig.cpu_count() == 10);
    rig.look();
    CHECK(rig.cpu_count() == 17);
  }
}

TEST_SUITE("policy/suppress quota") {
  TEST_CASE("SUP-3 quota: 10 % a sample from a bound, straight to the target from unlimited") {
    Rig rig{64, SuppressPolicy::kCfsQuota};
    rig.world.be_root->cpu_max = quota(660'000);
    CHECK(wish(rig.at(ls_for(rig, 30'000), 0), kBeRoot) == "1300000 100000");
    Rig open{64, SuppressPolicy::kCfsQuota};
    CHECK(wish(open.at(ls_for(open, 30'000), 0), kBeRoot) == "3000000 100000");
  }

  TEST_CASE("SUP-4: dead band of 1 %, and unlimited is no number near the target") {
    Rig rig{64, SuppressPolicy::kCfsQuota};
    rig.world.be_root->cpu_max = quota(660'000);
    CHECK(wish(rig.at(ls_for(rig, 7000), 0), kBeRoot) == "660000 100000");
    CHECK(wish(rig.at(ls_for(rig, 7240), 0), kBeRoot) == "724000 100000");
    // The original skips this one, for |50000 - -1| is inside the band: BE stays unlimited there.
    Rig open{64, SuppressPolicy::kCfsQuota};
    CHECK(wish(open.at(ls_for(open, 500), 0), kBeRoot) == "50000 100000");
  }

  TEST_CASE("32 cores, target 1600000: from unlimited at once, from 100000 by 320000") {
    Rig open{32, SuppressPolicy::kCfsQuota};
    CHECK(wish(open.at(ls_for(open, 16'000), 0), kBeRoot) == "1600000 100000");
    Rig bound{32, SuppressPolicy::kCfsQuota};
    bound.world.be_root->cpu_max = quota(100'000);
    CHECK(wish(bound.at(ls_for(bound, 16'000), 0), kBeRoot) == "420000 100000");
  }

  TEST_CASE("V-D quota: 6560000, 4160000, 2000, then up 10240000 a sample") {
    Rig rig{1024, SuppressPolicy::kCfsQuota};
    CHECK(wish(rig.at(600'000, 400'000), kBeRoot) == "6560000 100000");
    CHECK(wish(rig.at(624'000, 400'000), kBeRoot) == "4160000 100000");
    CHECK(wish(rig.at(750'000, 240'000), kBeRoot) == "2000 100000");
    CHECK(wish(rig.at(500'000, 20), kBeRoot) == "10242000 100000");
    CHECK(wish(rig.at(500'000, 102'420), kBeRoot) == "16560000 100000");
  }

  TEST_CASE("the floor is reached from inside the dead band") {
    Rig rig{64, SuppressPolicy::kCfsQuota};
    rig.world.be_root->cpu_max = quota(40'000);
    CHECK(wish(rig.at(60'000, 0), kBeRoot) == "2000 100000");
  }

  TEST_CASE("a bound with another period is compared by its share") {
    Rig rig{64, SuppressPolicy::kCfsQuota};
    rig.world.be_root->cpu_max = {Limit{std::chrono::microseconds{330'000}},
                                  std::chrono::microseconds{50'000}};
    CHECK(wish(rig.at(ls_for(rig, 7000), 0), kBeRoot) == "660000 100000");
  }

  TEST_CASE("only the BE root is written") {
    Rig rig{64, SuppressPolicy::kCfsQuota};
    rig.world.pods.push_back(be_pod("a", 1000));
    CHECK(rig.at(0, 0).size() == 1);
  }

  TEST_CASE("event ticks cut the quota and never lift it") {
    Rig rig{64, SuppressPolicy::kCfsQuota};
    rig.at(ls_for(rig, 20'000), 0);
    CHECK(wish(rig.at(ls_for(rig, 10'000), 0, 0, false), kBeRoot) == "1000000 100000");
    CHECK(wish(rig.at(ls_for(rig, 30'000), 0, 0, false), kBeRoot) == "1000000 100000");
    CHECK(wish(rig.look(), kBeRoot) == "1640000 100000");
  }
}

TEST_SUITE("policy/suppress holding") {
  TEST_CASE("the same sample again changes nothing and proposes the same") {
    for (const auto policy : {SuppressPolicy::kCpuset, SuppressPolicy::kCfsQuota}) {
      Rig rig{64, policy};
      rig.at(ls_for(rig, 0), 0);
      const auto first = rig.at(ls_for(rig, 30'000), 0);
      const auto state = rig.state;
      CHECK(rig.look() == first);
      CHECK(rig.state == state);
    }
  }

  TEST_CASE("stale signals and unknown class use hold the last wish") {
    for (const auto policy : {SuppressPolicy::kCpuset, SuppressPolicy::kCfsQuota}) {
      Rig rig{64, policy};
      const auto first = rig.at(ls_for(rig, 10'000), 0);
      rig.world.wait(seconds{1});
      rig.world.sample(0, 0);
      rig.world.signals.kubepods_used.reset();
      CHECK(rig.look() == first);
      rig.world.sample(0, 0);
      rig.world.wait(seconds{4});
      CHECK(rig.look() == first);
    }
  }

  TEST_CASE("off, not enabled or podQuota: no proposals and a fresh state") {
    Rig rig{64};
    rig.at(0, 0);
    const auto given = rig.state;
    for (int i = 0; i < 3; ++i) {
      auto config = rig.config;
      if (i == 0) config.off = true;
      if (i == 1) config.suppress.enable = false;
      if (i == 2) config.suppress.policy = SuppressPolicy::kPodQuota;
      const auto d = Suppress::decide(rig.world.snap(), config, given);
      CHECK(d.proposals.empty());
      CHECK(d.state == Suppress::State{});
    }
  }

  TEST_CASE("changing the policy gives the other file up at once, within the same sample") {
    Rig rig{64};
    rig.at(ls_for(rig, 10'000), 0);
    rig.config.suppress.policy = SuppressPolicy::kCfsQuota;
    const auto got = rig.look();
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuset) == "");
    CHECK(wish(got, kBeRoot) == "1000000 100000");
  }

  TEST_CASE("no BE root: nothing to bound") {
    Rig rig{64};
    rig.world.be_root.reset();
    CHECK(rig.at(0, 0).empty());
  }
}

TEST_SUITE("policy/suppress picker") {
  TEST_CASE("SUP-5: whole cores first, spread over nodes, in the original's order") {
    const auto all = two_sockets();
    CHECK(pick_cpus(2, all) == Picked{0, 8});
    CHECK(pick_cpus(5, all) == Picked{0, 8, 4, 12, 1});
    CHECK(sorted(pick_cpus(6, all)) == Picked{0, 1, 4, 8, 9, 12});
    CHECK(sorted(pick_cpus(7, all)) == Picked{0, 1, 4, 5, 8, 9, 12});
    CHECK(sorted(pick_cpus(10, all)) == Picked{0, 1, 2, 4, 5, 8, 9, 10, 12, 13});
  }

  TEST_CASE("SUP-5: with 0, 8 and 4 gone node 1 is the larger bucket and goes first") {
    const auto some = two_sockets({0, 8, 4});
    CHECK(pick_cpus(4, some) == Picked{5, 13, 1, 9});
    CHECK(pick_cpus(5, some) == Picked{5, 13, 1, 9, 12});
  }

  TEST_CASE("all CPUs, none, and more than there are") {
    const auto all = two_sockets();
    Picked every(16);
    std::iota(every.begin(), every.end(), 0);
    CHECK(sorted(pick_cpus(16, all)) == every);
    CHECK(pick_cpus(0, all).empty());
    CHECK(pick_cpus(-1, all).empty());
    CHECK(pick_cpus(17, all).empty());
    CHECK(pick_cpus(1, {}).empty());
  }

  TEST_CASE("no two threads of one core: singles, one a node in turn") {
    CHECK(pick_cpus(3, two_sockets({8, 9, 10, 11, 12, 13, 14, 15})) == Picked{0, 4, 1});
  }
}
