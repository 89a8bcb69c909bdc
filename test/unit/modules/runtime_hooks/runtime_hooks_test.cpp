#include "modules/runtime_hooks/runtime_hooks.hpp"

#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "unit/runtime/nri_fixture.hpp"

namespace koordlet::test {
namespace {

using policy::Hook;
using policy::QuotaUs;
using std::chrono::microseconds;

QuotaUs us(std::int64_t v) { return QuotaUs{microseconds{v}}; }

std::shared_ptr<NodeState> empty_state(std::uint64_t version) {
  auto out = std::make_shared<NodeState>();
  out->version = version;
  return out;
}

/// RuntimeHooks on a queue that is a list.
struct Rig {
  explicit Rig(RuntimeHooks::Config config = {}) {
    deps.on_start = [this](const std::string& uid) { started.push_back(uid); };
    deps.queue = [this](HookUpdate update) -> Result<void> {
      if (busy) return Error{Errc::kBusy, "not ready"};
      queued.push_back(std::move(update));
      return {};
    };
    hooks = std::make_unique<RuntimeHooks>(config, deps, clock);
  }
  void push() { hooks->push(empty_state(++version), world, true); }
  std::vector<HookUpdate> synchronize(const HookInventory& all) {
    std::vector<HookUpdate> out;
    hooks->begin_synchronize(all);
    while (hooks->synchronize_some(out).value()) {
    }
    return out;
  }
  HookAdjustment create(const HookPod& pod, const HookContainer& c) {
    return hooks->create_container(pod, c)->adjustment;
  }

  SystemClock clock;
  RuntimeHooks::Deps deps;
  std::vector<std::string> started;
  std::vector<HookUpdate> queued;
  bool busy = false;
  std::uint64_t version = 0;
  policy::HookWorld world;
  std::unique_ptr<RuntimeHooks> hooks;
};

HookPod be_pod(int n, std::int64_t request, std::int64_t limit) {
  HookPod out;
  out.id = fmt::format("s{}", n);
  out.uid = fmt::format("u{}", n);
  out.ns = "jobs";
  out.name = fmt::format("job-{}", n);
  out.labels["koordinator.sh/qosClass"] = "BE";
  out.cgroup_parent = CgroupPath::parse(fmt::format("kubepods/besteffort/podu{}", n)).value();
  out.annotations["node.koordinator.sh/extended-resource-spec"] =
      fmt::format(R"({{"containers":{{"app":{{"requests":{{"kubernetes.io/batch-cpu":"{}"}},)"
                  R"("limits":{{"kubernetes.io/batch-cpu":"{}"}}}}}}}})",
                  request,
                  limit);
  return out;
}
HookPod ls_pod() {
  HookPod out = be_pod(1, 0, 0);
  out.annotations.clear();
  out.labels["koordinator.sh/qosClass"] = "LS";
  out.cgroup_parent = CgroupPath::parse("kubepods/burstable/podu1").value();
  return out;
}
HookContainer app(int n) {
  HookContainer out;
  out.id = fmt::format("c{}", n);
  out.pod_id = fmt::format("s{}", n);
  out.name = "app";
  return out;
}

}  // namespace

TEST_SUITE("runtime_hooks") {
  TEST_CASE("before the first tick, and while paused, nothing is changed") {
    Rig t;
    CHECK(policy::is_empty(t.create(be_pod(1, 500, 1000), app(1))));
    t.push();
    // What started before is put right as soon as something is known.
    REQUIRE(t.queued.size() == 1);
    CHECK(t.queued[0].container_id == "c1");
    CHECK(t.queued[0].resources.cpu_shares == 512);
    t.hooks->push(empty_state(9), t.world, false);
    CHECK(policy::is_empty(t.create(be_pod(2, 500, 1000), app(2))));
  }

  TEST_CASE("where the tick keeps the values, no running container is updated unasked") {
    RuntimeHooks::Config config;
    config.follow = false;
    Rig t{config};
    CHECK(policy::is_empty(t.create(be_pod(1, 500, 1000), app(1))));  // nothing is known yet
    t.push();
    t.push();
    CHECK(t.queued.empty());
    HookInventory all;
    all.pods.push_back(be_pod(1, 500, 1000));
    all.containers.push_back(app(1));
    const auto repaired = t.synchronize(all);  // but what the runtime asks is answered
    REQUIRE(repaired.size() == 1);
    CHECK(repaired[0].resources.cpu_shares == 512);
  }

  TEST_CASE("a BE container that starts under a cap gets at most the cap, and hands it over") {
    Rig t;
    t.world.factor_permille = 300;
    t.push();
    const auto pod = be_pod(1, 4000, 4000);
    CHECK(t.create(pod, app(1)).resources.cpu_quota == us(120'000));
    CHECK(t.hooks->status().capped_starts == 1);
    t.push();  // nothing is other than it was
    CHECK(t.queued.empty());
    // The pod's own file has the cap: the container needs none of its own.
    DesiredTable desired;
    desired[{*pod.cgroup_parent, CgroupFile::kCpuMax}].value =
        CpuMax{us(120'000), policy::kQuotaPeriod};
    t.world.desired = &desired;
    t.push();
    REQUIRE(t.queued.size() == 1);
    CHECK(t.queued[0].resources.cpu_quota == us(400'000));
  }

  TEST_CASE("the cap of a pod that stays unknown follows the pressure") {
    Rig t;
    t.world.factor_permille = 300;
    t.push();
    t.create(be_pod(1, 1000, 4000), app(1));
    t.world.factor_permille = 700;
    t.push();
    REQUIRE(t.queued.size() == 1);
    CHECK(t.queued[0].resources.cpu_quota == us(70'000));
    t.busy = true;
    t.world.factor_permille = 300;
    t.push();
    t.busy = false;
    t.push();
    REQUIRE(t.queued.size() == 2);
    CHECK(t.queued[1].resources.cpu_quota == us(30'000));
  }

  TEST_CASE("UpdateContainer keeps our cap: the kubelet's own quota is answered with ours") {
    Rig t;
    t.world.factor_permille = 300;
    t.push();
    const auto pod = be_pod(1, 1000, 4000);
    t.create(pod, app(1));
    HookResources asked;
    asked.cpu_quota = QuotaUs::unlimited();
    asked.cpu_shares = 2;
    const auto out = t.hooks->update_container(pod, app(1), asked).value();
    REQUIRE(out.size() == 1);
    CHECK(out[0].container_id == "c1");
    CHECK(out[0].resources.cpu_quota == us(30'000));
    CHECK(out[0].resources.cpu_shares == 1024);
  }

  TEST_CASE("part VII: quota 400000, ratio 2.0: 200000, and again 200000 when that comes back") {
    RuntimeHooks::Config config;
    config.switches.cpu_normalization = true;
    Rig t{config};
    t.world.ratio = 2.0;
    t.push();
    auto c = app(1);
    c.resources.cpu_quota = us(400'000);
    c.resources.cpu_period = microseconds{100'000};
    CHECK(t.create(ls_pod(), c).resources.cpu_quota == us(200'000));
    for (const std::int64_t asked : {400'000, 200'000, 200'000}) {
      HookResources r;
      r.cpu_quota = us(asked);
      const auto out = t.hooks->update_container(ls_pod(), c, r).value();
      REQUIRE(out.size() == 1);
      CHECK(out[0].container_id == "c1");
      CHECK(out[0].resources.cpu_quota == us(200'000));
    }
    // Weakness 17: switched off, the quota of the limit goes back.
    t.world.ratio.reset();
    t.push();
    REQUIRE(t.queued.size() == 1);
    CHECK(t.queued[0].resources.cpu_quota == us(400'000));
  }

  TEST_CASE("Synchronize repairs only the containers whose values differ") {
    Rig t;
    t.push();
    HookInventory all;
    for (int n = 0; n < 10; ++n) {
      all.pods.push_back(be_pod(n, 500, 1000));
      auto c = app(n);
      c.state = HookContainer::State::kRunning;
      if (n != 3) {
        c.resources.cpu_shares = 512;
        c.resources.cpu_quota = us(100'000);
        c.resources.cpu_period = microseconds{100'000};
      }
      all.containers.push_back(c);
    }
    all.containers[7].state = HookContainer::State::kStopped;
    const auto out = t.synchronize(all);
    REQUIRE(out.size() == 1);
    CHECK(out[0].container_id == "c3");
    CHECK(out[0].resources.cpu_quota == us(100'000));
    CHECK(t.hooks->status().containers == 9);
  }

  TEST_CASE("pools that change reach the containers that run") {
    Rig t;
    t.world.pools = policy::CpuPools{};
    t.world.pools->shared = {{0, CpuSet::range(2, 15)}};
    t.push();
    CHECK(t.create(ls_pod(), app(1)).resources.cpus == CpuSet::range(2, 15));
    t.world.pools->shared = {{0, CpuSet::range(6, 15)}};
    t.push();
    REQUIRE(t.queued.size() == 1);
    CHECK(t.queued[0].resources.cpus == CpuSet::range(6, 15));
    t.hooks->stop_container(ls_pod(), app(1));
    t.world.pools->shared = {{0, CpuSet::range(8, 15)}};
    t.push();
    CHECK(t.queued.size() == 1);
  }

  TEST_CASE("pitfall 148: a hook that fails: Fail is an error, Ignore the others' values") {
    for (const auto policy : {HookFailurePolicy::kFail, HookFailurePolicy::kIgnore}) {
      RuntimeHooks::Config config;
      config.failure_policy = policy;
      Rig t{config};
      t.push();
      auto pod = be_pod(1, 500, 1000);
      pod.annotations["scheduling.koordinator.sh/resource-status"] = "{";
      const auto out = t.hooks->create_container(pod, app(1));
      CHECK(out.has_error() == (policy == HookFailurePolicy::kFail));
      if (out) CHECK(out->adjustment.resources.cpu_shares == 512);
      const auto counters = t.hooks->status().hooks[static_cast<std::size_t>(Hook::kCpuset)];
      CHECK(counters.failed == 1);
      CHECK(counters.last_failure.find("jobs/job-1 container app: cpuset: ") == 0);
    }
  }

  TEST_CASE("a hook that throws is a failure of that hook alone") {
    Rig t;
    t.deps.values = [](Hook hook, const auto& s, const auto& w, const auto& switches) {
      if (hook == Hook::kMemoryQos) throw std::runtime_error{"no such thing"};
      return policy::hook_values(hook, s, w, switches);
    };
    t.hooks = std::make_unique<RuntimeHooks>(RuntimeHooks::Config{}, t.deps, t.clock);
    t.push();
    CHECK(t.create(be_pod(1, 500, 1000), app(1)).resources.cpu_shares == 512);
    CHECK(t.hooks->status().hooks[static_cast<std::size_t>(Hook::kMemoryQos)].failed == 1);
  }

  TEST_CASE("a pod that hands are kept off is left alone") {
    Rig t;
    t.world.config.hands_off_namespaces = {"jobs"};
    t.push();
    auto pod = be_pod(1, 500, 1000);
    pod.annotations["koordinator.sh/qos-hands-off"] = "true";
    CHECK(policy::is_empty(t.create(pod, app(1))));
    HookResources asked;
    asked.cpu_shares = 2;
    CHECK(t.hooks->update_container(pod, app(1), asked)->empty());
    CHECK(t.hooks->status().hands_off == 2);
  }

  TEST_CASE("a pod that starts, and a container that runs, make a tick due at once") {
    Rig t;
    t.push();
    CHECK(t.hooks->happened(HookEvent::kRunPod, be_pod(1, 1, 1), nullptr).has_value());
    const auto c = app(1);
    CHECK(t.hooks->happened(HookEvent::kPostStartContainer, be_pod(1, 1, 1), &c).has_value());
    CHECK(t.started == std::vector<std::string>{"u1", "u1"});
  }
}

namespace {

/// Over the wire, with a runtime's end of its own.
struct Wired {
  Wired() : runtime{io.get_executor(), tree.path("nri.sock")} {
    auto options = NriPair::quick();
    options.socket = tree.path("nri.sock");
    nri = runtime::NriConnection::make(io.get_executor(), options, hooks, clock).value();
    policy::HookWorld world;
    world.factor_permille = 300;
    world.config.hands_off_namespaces = {"quiet"};
    world.pools = policy::CpuPools{};
    world.pools->shared = {{0, CpuSet::range(2, 15)}};
    hooks.push(empty_state(1), world, true);
    task = std::make_unique<Started<int>>(io, NriPair::body(*nri));
    REQUIRE(until([&] { return nri->status().state == runtime::NriStatus::State::kReady; }));
  }
  ~Wired() {
    task->cancel();
    run_until(io, [this] { return task->done(); });
  }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  std::string ask(const std::string& method, const std::string& body) {
    const auto stream = runtime.ask(method, body);
    until([&] { return runtime.answer(stream) != nullptr; });
    const auto* out = runtime.answer(stream);
    return out != nullptr && out->status == 0 ? out->payload : "no answer";
  }

  FakeTree tree;
  boost::asio::io_context io;
  SystemClock clock;
  RuntimeHooks hooks{{}, {}, clock};
  FakeNriRuntime runtime;
  std::unique_ptr<runtime::NriConnection> nri;
  std::unique_ptr<Started<int>> task;
};

/// One of five kinds of pod by turns, and the answer that it must get, byte for byte.
struct Wanted {
  std::string request, answer;
};
/// CreateContainerResponse with these LinuxResources.
std::string adjustment(const WireMessage& resources) {
  return WireMessage{}.part(1, WireMessage{}.part(6, WireMessage{}.part(2, resources))).str();
}
Wanted wanted(int n) {
  const auto uid = std::to_string(n);
  const char* qos[] = {"BE", "LS", "LSR", "BE", "best"};
  const char* tier[] = {"besteffort/", "burstable/", "", "besteffort/", "burstable/"};
  const int kind = n % 5;
  WireMessage pod;
  pod.bytes(1, "s" + uid).bytes(2, "p" + uid).bytes(3, "u" + uid);
  pod.bytes(4, kind == 3 ? "quiet" : "jobs").entry(5, "koordinator.sh/qosClass", qos[kind]);
  if (kind == 0 || kind == 3) {
    pod.entry(6,
              "node.koordinator.sh/extended-resource-spec",
              R"({"containers":{"app":{"requests":{"kubernetes.io/batch-cpu":"1000"},)"
              R"("limits":{"kubernetes.io/batch-cpu":"2000"}}}})");
  }
  if (kind == 2) pod.entry(6, "scheduling.koordinator.sh/resource-status", R"({"cpuset":"2-5"})");
  if (kind == 3) pod.entry(6, "koordinator.sh/qos-hands-off", "true");
  if (kind == 4) pod.entry(6, "node.koordinator.sh/extended-resource-spec", "{broken");
  pod.part(8, WireMessage{}.bytes(3, std::string{"/kubepods/"} + tier[kind] + "podu" + uid));
  const auto container =
      WireMessage{}.bytes(1, "c" + uid).bytes(2, "s" + uid).bytes(3, "app").number(4, 1);
  Wanted out;
  out.request = WireMessage{}.part(1, pod).part(2, container).str();
  const auto none = static_cast<std::uint64_t>(-1);
  switch (kind) {
    case 0:  // shares of the request; 30 % of the request instead of the limit; no batch-memory
             // limit: none
      out.answer =
          adjustment(WireMessage{}
                         .part(1, WireMessage{}.part(1, WireMessage{}.number(1, none)))
                         .part(2, WireMessage{}.boxed(1, 1024).boxed(2, 30'000).boxed(3, 100'000)));
      break;
    case 1:
    case 4:  // the shared CPUs; a label that is none of the five
      out.answer = adjustment(WireMessage{}.part(2, WireMessage{}.bytes(6, "2-15")));
      break;
    case 2:
      out.answer = adjustment(
          WireMessage{}.part(2, WireMessage{}.boxed(2, none).boxed(3, 100'000).bytes(6, "2-5")));
      break;
    default:
      break;  // hands off
  }
  return out;
}

}  // namespace

TEST_SUITE("runtime_hooks/wire") {
  TEST_CASE("1000 containers while the state knows none of their pods: each starts right") {
    Wired t;
    int right = 0;
    std::string first_wrong;
    for (int n = 0; n < 1000; ++n) {
      const auto want = wanted(n);
      if (t.ask("CreateContainer", want.request) == want.answer) {
        ++right;
      } else if (first_wrong.empty()) {
        first_wrong = want.request;
      }
    }
    CAPTURE(first_wrong);
    CHECK(right == 1000);
    const auto s = t.hooks.status();
    MESSAGE(fmt::format("right {}/1000, longest answer {} us", right, s.longest_answer.count()));
    CHECK(s.unknown_pods == 1000);
    CHECK(s.hands_off == 200);
    CHECK(t.nri->status().events.failures == 0);
  }
}

}  // namespace koordlet::test
