#include "policy/spec_values.hpp"

#include <doctest/doctest.h>

#include "policy/arbiter.hpp"
#include "policy/cpu_burst.hpp"
#include "policy/hook_values.hpp"
#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::microseconds;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kGi = 1LL << 30;

CpuSet cpus(std::string_view text) { return CpuSet::parse(text).value(); }

/// A pod with one container "app"; label BE lives below the BE root.
Pod pod_with(QosClass qos, const Container& given = {}) {
  Pod pod = be_pod("a", std::nullopt);
  pod.qos = qos;
  if (qos != QosClass::kBe) {
    pod.kube_qos = KubeQos::kBurstable;
    pod.cgroup = path("kubepods/burstable/poda");
  }
  auto& c = pod.containers.front();
  c.cgroup = pod.cgroup.child("app");
  c.name = "app";
  c.requests = given.requests;
  c.limits = given.limits;
  return pod;
}

Container batch(std::int64_t request, std::int64_t limit, std::optional<std::int64_t> memory) {
  Container c;
  c.requests.batch_cpu = MilliCpu{request};
  c.limits.batch_cpu = MilliCpu{limit};
  if (memory) c.limits.batch_memory = Bytes{*memory};
  return c;
}

Container plain(std::int64_t limit) {
  Container c;
  c.limits.cpu = MilliCpu{limit};
  return c;
}

struct Rig {
  World world{32'000};
  EffectiveConfig config;
  SpecValues::State state;
  std::shared_ptr<const NodeCpuPools> pools;

  explicit Rig(Pod pod) {
    world.version = CgroupVersion::kV2;
    world.topology = flat_topology(32);
    world.pods.push_back(std::move(pod));
  }
  Pod& pod() { return world.pods.front(); }
  Snapshot snap() const {
    auto out = world.snap();
    out.cpu_pools = pools;
    return out;
  }
  void ratio(const std::string& text) {
    world.node.annotations["node.koordinator.sh/cpu-normalization-ratio"] = text;
    config.hooks.cpu_normalization = true;
  }
  /// The pools of the reference's examples.
  void give_pools(KubeletCpuPolicy kubelet) {
    NodeCpuPools out;
    out.shared = {{0, cpus("2-15")}, {1, cpus("18-31")}};
    out.kubelet = kubelet;
    pools = std::make_shared<const NodeCpuPools>(out);
  }
  std::string of(const CgroupPath& at, CgroupFile file = CgroupFile::kCpuMax) {
    state = SpecValues::decide(snap(), config, std::move(state));
    return wish(state.list->all, at, file);
  }
  std::string of_pod(CgroupFile file = CgroupFile::kCpuMax) { return of(pod().cgroup, file); }
  std::string of_container(CgroupFile file = CgroupFile::kCpuMax) {
    return of(*pod().containers.front().cgroup, file);
  }
  DesiredTable merged(const std::vector<Proposal>& others, DesiredTable previous = {}) {
    state = SpecValues::decide(snap(), config, std::move(state));
    return arbitrate(
        others, state.list->by_key, std::move(previous), world.version, kBeRoot, world.now);
  }
};

Proposal cap(const CgroupPath& at, CgroupFile file, CgroupValue value) {
  Proposal p;
  p.key = {at, file};
  p.value = std::move(value);
  p.plugin = "cap";
  return p;
}

}  // namespace

TEST_SUITE("policy/spec_values") {
  TEST_CASE("7: batch 500/1000 m: 512 shares and quota 100000, of pod and container") {
    Rig rig{pod_with(QosClass::kBe, batch(500, 1000, 2 * kGi))};
    CHECK(rig.of_pod() == "100000 100000");
    CHECK(rig.of_container() == "100000 100000");
    // 512 shares are weight 20 by the linear curve and 59 by the newer one.
    CHECK(rig.of_pod(CgroupFile::kCpuWeight) == "20");
    CHECK(rig.of_pod(CgroupFile::kMemoryMax) == "2147483648");
    CHECK(rig.of_container(CgroupFile::kMemoryMax) == "2147483648");
    SUBCASE("ratio 1.5: 66667, the shares stay") {
      rig.ratio("1.5");
      CHECK(rig.of_pod() == "66667 100000");
      CHECK(rig.of_container() == "66667 100000");
      CHECK(rig.of_pod(CgroupFile::kCpuWeight) == "20");
    }
    SUBCASE("suppress policy cfsQuota: the root is limited instead") {
      rig.config.suppress.enable = true;
      rig.config.suppress.policy = SuppressPolicy::kCfsQuota;
      CHECK(rig.of_pod() == "max 100000");
    }
    SUBCASE("cgroup v1: shares, and the pod alone carries a quota") {
      rig.world.version = CgroupVersion::kV1;
      CHECK(rig.of_pod(CgroupFile::kCpuWeight) == "512");
      CHECK(rig.of_pod() == "100000 100000");
      CHECK(rig.of_container() == "max 100000");
    }
    SUBCASE("a container that may be idle takes no weight") {
      rig.config.hooks.cpu_idle = rig.config.identity.be_idle = true;
      CHECK(rig.of_container(CgroupFile::kCpuWeight).empty());
    }
    SUBCASE("also while the policy is off; not when reconciling or the hook is switched off") {
      rig.config.off = true;
      CHECK(rig.of_pod() == "100000 100000");
      rig.config.hooks.batch_resources = false;
      CHECK(rig.of_pod().empty());
      rig.config.hooks = {};
      rig.config.hooks.reconcile = false;
      CHECK(rig.of_pod().empty());
    }
  }

  TEST_CASE("7: containers of 1Gi and 2Gi make a pod of 3221225472; one without: none") {
    Rig rig{pod_with(QosClass::kBe, batch(500, 1000, kGi))};
    auto second = batch(500, 1000, 2 * kGi);
    second.running = true;
    second.cgroup = rig.pod().cgroup.child("b");
    rig.pod().containers.push_back(second);
    CHECK(rig.of_pod(CgroupFile::kMemoryMax) == "3221225472");
    CHECK(rig.of_pod() == "200000 100000");
    rig.pod().containers[1].limits = {};
    CHECK(rig.of_pod(CgroupFile::kMemoryMax) == "max");
    CHECK(rig.of_pod() == "max 100000");
    // A plain limit without a batch twin is the kubelet's.
    rig.pod().containers[1].limits.memory = Bytes{kGi};
    CHECK(rig.of_pod(CgroupFile::kMemoryMax).empty());
  }

  TEST_CASE("nothing stated, another class, hands off, not running: nothing is proposed") {
    Rig rig{pod_with(QosClass::kBe)};
    CHECK(rig.of_pod().empty());
    CHECK(rig.state.list->all.empty());
    rig.pod() = pod_with(QosClass::kNone, batch(500, 1000, kGi));
    CHECK(rig.of_pod().empty());
    rig.pod() = pod_with(QosClass::kBe, batch(500, 1000, kGi));
    rig.pod().containers.front().running = false;
    CHECK(rig.of_container().empty());
    CHECK(rig.of_pod() == "100000 100000");
    rig.pod().annotations["koordinator.sh/qos-hands-off"] = "true";
    rig.config.hands_off_namespaces = {"default"};
    CHECK(rig.of_pod().empty());
    rig.config.hands_off_namespaces.clear();
    rig.pod().cgroup = {};  // not known: never the root
    CHECK(rig.of({}).empty());
  }

  TEST_CASE("8: quota 400000 by ratio 1.2 and 2.0, of the container and of its pod") {
    Rig rig{pod_with(QosClass::kLs, plain(4000))};
    CHECK(rig.of_container().empty());
    rig.ratio("1.2");
    CHECK(rig.of_container() == "333334 100000");
    CHECK(rig.of_pod() == "333334 100000");
    rig.ratio("2.0");
    CHECK(rig.of_container() == "200000 100000");
    rig.ratio("0.8");
    CHECK(rig.of_container() == "400000 100000");
    rig.ratio("none");  // unreadable: unknown
    CHECK(rig.of_container().empty());
  }

  TEST_CASE("8: no limit, no quota; one container without: the pod has none") {
    Rig rig{pod_with(QosClass::kLs, plain(4000))};
    rig.ratio("2.0");
    Container free;
    free.running = true;
    free.cgroup = rig.pod().cgroup.child("free");
    rig.pod().containers.push_back(free);
    CHECK(rig.of_pod().empty());
    CHECK(rig.of(*free.cgroup).empty());
    CHECK(rig.of_container() == "200000 100000");
  }

  TEST_CASE("6: LSR with CPUs 2-5: its CPUs, and no quota, of the pod neither") {
    Rig rig{pod_with(QosClass::kLsr, plain(4000))};
    rig.pod().allocated_cpus = cpus("2-5");
    CHECK(rig.of_container(CgroupFile::kCpuset) == "2-5");
    CHECK(rig.of_container() == "max 100000");
    CHECK(rig.of_pod() == "max 100000");
    CHECK(rig.of_pod(CgroupFile::kCpuset).empty());
    rig.config.hooks.cpuset_keeps_quota = true;
    CHECK(rig.of_pod().empty());
    CHECK(rig.of_container().empty());
  }

  TEST_CASE("6: pools 2-15 and 18-31") {
    Rig rig{pod_with(QosClass::kLs)};
    const auto set = [&rig] { return rig.of_container(CgroupFile::kCpuset); };
    CHECK(set().empty());  // no topology yet
    rig.give_pools(KubeletCpuPolicy::kNone);
    CHECK(set() == "2-15,18-31");
    rig.pod().allocated_numa = std::vector<int>{1};
    CHECK(set() == "18-31");
    rig.pod().allocated_numa.reset();  // the annotation cannot be read
    CHECK(set().empty());
    rig.pod() = pod_with(QosClass::kBe);
    CHECK(set().empty());  // inherits: no way to write "none" to a running cgroup
    rig.pod() = pod_with(QosClass::kNone);
    CHECK(set() == "2-15,18-31");
    rig.give_pools(KubeletCpuPolicy::kStatic);
    CHECK(set().empty());
  }

  TEST_CASE("shared CPUs that are all there are bound nobody") {
    Rig rig{pod_with(QosClass::kLs)};
    NodeCpuPools all;
    all.shared = {{0, cpus("0-31")}};
    rig.pools = std::make_shared<const NodeCpuPools>(all);
    CHECK(rig.of_container(CgroupFile::kCpuset).empty());
  }

  TEST_CASE("the hook gives a container the very same numbers") {
    struct Row {
      Pod pod;
      const char* ratio;
    };
    auto lsr = pod_with(QosClass::kLsr, plain(4000));
    lsr.allocated_cpus = cpus("2-5");
    auto numa = pod_with(QosClass::kLs, plain(4000));
    numa.allocated_numa = std::vector<int>{1};
    for (const auto& row : {Row{pod_with(QosClass::kBe, batch(500, 1000, 2 * kGi)), "1.5"},
                            Row{pod_with(QosClass::kBe, batch(4, 10, std::nullopt)), "1.5"},
                            Row{pod_with(QosClass::kLs, plain(4000)), "1.2"},
                            Row{pod_with(QosClass::kNone, plain(1000)), "0.8"},
                            Row{lsr, "2.0"},
                            Row{numa, "2.0"}}) {
      for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
        Rig rig{row.pod};
        rig.world.version = version;
        rig.ratio(row.ratio);
        rig.give_pools(KubeletCpuPolicy::kNone);
        HookWorld world;
        world.cgroup_version = version;
        world.config = rig.config;
        world.ratio = normalization_ratio(rig.world.node);
        world.pools = *rig.pools;
        HookAnnotations said;
        said.allocation = CpuAllocation{row.pod.allocated_cpus, *row.pod.allocated_numa};
        const HookContainer given;
        HookAdjustment out;
        for (const auto hook : {Hook::kBatchResources, Hook::kCpuNormalization, Hook::kCpuset}) {
          const auto answer = hook_values(hook,
                                          {row.pod, row.pod.containers.front(), given, said, true},
                                          world,
                                          rig.config.hooks);
          REQUIRE(answer.has_value());
          lay_over(out, *answer);
        }
        const auto& r = out.resources;
        const bool v1 = version == CgroupVersion::kV1;
        CHECK(rig.of_container() ==
              (r.cpu_quota ? to_string(CgroupValue{CpuMax{*r.cpu_quota, *r.cpu_period}}) : ""));
        CHECK(rig.of_container(CgroupFile::kCpuset) == (r.cpus ? r.cpus->to_string() : ""));
        CHECK(rig.of_container(CgroupFile::kMemoryMax) ==
              (r.memory_limit ? to_string(CgroupValue{*r.memory_limit}) : ""));
        std::string weight;
        if (r.cpu_shares) {
          const auto shares = static_cast<std::int64_t>(*r.cpu_shares);
          weight = std::to_string(v1 ? shares : weight_of(shares, WeightRule::kLinear));
        }
        CHECK(rig.of_container(CgroupFile::kCpuWeight) == weight);
      }
    }
  }

  TEST_CASE("pitfall 98: limit 4, ratio 2.0, boost 1.5: 300000") {
    Rig rig{pod_with(QosClass::kLs, plain(4000))};
    rig.ratio("2.0");
    rig.config.burst.enable = true;
    rig.config.burst.quota_percent = 150;
    rig.pod().containers.front().runtime = "containerd";
    CpuBurst::State burst;
    burst.summary.gate_open = true;
    std::map<std::string, ContainerUsage> usage;
    std::vector<Proposal> boosts;
    for (int i = 0; i < 4; ++i) {  // 200000, 240000, 288000, 300000: half above at most
      rig.world.wait(seconds{1});
      rig.world.sample(1000, 0);
      auto& u = usage["containerd://a-c"];
      u.at = rig.world.now;
      u.cpu = MilliCpu{2000};
      u.throttled = Permille{300};
      auto snap = rig.snap();
      snap.containers = &usage;
      auto decided = CpuBurst::decide(snap, rig.config, std::move(burst));
      burst = std::move(decided.state);
      boosts = std::move(decided.proposals);
    }
    const auto table = rig.merged(boosts);
    CHECK(wish(table, *rig.pod().containers.front().cgroup) == "300000 100000");
    CHECK(wish(table, rig.pod().cgroup) == "300000 100000");
  }

  TEST_CASE("caps stay stronger; CPUs outside of the cap are no way around it") {
    Rig rig{pod_with(QosClass::kBe, batch(500, 1000, kGi))};
    rig.pod().allocated_cpus = cpus("4-5");
    rig.config.hooks.cpuset_keeps_quota = true;
    const auto at = *rig.pod().containers.front().cgroup;
    auto table = rig.merged({cap(rig.pod().cgroup, CgroupFile::kCpuMax, quota(15'000)),
                             cap(at, CgroupFile::kCpuset, cpus("0-3"))});
    CHECK(wish(table, rig.pod().cgroup) == "15000 100000");
    CHECK(wish(table, at, CgroupFile::kCpuset) == "0-3");
    CHECK(table.at({rig.pod().cgroup, CgroupFile::kCpuMax}).losers.size() == 1);
    table = rig.merged({cap(at, CgroupFile::kCpuset, cpus("5-7"))}, std::move(table));
    CHECK(wish(table, at, CgroupFile::kCpuset) == "5");
    CHECK(wish(table, rig.pod().cgroup) == "100000 100000");
    CHECK_FALSE(table.at({at, CgroupFile::kCpuset}).steady);
    CHECK(table.at({at, CgroupFile::kMemoryMax}).steady);
  }

  TEST_CASE("the list stays the same one while nothing changes, and so does its time") {
    Rig rig{pod_with(QosClass::kBe, batch(500, 1000, kGi))};
    auto snap = rig.snap();
    rig.state = SpecValues::decide(snap, rig.config, {});
    const auto list = rig.state.list;
    auto table = arbitrate({}, list->by_key, {}, rig.world.version, kBeRoot, rig.world.now);
    const auto first = rig.world.now;
    snap.now += seconds{1};
    rig.state = SpecValues::decide(snap, rig.config, std::move(rig.state));
    CHECK(rig.state.list == list);
    table = arbitrate({}, list->by_key, std::move(table), rig.world.version, kBeRoot, snap.now);
    CHECK(table.size() == 6);
    for (const auto& [key, wish] : table) CHECK(wish.since == first);
    snap.weight_rules.pods = WeightRule::kLog;
    rig.state = SpecValues::decide(snap, rig.config, std::move(rig.state));
    CHECK(wish(rig.state.list->all, rig.pod().cgroup, CgroupFile::kCpuWeight) == "59");
    table = arbitrate(
        {}, rig.state.list->by_key, std::move(table), rig.world.version, kBeRoot, snap.now);
    CHECK(table.at({rig.pod().cgroup, CgroupFile::kCpuWeight}).since == snap.now);
    CHECK(table.at({rig.pod().cgroup, CgroupFile::kCpuMax}).since == first);
  }
}
