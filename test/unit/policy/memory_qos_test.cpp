#include "policy/memory_qos.hpp"

#include <doctest/doctest.h>

#include "policy/memory_values.hpp"
#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

struct Ask {
  std::int64_t request, limit;  ///< bytes; limit 0: none
};

Pod pod_of(const std::string& uid, KubeQos kube, QosClass qos, std::vector<Ask> asks) {
  Pod pod;
  pod.uid = pod.name = uid;
  pod.ns = "shop";
  pod.phase = PodPhase::kRunning;
  pod.kube_qos = kube;
  pod.qos = qos;
  const std::string tier = kube == KubeQos::kGuaranteed  ? ""
                           : kube == KubeQos::kBurstable ? "burstable/"
                                                         : "besteffort/";
  pod.cgroup = path("kubepods/" + tier + "pod" + uid);
  int n = 0;
  for (const auto& a : asks) {
    Container c;
    c.name = "c" + std::to_string(++n);
    c.id = uid + c.name;
    c.running = true;
    c.cgroup = pod.cgroup.child(c.name);
    auto& request = qos == QosClass::kBe ? c.requests.batch_memory : c.requests.memory;
    auto& limit = qos == QosClass::kBe ? c.limits.batch_memory : c.limits.memory;
    if (a.request > 0) request = Bytes{a.request};
    if (a.limit > 0) limit = Bytes{a.limit};
    pod.containers.push_back(c);
  }
  return pod;
}

MemoryQosStrategy rule(std::optional<int> min, std::optional<int> low, std::optional<int> high) {
  MemoryQosStrategy out;
  out.min_percent = min;
  out.low_percent = low;
  out.throttling_percent = high;
  return out;
}

struct Rig {
  World world{16'000};
  EffectiveConfig config;
  MemoryQos::Summary sum;
  std::vector<Proposal> proposals;
  bool vendor = false;

  Rig() {
    world.node.memory_capacity = Bytes{64 * kGi};
    world.node.memory_allocatable = Bytes{64 * kGi};
    world.signals.memory_total = Bytes{64 * kGi};
    world.signals.memory_used = Bytes{16 * kGi};
    auto& m = config.memory_qos;
    m.lsr = {true, rule(100, 100, 0)};
    m.ls = {true, rule(50, 80, 80)};
    m.be = {true, rule(0, 0, 80)};
  }
  void look() {
    world.wait(seconds{1});
    world.sample(1000, 0);
    auto snap = world.snap();
    snap.has_memory_min = true;
    snap.has_memory_vendor = snap.has_page_cache_limit = vendor;
    snap.pods = usage;
    auto d = MemoryQos::decide(snap, config, {});
    sum = d.state.summary;
    proposals = std::move(d.proposals);
  }
  std::map<std::string, PodUsage> usage;
  std::string at(std::string_view p, CgroupFile f) const { return wish(proposals, path(p), f); }
  std::string min_low(std::string_view p) const {
    return at(p, CgroupFile::kMemoryMin) + " " + at(p, CgroupFile::kMemoryLow);
  }
};

}  // namespace

TEST_SUITE("policy/memory_qos") {
  TEST_CASE("CGR-1: three classes, their pods and the sums above them") {
    Rig rig;
    rig.world.pods = {
        pod_of("g", KubeQos::kGuaranteed, QosClass::kLsr, {{8 * kGi, 8 * kGi}}),
        pod_of("l", KubeQos::kBurstable, QosClass::kLs, {{2 * kGi, 4 * kGi}, {kGi, 0}}),
        pod_of("b", KubeQos::kBestEffort, QosClass::kBe, {{kGi, 2 * kGi}})};
    rig.look();
    const auto high = CgroupFile::kMemoryHigh;
    CHECK(rig.min_low("kubepods/podg/c1") == "8589934592 8589934592");
    CHECK(rig.at("kubepods/podg/c1", high) == "max");
    CHECK(rig.min_low("kubepods/burstable/podl/c1") == "1073741824 1717986918");
    CHECK(rig.at("kubepods/burstable/podl/c1", high) == "3865468928");
    CHECK(rig.min_low("kubepods/burstable/podl/c2") == "536870912 858993459");
    CHECK(rig.at("kubepods/burstable/podl/c2", high) == "55190327296");
    // The reference floors the percent of the pod's whole request: 3 GiB x 80 %.
    CHECK(rig.min_low("kubepods/burstable/podl") == "1610612736 2576980377");
    CHECK(rig.at("kubepods/burstable/podl", high) == "");
    CHECK(rig.min_low("kubepods/besteffort/podb/c1") == "0 0");
    CHECK(rig.at("kubepods/besteffort/podb/c1", high) == "1932734464");
    CHECK(rig.min_low("kubepods/burstable") == "1610612736 2576980377");
    CHECK(rig.min_low("kubepods/besteffort") == "0 0");
    CHECK(rig.min_low("kubepods") == "10200547328 11166914969");
    CHECK(rig.sum.min_permille == 1000);
  }
  TEST_CASE("CGR-2: a low under min is raised to it") {
    const auto p = memory_protection(Bytes{2 * kGi}, rule(50, 30, {}));
    CHECK(p.min == Bytes{1073741824});
    CHECK(p.low == Bytes{1073741824});
    CHECK(memory_protection(Bytes{2 * kGi}, rule(50, 0, {})).low == Bytes{0});
  }
  TEST_CASE("CGR-3: request = limit and 80 %: high is the limit") {
    const MemoryAsk ask{Bytes{kGi}, Bytes{kGi}};
    CHECK(memory_high(ask, std::nullopt, 80, Bytes{}) == MemoryBound{Bytes{1073741824}});
    CHECK(memory_high({Bytes{kGi}, {}}, std::nullopt, 80, Bytes{}) == std::nullopt);
  }
  TEST_CASE("pitfall 110: 512 MiB to 1 GiB at 90 %, whole pages") {
    const MemoryAsk ask{Bytes{512 << 20}, Bytes{kGi}};
    CHECK(memory_high(ask, std::nullopt, 90, Bytes{}) == MemoryBound{Bytes{1020051456}});
  }
  TEST_CASE(
      "CGR-4: a disabled class gets no proposals, where the original writes 0/0/max/0/50/0: what "
      "is "
      "not proposed gets its original back (pitfall 109), and neutral values would hide "
      "kubelet's") {
    Rig rig;
    rig.world.pods = {pod_of("l", KubeQos::kBurstable, QosClass::kLs, {{2 * kGi, 4 * kGi}})};
    rig.config.memory_qos.ls = {};
    rig.look();
    CHECK(rig.proposals.empty());
    CHECK(rig.sum.on);
    rig.config.memory_qos.lsr = rig.config.memory_qos.be = {};
    rig.look();
    CHECK_FALSE(rig.sum.on);
    CHECK(rig.sum.available == Bytes{48 * kGi});
  }
  TEST_CASE("CGR-5: page-cache limit by percent, and a size capped to the limit") {
    MemoryQosStrategy r;
    r.page_cache_limit_percent = 50;
    CHECK(page_cache_limit(r, Bytes{4 * kGi}) == PageCacheLimit{true, Bytes{2147483648}, false});
    r.page_cache_limit_size = Bytes{8 * kGi};
    CHECK(page_cache_limit(r, Bytes{4 * kGi}) == PageCacheLimit{true, Bytes{4294967296}, false});
    r.page_cache_limit_size = Bytes{0};
    CHECK(page_cache_limit(r, Bytes{4 * kGi}) == PageCacheLimit{false, Bytes{0}, std::nullopt});
    r = {};
    r.page_cache_limit_percent = 50;
    CHECK(page_cache_limit(r, std::nullopt) == PageCacheLimit{});
  }
  TEST_CASE("named files only: vendor kernels, and never oom.group above the pods") {
    Rig rig;
    rig.world.pods = {pod_of("g", KubeQos::kGuaranteed, QosClass::kLsr, {{kGi, kGi}}),
                      pod_of("l", KubeQos::kBurstable, QosClass::kLs, {{kGi, 0}})};
    rig.config.memory_qos.lsr.values.oom_kill_group = 1;
    rig.config.memory_qos.lsr.values.priority = 7;
    rig.look();
    CHECK(rig.at("kubepods/podg", CgroupFile::kMemoryOomGroup) == "1");
    CHECK(rig.at("kubepods/podg/c1", CgroupFile::kMemoryOomGroup) == "1");
    CHECK(rig.at("kubepods", CgroupFile::kMemoryOomGroup) == "");
    CHECK(rig.at("kubepods/burstable/podl", CgroupFile::kMemoryOomGroup) == "");
    CHECK(rig.at("kubepods/podg", CgroupFile::kMemoryPriority) == "");
    rig.vendor = true;
    rig.look();
    CHECK(rig.at("kubepods/podg", CgroupFile::kMemoryPriority) == "7");
    CHECK(rig.at("kubepods", CgroupFile::kMemoryPriority) == "7");
    CHECK(rig.at("kubepods/podg", CgroupFile::kMemoryWmarkRatio) == "");
    CHECK(rig.at("kubepods/burstable", CgroupFile::kMemoryPriority) == "");
  }
  TEST_CASE("the sum of min is at most half of MemTotal, the rest is low") {
    Rig rig;
    rig.world.pods = {pod_of("g", KubeQos::kGuaranteed, QosClass::kLsr, {{40 * kGi, 40 * kGi}}),
                      pod_of("h", KubeQos::kGuaranteed, QosClass::kLsr, {{24 * kGi, 24 * kGi}})};
    rig.look();
    CHECK(rig.sum.min_wanted == Bytes{64 * kGi});
    CHECK(rig.sum.min_permille == 500);
    CHECK(rig.min_low("kubepods/podg/c1") == "21474836480 42949672960");
    CHECK(rig.min_low("kubepods/podh") == "12884901888 25769803776");
    CHECK(rig.min_low("kubepods") == "34359738368 68719476736");
  }
  TEST_CASE("MemTotal unknown: no bound, so nothing is proposed, and it says so") {
    Rig rig;
    rig.world.pods = {pod_of("g", KubeQos::kGuaranteed, QosClass::kLsr, {{kGi, kGi}})};
    rig.world.node.memory_capacity = Bytes{};
    rig.world.signals.memory_total.reset();
    rig.look();
    CHECK(rig.proposals.empty());
    CHECK(rig.sum.why.find("unknown") != std::string::npos);
    CHECK_FALSE(rig.sum.available);
  }
  TEST_CASE("available leaves out page cache that min protects; unmeasured pods are counted") {
    CHECK(protected_cache(Bytes{2}, Bytes{10}, Bytes{5}) == Bytes{3});
    CHECK(protected_cache(Bytes{6}, Bytes{10}, Bytes{5}) == Bytes{0});
    CHECK(protected_cache(Bytes{1}, Bytes{3}, Bytes{9}) == Bytes{2});
    Rig rig;
    rig.world.pods = {pod_of("g", KubeQos::kGuaranteed, QosClass::kLsr, {{8 * kGi, 8 * kGi}}),
                      pod_of("h", KubeQos::kGuaranteed, QosClass::kLsr, {{kGi, kGi}})};
    auto& u = rig.usage["g"];
    u.at = rig.world.now;
    u.memory = Bytes{2 * kGi};
    u.memory_with_cache = Bytes{7 * kGi};
    rig.look();
    CHECK(rig.sum.protected_cache == Bytes{5 * kGi});
    CHECK(rig.sum.available == Bytes{43 * kGi});
    CHECK(rig.sum.unmeasured == 1);
  }
  TEST_CASE("the annotation holds within its class: no throttle is lifted, BE gets no protection") {
    Rig rig;
    Pod be = pod_of("b", KubeQos::kBestEffort, QosClass::kBe, {{kGi, 2 * kGi}});
    const auto rule_of = [&](const Pod& pod) {
      return pod_memory_rule(pod, rig.config.memory_qos);
    };
    be.memory_qos = PodMemoryQos{PodMemoryPolicy::kDefault, rule(100, 100, 0)};
    CHECK(rule_of(be) == rule(0, 0, 80));
    be.memory_qos = PodMemoryQos{PodMemoryPolicy::kNone, rule(100, 100, 0)};
    CHECK(rule_of(be) == rule({}, {}, 80));
    be.memory_qos = PodMemoryQos{PodMemoryPolicy::kDefault, rule({}, {}, 50)};
    CHECK(rule_of(be) == rule(0, 0, 50));
    Pod ls = pod_of("l", KubeQos::kBurstable, QosClass::kLs, {{kGi, 0}});
    ls.memory_qos = PodMemoryQos{PodMemoryPolicy::kAuto, rule(20, {}, {})};
    CHECK(rule_of(ls) == rule(20, 50, 80));
    rig.config.memory_qos.annotations = false;
    CHECK(rule_of(ls) == rule(50, 80, 80));
  }
  TEST_CASE(
      "requests: init containers and overhead count, and one container without a limit is no "
      "limit") {
    Pod pod = pod_of("l", KubeQos::kBurstable, QosClass::kLs, {{kGi, 2 * kGi}, {kGi, 2 * kGi}});
    pod.overhead.memory = Bytes{5};
    CHECK(memory_ask(pod) == MemoryAsk{Bytes{2 * kGi + 5}, Bytes{4 * kGi + 5}});
    pod.containers.push_back(pod.containers[0]);
    pod.containers.back().init = true;
    pod.containers.back().requests.memory = Bytes{3 * kGi};
    CHECK(memory_ask(pod).request == Bytes{3 * kGi + 5});
    pod.containers[0].limits.memory.reset();
    CHECK_FALSE(memory_ask(pod).limit);
  }
}
