#include "runtime/nri_host.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "net/ttrpc_peer.hpp"
#include "net/unix_connect.hpp"
#include "nri_fixture.hpp"
#include "runtime/nri_messages.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using std::chrono::milliseconds;

HookPod a_pod() {
  HookPod out;
  out.id = "pod1";
  out.uid = "uid-1";
  return out;
}
HookContainer a_container(const std::string& id = "c1") {
  HookContainer out;
  out.id = id;
  out.pod_id = "pod1";
  out.name = "app";
  return out;
}

/// The host with a scripted world behind it, and no plugin yet.
struct HostRig {
  explicit HostRig(milliseconds timeout = milliseconds{10'000}) {
    NriHost::Options options;
    options.socket = socket();
    options.runtime_name = "proxy";
    options.timeout = timeout;
    options.retry = milliseconds{1};
    options.part_bytes = 64;
    NriHost::Deps deps;
    deps.inventory = [this] { return list(); };
    deps.update = [this](HookUpdate update) { return apply(std::move(update)); };
    deps.is_known = [this](const std::string&) { return known; };
    deps.on_change = [this] { ++changes; };
    host = std::make_unique<NriHost>(io.get_executor(), std::move(options), std::move(deps), clock);
    host->listen().value();
    task = std::make_unique<Started<int>>(io, body(*host));
  }
  ~HostRig() {
    task->cancel();
    run_until(io, [this] { return task->done(); });
  }
  static boost::asio::awaitable<int> body(NriHost& host) {
    co_await host.run();
    co_return 0;
  }
  boost::asio::awaitable<Result<HookInventory>> list() {
    ++listed;
    if (fail_lists-- > 0) co_return Error{Errc::kBusy, "the runtime is away"};
    co_return inventory;
  }
  boost::asio::awaitable<Result<void>> apply(HookUpdate update) {
    Result<void> out;
    if (update.container_id == "broken") out = Error{Errc::kInvalid, "no such value"};
    if (update.container_id == "gone") out = Error{Errc::kNotFound, "no such container"};
    if (fail_updates > 0) {
      --fail_updates;
      co_return Error{Errc::kBusy, "the runtime is away"};
    }
    applied.push_back(std::move(update));
    co_return out;
  }
  std::string socket() const { return tree.path("hooks.sock"); }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  template <class T>
  T call(boost::asio::awaitable<T> body) {
    return run(io, std::move(body));
  }
  Result<std::optional<HookAdjustment>> create(const std::string& id = "c1") {
    return call(host->create_container(a_pod(), a_container(id)));
  }

  FakeTree tree;
  ManualClock clock;
  boost::asio::io_context io;
  HookInventory inventory{{a_pod()}, {a_container("old1"), a_container("old2")}};
  int listed = 0, fail_lists = 0, fail_updates = 0, changes = 0;
  bool known = true;
  std::vector<HookUpdate> applied;
  std::unique_ptr<NriHost> host;
  std::unique_ptr<Started<int>> task;
};

/// The daemon's end, as it is.
struct Plugin {
  explicit Plugin(HostRig& r, HookFailurePolicy policy = HookFailurePolicy::kIgnore) : rig{r} {
    auto options = NriPair::quick();
    options.socket = r.socket();
    options.plugin.policy = policy;
    nri = NriConnection::make(r.io.get_executor(), options, hook, clock).value();
  }
  ~Plugin() { stop(); }
  bool start() {
    task = std::make_unique<Started<int>>(rig.io, NriPair::body(*nri));
    return rig.until([&] {
      return nri->status().state == NriStatus::State::kReady && rig.host->session() != 0;
    });
  }
  void stop() {
    if (!task) return;
    task->cancel();
    run_until(rig.io, [this] { return task->done(); });
    task.reset();
  }
  HostRig& rig;
  SystemClock clock;
  ScriptedHook hook;
  std::unique_ptr<NriConnection> nri;
  std::unique_ptr<Started<int>> task;
};

using Calls = std::vector<std::string>;

}  // namespace

TEST_SUITE("nri_host") {
  TEST_CASE("the daemon is told what there is, in parts, and its answer is carried out") {
    HostRig r;
    Plugin p{r};
    p.hook.sync_answer = std::vector<HookUpdate>{quota_update("old1", 50'000)};
    REQUIRE(p.start());
    REQUIRE(p.hook.inventories.size() == 1);
    CHECK(p.hook.inventories[0].pods == r.inventory.pods);
    CHECK(p.hook.inventories[0].containers == r.inventory.containers);
    CHECK(r.host->status().plugin == "00-koordlet_nri");
    CHECK(p.nri->status().runtime.runtime_name == "proxy");
    REQUIRE(r.until([&] { return r.applied.size() == 1; }));
    CHECK(r.applied[0] == quota_update("old1", 50'000));
    CHECK(r.host->session() == 1);
  }

  TEST_CASE("nobody there: nothing is asked, and nothing waits") {
    HostRig r;
    CHECK(r.host->session() == 0);
    const auto out = r.create();
    REQUIRE(out.has_value());
    CHECK_FALSE(out->has_value());
    r.host->happened(HookEvent::kRunPod, a_pod(), nullptr);
    r.host->missed(a_pod(), a_container());
    CHECK(r.host->status().asked == 0);
  }

  TEST_CASE("a creation, an update of the container and of another one, a stop") {
    HostRig r;
    Plugin p{r};
    REQUIRE(p.start());
    runtime::NriEvents::Creation creation;
    creation.adjustment.oom_score_adj = 900;
    p.hook.creation = creation;
    const auto created = r.create();
    REQUIRE((created && *created));
    CHECK((*created)->oom_score_adj == 900);
    CHECK(p.hook.last_container.name == "app");
    p.hook.updates =
        std::vector<HookUpdate>{quota_update("c1", 7'000), quota_update("old2", 8'000)};
    const auto updated = r.call(r.host->update_container(a_pod(), a_container(), {}));
    REQUIRE((updated && *updated));
    CHECK(**updated == quota_update("c1", 7'000).resources);
    REQUIRE(r.until([&] { return r.applied.size() == 1; }));
    CHECK(r.applied[0].container_id == "old2");
    p.hook.updates = std::vector<HookUpdate>{};
    auto stopping = [](NriHost& host) -> boost::asio::awaitable<int> {
      co_await host.stopping(a_pod(), a_container());
      co_return 0;
    };
    r.call(stopping(*r.host));
    CHECK(p.hook.calls == Calls{"create pod1 c1", "update pod1 c1", "stop pod1 c1"});
  }

  TEST_CASE("events in their order, and only those that the daemon wants") {
    HostRig r;
    Plugin p{r};
    REQUIRE(p.start());
    const auto c = a_container();
    r.host->happened(HookEvent::kRunPod, a_pod(), nullptr);
    r.host->happened(HookEvent::kPostCreateContainer, a_pod(), &c);  // not subscribed
    r.host->happened(HookEvent::kPostStartContainer, a_pod(), &c);
    r.host->happened(HookEvent::kRemoveContainer, a_pod(), &c);
    r.host->happened(HookEvent::kRemovePod, a_pod(), nullptr);
    REQUIRE(r.until([&] { return p.hook.calls.size() == 4; }));
    CHECK(p.hook.calls == Calls{"RunPodSandbox pod1",
                                "PostStartContainer pod1 c1",
                                "RemoveContainer pod1 c1",
                                "RemovePodSandbox pod1"});
  }

  TEST_CASE("what happens while the daemon is introduced reaches it behind Synchronize") {
    HostRig r;
    r.fail_lists = 3;
    Plugin p{r};
    runtime::NriEvents::Creation creation;
    creation.adjustment.resources = quota_update("", 3'000).resources;
    p.hook.creation = creation;
    p.task = std::make_unique<Started<int>>(r.io, NriPair::body(*p.nri));
    REQUIRE(r.until([&] { return r.listed == 1; }));
    CHECK(r.host->session() == 0);
    r.host->happened(HookEvent::kRunPod, a_pod(), nullptr);
    r.host->missed(a_pod(), a_container("late"));
    REQUIRE(r.until([&] { return r.applied.size() == 1; }));
    CHECK(r.listed == 4);
    CHECK(p.hook.calls == Calls{"RunPodSandbox pod1", "create pod1 late"});
    CHECK(p.hook.inventories.size() == 1);
    CHECK(r.applied[0] == quota_update("late", 3'000));
    CHECK(r.host->status().repaired == 1);
  }

  TEST_CASE("updates that the daemon wants by itself; those that fail are told") {
    HostRig r;
    Plugin p{r};
    REQUIRE(p.start());
    p.nri->queue(quota_update("old1", 9'000)).value();
    REQUIRE(r.until([&] { return p.nri->status().updates_sent == 1; }));
    CHECK(r.applied.at(0) == quota_update("old1", 9'000));
    p.nri->queue(quota_update("broken", 9'000)).value();
    REQUIRE(r.until([&] { return p.nri->status().updates_failed == 1; }));
    CHECK(r.host->status().updates_failed == 1);
  }

  TEST_CASE("updates that the runtime cannot take now are tried again, the newest over the older") {
    HostRig r;
    r.fail_updates = 4;
    Plugin p{r};
    p.hook.sync_answer =
        std::vector<HookUpdate>{quota_update("old1", 1'000), quota_update("old2", 2'000)};
    REQUIRE(p.start());
    REQUIRE(r.until([&] { return r.host->status().updates_waiting == 2; }));
    HookUpdate newer = quota_update("old1", 3'000);
    newer.resources.cpu_shares = 512;
    p.nri->queue(newer).value();
    REQUIRE(r.until([&] { return r.host->status().updates == 2; }));
    CHECK(r.applied.size() == 2);
    CHECK(r.host->status().updates_waiting == 0);
    CHECK(r.host->status().updates_failed == 0);
    for (const auto& update : r.applied) {
      if (update.container_id == "old2") CHECK(update == quota_update("old2", 2'000));
    }
    // It may have come before or after the first success; in the end it is what holds.
    REQUIRE(r.until([&] { return p.nri->status().updates_sent == 1; }));
    const auto last = std::find_if(r.applied.rbegin(), r.applied.rend(), [](const auto& update) {
      return update.container_id == "old1";
    });
    CHECK(last->resources.cpu_quota == Limit{std::chrono::microseconds{3'000}});
  }

  TEST_CASE("an update of a container that is gone waits only while somebody knows it") {
    HostRig r;
    Plugin p{r};
    p.hook.sync_answer = std::vector<HookUpdate>{quota_update("gone", 1'000)};
    REQUIRE(p.start());
    REQUIRE(r.until([&] { return r.applied.size() > 2; }));
    CHECK(r.host->status().updates_waiting == 1);
    r.known = false;
    REQUIRE(r.until([&] { return r.host->status().updates_failed == 1; }));
    CHECK(r.host->status().updates_waiting == 0);
  }

  TEST_CASE("part VII, proxy: a hook that fails: Ignore changes nothing, Fail refuses") {
    for (const auto policy : {HookFailurePolicy::kIgnore, HookFailurePolicy::kFail}) {
      HostRig r;
      Plugin p{r, policy};
      REQUIRE(p.start());
      p.hook.creation = Error{Errc::kInvalid, "web/app: no such CPU"};
      const auto out = r.create();
      if (policy == HookFailurePolicy::kIgnore) {
        REQUIRE((out && *out));
        CHECK(**out == HookAdjustment{});
      } else {
        REQUIRE(out.has_error());
        CHECK(out.error().context.find("web/app: no such CPU") != std::string::npos);
        CHECK(r.host->status().refused == 1);
      }
      CHECK(r.host->session() == 1);
    }
  }

  TEST_CASE("a second connection is turned away; the next one after the first ended is not") {
    HostRig r;
    {
      Plugin p{r};
      REQUIRE(p.start());
      auto other = net::connect_unix(r.io.get_executor(), r.socket()).value();
      REQUIRE(r.until([&] { return r.host->status().turned_away == 1; }));
      CHECK(r.host->session() == 1);
    }
    REQUIRE(r.until([&] { return r.host->session() == 0; }));
    Plugin again{r};
    REQUIRE(again.start());
    CHECK(r.host->session() == 2);
    CHECK(r.listed == 2);
  }
}

namespace {

/// A daemon that registers, and answers no hook, or with what is no message.
struct OddDaemon {
  explicit OddDaemon(HostRig& r, std::string sync = {}, std::optional<std::string> hooks = {})
      : rig{r} {
    net::TtrpcPeer::Options options;
    options.name = "host";
    const auto answer = [sync, hooks](const net::TtrpcRequest& request,
                                      const net::TtrpcPeer::Reply& reply) {
      if (request.method == "Configure") return reply({});
      if (request.method == "Synchronize") return reply({0, {}, sync});
      if (hooks) reply({0, {}, *hooks});
    };
    peer =
        std::make_unique<net::TtrpcPeer>(net::connect_unix(r.io.get_executor(), r.socket()).value(),
                                         options,
                                         net::TtrpcPeer::LateHandler{answer},
                                         [](const Error&) {});
  }
  Result<std::string> call(const std::string& method, const std::string& body) {
    return rig.call(peer->call({"nri.pkg.api.v1alpha1.Runtime", method, body, {}}));
  }
  bool registers() { return call("RegisterPlugin", encode_register("odd", "10")).has_value(); }
  bool is_closed() {
    return rig.until([&] { return peer->failure().has_value(); });
  }
  HostRig& rig;
  std::unique_ptr<net::TtrpcPeer> peer;
};

}  // namespace

TEST_SUITE("nri_host faults") {
  TEST_CASE("a peer that never registers, one whose words are no messages") {
    HostRig r;
    {
      OddDaemon silent{r};
      REQUIRE(r.until([&] { return r.host->status().connections == 1; }));
    }
    REQUIRE(r.until([&] { return r.host->status().why != "connected, not registered"; }));
    OddDaemon odd{r};
    CHECK(odd.call("RegisterPlugin", "\xff").error().code == Errc::kInvalid);
    CHECK(odd.call("RegisterPlugin", "").error().code == Errc::kInvalid);
    CHECK(odd.call("UpdateContainers", "\xff").error().code == Errc::kInvalid);
    CHECK(odd.call("UpdateContainers", encode_update_containers({HookUpdate{}})).error().code ==
          Errc::kInvalid);
    CHECK(odd.call("Dance", "").error().code == Errc::kNotSupported);
    CHECK(r.host->session() == 0);
    CHECK(r.applied.empty());
  }

  TEST_CASE("a daemon that does not answer delays one call, and is closed") {
    HostRig r{milliseconds{20}};
    OddDaemon daemon{r};
    REQUIRE(daemon.registers());
    REQUIRE(r.until([&] { return r.host->session() == 1; }));
    auto out = r.create();
    REQUIRE(out.has_value());
    CHECK_FALSE(out->has_value());
    CHECK(daemon.is_closed());
    CHECK(r.host->status().unanswered == 1);
    REQUIRE(r.until([&] { return r.host->session() == 0; }));
    CHECK(r.host->status().why.find("CreateContainer") != std::string::npos);
  }

  TEST_CASE("one that hangs again is turned away, twice as long each time, until it answers") {
    HostRig r{milliseconds{20}};
    const auto hang = [&] {
      OddDaemon daemon{r};
      REQUIRE(daemon.registers());
      REQUIRE(r.until([&] { return r.host->session() != 0; }));
      CHECK_FALSE(r.create()->has_value());
      CHECK(daemon.is_closed());
      REQUIRE(r.until([&] { return r.host->session() == 0; }));
    };
    const auto is_turned_away = [&] {
      const auto before = r.host->status().turned_away;
      OddDaemon daemon{r};
      const bool registered = daemon.registers();
      const bool counted = r.host->status().turned_away == before + 1;
      CHECK(registered != counted);
      return !registered;
    };
    hang();  // the first is forgiven
    hang();
    CHECK(r.host->status().hangs == 2);
    CHECK(r.host->status().why.find("2 times in a row") != std::string::npos);
    for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
      CAPTURE(seconds);
      r.clock.advance(std::chrono::seconds{seconds} - milliseconds{1});
      CHECK(is_turned_away());
      r.clock.advance(milliseconds{1});
      hang();
    }
    r.clock.advance(std::chrono::seconds{60});
    {
      OddDaemon daemon{r, {}, std::string{}};
      REQUIRE(daemon.registers());
      REQUIRE(r.until([&] { return r.host->session() != 0; }));
      CHECK(r.create()->has_value());
      CHECK(r.host->status().hangs == 0);
    }
    REQUIRE(r.until([&] { return r.host->session() == 0; }));
    hang();
    CHECK_FALSE(is_turned_away());
  }

  TEST_CASE("answers that are no messages: the request passes, the connection does not live on") {
    for (const std::string method : {"create", "update"}) {
      HostRig r;
      OddDaemon daemon{r, {}, "\xff\xff"};
      REQUIRE(daemon.registers());
      REQUIRE(r.until([&] { return r.host->session() == 1; }));
      if (method == "create") {
        CHECK_FALSE(r.create()->has_value());
      } else {
        CHECK_FALSE(r.call(r.host->update_container(a_pod(), a_container(), {}))->has_value());
      }
      CHECK(daemon.is_closed());
    }
  }

  TEST_CASE("Synchronize answered with what is no message, or with an update of nobody") {
    for (const auto& sync : {std::string{"\xff"}, encode_updates({HookUpdate{}})}) {
      HostRig r;
      OddDaemon daemon{r, sync};
      REQUIRE(daemon.registers());
      CHECK(daemon.is_closed());
      CHECK(r.host->session() == 0);
      CHECK(r.applied.empty());
    }
  }
}

}  // namespace koordlet::test
