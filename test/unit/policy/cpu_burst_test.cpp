#include "policy/cpu_burst.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace koordlet::policy {
inline std::ostream& operator<<(std::ostream& os, PoolState s) { return os << to_string(s); }
}  // namespace koordlet::policy

namespace {

constexpr std::int64_t kCores = 100;

Pod ls_pod(const std::string& uid, std::vector<std::int64_t> limits_milli) {
  Pod pod;
  pod.uid = pod.name = uid;
  pod.ns = "shop";
  pod.phase = PodPhase::kRunning;
  pod.kube_qos = KubeQos::kBurstable;
  pod.qos = QosClass::kLs;
  pod.cgroup = path("kubepods/burstable/pod" + uid);
  for (std::size_t i = 0; i < limits_milli.size(); ++i) {
    Container c;
    c.name = "c" + std::to_string(i);
    c.runtime = "containerd";
    c.id = uid + "-" + c.name;
    c.running = true;
    c.cgroup = pod.cgroup.child(c.name);
    if (limits_milli[i] > 0) c.limits.cpu = MilliCpu{limits_milli[i]};
    pod.containers.push_back(c);
  }
  return pod;
}

struct Rig {
  World world{kCores * 1000};
  EffectiveConfig config;
  CpuBurst::State state;
  std::map<std::string, ContainerUsage> usage;
  std::vector<Proposal> proposals;
  bool has_file = true;

  Rig() {
    config.burst.enable = true;
    config.burst.burst_percent = 1000;
    config.burst.gate_percent = 60;
    world.pods.push_back(ls_pod("a", {2000, 1000}));
  }
  void look(bool may_relax = true) {
    auto snap = world.snap(may_relax);
    snap.containers = &usage;
    snap.has_cpu_burst = has_file;
    auto d = CpuBurst::decide(snap, config, state);
    state = std::move(d.state);
    proposals = std::move(d.proposals);
  }
  /// A tick after `step`, on a fresh node sample: LS use in milli-cores.
  void tick(std::int64_t ls = 10'000, milliseconds step = seconds{1}) {
    world.wait(step);
    world.sample(ls, 0);
    look();
  }
  /// A new sample of the first container of pod a.
  void sample(std::int64_t cpu_milli, std::int64_t throttled_permille) {
    ContainerUsage& u = usage["containerd://a-c0"];
    u.at = world.now;
    u.cpu = MilliCpu{cpu_milli};
    u.throttled = Permille{throttled_permille};
  }
  /// Each tick with a new, throttled sample.
  void throttle(std::int64_t ls = 10'000) {
    world.wait(seconds{1});
    sample(2000, 300);
    world.sample(ls, 0);
    look();
  }
  CgroupPath pod() const { return world.pods[0].cgroup; }
  CgroupPath first() const { return *world.pods[0].containers[0].cgroup; }
  std::string at(const CgroupPath& p, CgroupFile f = CgroupFile::kCpuMax) const {
    return wish(proposals, p, f);
  }
};

}  // namespace

TEST_SUITE("policy/cpu_burst rules") {
  TEST_CASE(
      "BUR-1, pitfall 97: limit 2, 1000 %: the original's 2000000 is above the quota, so 200000") {
    CHECK(static_burst_us(MilliCpu{2000}, 1000, 200'000) == 200'000);
    CHECK(static_burst_us(MilliCpu{1000}, 1000, 100'000) == 100'000);
    CHECK(static_burst_us(MilliCpu{1000}, 50, 100'000) == 50'000);
    CHECK(static_burst_us(MilliCpu{1000}, 0, 100'000) == 0);
  }
  TEST_CASE("BUR-2: 64 CPUs, LSR request 16, node 40, LSR 10: BE 8, 9 and 5") {
    const MilliCpu total{48'000};
    CHECK(pool_state(MilliCpu{40'000 - 10'000 - 8'000}, total, 50) == PoolState::kCooling);
    CHECK(pool_state(MilliCpu{40'000 - 10'000 - 9'000}, total, 50) == PoolState::kIdle);
    CHECK(pool_state(MilliCpu{40'000 - 10'000 - 5'000}, total, 50) == PoolState::kOverload);
    CHECK(pool_state(MilliCpu{0}, MilliCpu{0}, 50) == PoolState::kOverload);
  }
  TEST_CASE("BUR-3: 200000 us and 300 %: up to 600000, down to 200000") {
    std::int64_t q = 200'000;
    for (const std::int64_t want :
         {240'000, 288'000, 345'600, 414'720, 497'664, 597'196, 600'000}) {
      q = moved_quota_us(BurstMove::kUp, q, 200'000, 300);
      CHECK(q == want);
    }
    for (const std::int64_t want : {480'000, 384'000, 307'200, 245'760, 200'000}) {
      q = moved_quota_us(BurstMove::kDown, q, 200'000, 300);
      CHECK(q == want);
    }
  }
  TEST_CASE("BUR-4: 300 s at 300 % are 60000 points; 250 % takes 150 a second, 20 % gives 80") {
    BurstTokens t = new_tokens(300, 300, 0);
    CHECK(t.capacity == 60'000'000);
    t.left = t.capacity;
    for (int s = 0; s < 399; ++s) spend(t, 250, seconds{1});
    CHECK(t.left == 150'000);
    spend(t, 250, seconds{1});
    CHECK(t.left == 0);
    spend(t, 80, seconds{1});
    CHECK(t.left == 0);
    spend(t, 20, seconds{1});
    CHECK(t.left == 80'000);
    for (int s = 0; s < 10'000; ++s) spend(t, 0, seconds{1});
    CHECK(t.left == t.capacity);
  }
  TEST_CASE("the first budget is the same after each restart, and below half") {
    const auto a = new_tokens(300, 300, burst_seed("uid-1/main"));
    CHECK(a == new_tokens(300, 300, burst_seed("uid-1/main")));
    CHECK(a.left >= 0);
    CHECK(a.left < a.capacity / 2);
    CHECK(burst_seed("uid-1/main") % 1000 != burst_seed("uid-2/main") % 1000);
  }
  TEST_CASE("pitfall 98: limit 4, normalization 2.0 and boost 1.5 are one formula") {
    CHECK(burst_quota_us(MilliCpu{4000}, 200, 1500) == 300'000);
    CHECK(burst_quota_us(MilliCpu{1}, 100, 1000) == 1000);
  }
  TEST_CASE(
      "a pool in overload or a closed gate takes back, a cooling or unknown one grants nothing") {
    CHECK(overridden(BurstMove::kUp, PoolState::kOverload, true) == BurstMove::kDown);
    CHECK(overridden(BurstMove::kRemain, PoolState::kIdle, false) == BurstMove::kDown);
    CHECK(overridden(BurstMove::kUp, PoolState::kCooling, true) == BurstMove::kRemain);
    CHECK(overridden(BurstMove::kUp, PoolState::kUnknown, true) == BurstMove::kRemain);
    CHECK(overridden(BurstMove::kUp, PoolState::kIdle, true) == BurstMove::kUp);
    CHECK(overridden(BurstMove::kDown, PoolState::kCooling, true) == BurstMove::kDown);
  }
  TEST_CASE("the annotation holds within the node's bounds") {
    BurstConfig cfg;
    cfg.burst_percent = 50;
    cfg.period_seconds = 60;
    Pod pod = ls_pod("a", {1000});
    pod.burst = CpuBurstStrategy{BurstPolicy::kCpuBurstOnly, 900, 900, -1, {}};
    const auto b = pod_burst(pod, cfg);
    CHECK(b.static_burst);
    CHECK_FALSE(b.quota_burst);
    CHECK(b.burst_percent == 100);
    CHECK(b.quota_percent == 300);
    CHECK(b.period_seconds == 60);
    cfg.annotations = false;
    CHECK(pod_burst(pod, cfg).burst_percent == 50);
  }
}

TEST_SUITE("policy/cpu_burst") {
  TEST_CASE("static burst of containers and of their pod") {
    Rig rig;
    rig.tick();
    CHECK(rig.at(rig.first(), CgroupFile::kCpuBurst) == "200000");
    CHECK(rig.at(rig.pod(), CgroupFile::kCpuBurst) == "300000");
    rig.has_file = false;
    rig.look();
    CHECK(rig.proposals.empty());
  }
  TEST_CASE("a pod with an unlimited container has no quota: nothing is written for it") {
    Rig rig;
    rig.world.pods[0] = ls_pod("a", {2000, 0});
    rig.throttle();
    CHECK(rig.at(rig.first()) == "200000 100000 | 240000 100000");
    CHECK(rig.at(rig.pod()) == "");
    CHECK(rig.at(rig.pod(), CgroupFile::kCpuBurst) == "");
  }
  TEST_CASE("BUR-5: container 200000 to 240000, pod 300000 to 340000") {
    Rig rig;
    rig.throttle();
    CHECK(rig.at(rig.first()) == "200000 100000 | 240000 100000");
    CHECK(rig.at(rig.pod()) == "300000 100000 | 340000 100000");
    CHECK(rig.state.summary.boosted == 1);
    for (const auto& p : rig.proposals) {
      if (p.key.file == CgroupFile::kCpuMax) CHECK(p.role != Role::kCap);
    }
  }
  TEST_CASE("a sample counts once, and event ticks change nothing") {
    Rig rig;
    rig.throttle();
    for (int i = 0; i < 5; ++i) rig.tick();
    rig.look(false);
    CHECK(rig.at(rig.first()) == "200000 100000 | 240000 100000");
    rig.throttle();
    CHECK(rig.at(rig.first()) == "200000 100000 | 288000 100000");
  }
  TEST_CASE("a quota of -1 stays: without throttling nothing is ever proposed for it") {
    Rig rig;
    rig.tick();
    rig.sample(5000, 0);
    rig.tick();
    CHECK(rig.at(rig.first()) == "");
    rig.throttle();
    rig.world.pods[0].allocated_cpus = CpuSet::range(0, 1);  // and the pod gets CPUs of its own
    rig.throttle();
    CHECK(rig.proposals.empty());
  }
  TEST_CASE("a closed gate takes boosts and static burst back, and opens 5 points lower") {
    Rig rig;
    rig.config.burst.pool_percent = 100;
    rig.throttle();
    rig.tick(60'000);
    CHECK_FALSE(rig.state.summary.gate_open);
    CHECK(rig.proposals.empty());
    rig.tick(59'000);
    CHECK_FALSE(rig.state.summary.gate_open);
    rig.tick(54'000);
    CHECK(rig.state.summary.gate_open);
    CHECK(rig.at(rig.first(), CgroupFile::kCpuBurst) == "200000");
  }
  TEST_CASE("old node signals close the gate") {
    Rig rig;
    for (int i = 0; i < 3; ++i) rig.throttle();
    CHECK(rig.at(rig.first()) == "200000 100000 | 345600 100000");
    rig.world.wait(seconds{4});
    rig.look();
    CHECK(rig.at(rig.first()) == "200000 100000 | 276480 100000");
    CHECK(rig.at(rig.first(), CgroupFile::kCpuBurst) == "");
  }
  TEST_CASE("idle and not throttled for the time: the boost shrinks, with each new sample") {
    Rig rig;
    rig.config.burst.shrink_seconds = 60;
    rig.throttle();
    rig.world.wait(seconds{1});
    rig.sample(100, 0);
    rig.tick();
    CHECK(rig.at(rig.first()) == "200000 100000 | 240000 100000");
    for (int i = 0; i < 59; ++i) rig.tick();
    rig.sample(100, 0);
    rig.tick();
    CHECK(rig.at(rig.first()) == "");
    CHECK(rig.state.summary.boosted == 0);
  }
  TEST_CASE("ticks just under a second are counted whole") {
    Rig rig;
    rig.config.burst.period_seconds = 300;
    rig.sample(5000, 300);  // 250 % of the limit
    rig.tick();
    const auto before = rig.state.containers.at("a/c0").tokens.left;
    for (int i = 0; i < 10; ++i) rig.tick(10'000, milliseconds{999});
    CHECK(rig.state.containers.at("a/c0").tokens.left == before - 150 * 9990);
  }
  TEST_CASE("an empty budget takes the boost back") {
    Rig rig;
    rig.config.burst.period_seconds = 300;
    rig.throttle();
    rig.state.containers.at("a/c0").tokens.left = 0;
    rig.throttle();
    CHECK(rig.state.summary.denied >= 1);
    CHECK(rig.at(rig.first()) == "");
  }
  TEST_CASE("a sample of an LSR pod is missing: the pool is unknown and grants nothing") {
    Rig rig;
    Pod lsr = ls_pod("lsr", {4000});
    lsr.qos = QosClass::kLsr;
    rig.world.pods.push_back(lsr);
    rig.throttle();
    CHECK(rig.state.summary.pool == PoolState::kUnknown);
    CHECK(rig.at(rig.first()) == "");
  }
  TEST_CASE(
      "pitfall 100: a container that does not run is left alone; so are BE, LSR, LSE and ended "
      "pods") {
    Rig rig;
    rig.world.pods[0].containers[0].running = false;
    rig.throttle();
    CHECK(rig.at(rig.first(), CgroupFile::kCpuBurst) == "");
    rig.world.pods[0].containers[0].running = true;
    for (const auto qos : {QosClass::kBe, QosClass::kLsr, QosClass::kLse}) {
      rig.world.pods[0].qos = qos;
      rig.throttle();
      CHECK(rig.proposals.empty());
    }
    rig.world.pods[0].qos = QosClass::kNone;
    rig.world.pods[0].phase = PodPhase::kSucceeded;
    rig.throttle();
    CHECK(rig.proposals.empty());
  }
  TEST_CASE("policy none or switched off: nothing is proposed, which restores") {
    Rig rig;
    rig.throttle();
    rig.config.burst.policy = BurstPolicy::kNone;
    rig.throttle();
    CHECK(rig.proposals.empty());
    rig.config.burst.enable = false;
    rig.throttle();
    CHECK(rig.state == CpuBurst::State{});
  }
}
