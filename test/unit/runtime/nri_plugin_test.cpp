#include "runtime/nri_plugin.hpp"

#include <doctest/doctest.h>

#include "nri_fixture.hpp"
#include "support/hex.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using namespace std::chrono_literals;
using net::TtrpcResponse;

struct PluginRig {
  explicit PluginRig(HookFailurePolicy policy = HookFailurePolicy::kIgnore)
      : plugin{options(policy), hook, clock} {}
  static NriPlugin::Options options(HookFailurePolicy policy) {
    NriPlugin::Options out;
    out.policy = policy;
    return out;
  }
  TtrpcResponse ask(const std::string& method, const std::string& body) {
    return plugin.answer({"nri.pkg.api.v1alpha1.Plugin", method, body, {}});
  }
  TtrpcResponse state_change(std::uint64_t event) {
    return ask("StateChange",
               WireMessage{}.number(1, event).part(2, wire_pod()).part(3, wire_container()).str());
  }

  ManualClock clock;
  ScriptedHook hook;
  NriPlugin plugin;
};

std::string update_body(std::uint64_t quota) {
  const auto cpu = WireMessage{}.boxed(2, quota);
  return wire_both().part(3, WireMessage{}.part(2, cpu)).str();
}

}  // namespace

TEST_SUITE("nri_plugin/events") {
  TEST_CASE("seed: names of events as a mask") {
    CHECK(parse_nri_events("RunPodSandbox,RemovePodSandbox,CreateContainer,UpdateContainer")
              .value() == 141);
    CHECK(parse_nri_events(" StopContainer , RemoveContainer").value() == 0x600);
    for (const auto* wrong :
         {"", ",", "All", "createcontainer", "CreateContainer,,StopContainer"}) {
      CAPTURE(wrong);
      CHECK(parse_nri_events(wrong).has_error());
    }
    CHECK(parse_nri_events("createcontainer").error().context ==
          "events: expected names like CreateContainer, got 'createcontainer'");
    CHECK((kNriEvents & ~kNriKnownEvents) == 0);
  }

  TEST_CASE("reference: Configure is answered by the mask of events") {
    PluginRig t;
    CHECK(t.ask("Configure", "") == TtrpcResponse{0, {}, from_hex("10 cf 0d")});  // 0x6cf
  }

  TEST_CASE("the budget: a quarter of the runtime's limit, 200 ms at most") {
    PluginRig t;
    CHECK(t.plugin.budget() == 200ms);
    t.ask("Configure", WireMessage{}.number(5, 2000).str());
    CHECK(t.plugin.budget() == 200ms);
    t.ask("Configure", WireMessage{}.number(5, 400).str());
    CHECK(t.plugin.budget() == 100ms);
    t.plugin.begin();
    CHECK(t.plugin.budget() == 200ms);
  }

  TEST_CASE("an answer over the budget is counted, and given all the same") {
    PluginRig t;
    t.hook.on_call = [&] { t.clock.advance(200ms); };
    CHECK(t.ask("CreateContainer", wire_both().str()).status == 0);
    CHECK(t.plugin.counters().late == 0);
    t.hook.on_call = [&] { t.clock.advance(201ms); };
    CHECK(t.ask("CreateContainer", wire_both().str()).status == 0);
    CHECK(t.plugin.counters().late == 1);
  }

  TEST_CASE("CreateContainer, with an update of another container") {
    PluginRig t;
    NriEvents::Creation creation;
    creation.adjustment.resources.cpu_shares = 512;
    creation.updates = {quota_update("c2", 66'667)};
    creation.updates[0].ignore_failure = false;
    t.hook.creation = creation;
    const auto out = t.ask("CreateContainer", wire_both().str());
    const auto cpu = [](const WireMessage& m) { return WireMessage{}.part(2, m); };
    const auto adjust =
        WireMessage{}.part(6, WireMessage{}.part(2, cpu(WireMessage{}.boxed(1, 512))));
    const auto update = WireMessage{}.bytes(1, "c2").part(
        2, WireMessage{}.part(1, cpu(WireMessage{}.boxed(2, 66'667))));
    CHECK(out.payload == WireMessage{}.part(1, adjust).part(2, update).str());
    CHECK(t.hook.calls == std::vector<std::string>{"create pod1 c1"});
  }

  TEST_CASE("pitfall 137: UpdateContainer hands on what is asked and names the container") {
    PluginRig t;
    t.hook.updates = std::vector{quota_update("c1", 200'000)};
    for (const std::uint64_t asked : {400'000u, 200'000u}) {
      const auto out = t.ask("UpdateContainer", update_body(asked));
      CHECK(t.hook.last_asked.cpu_quota ==
            Limit{std::chrono::microseconds{static_cast<std::int64_t>(asked)}});
      CHECK(out.payload == encode_updates({quota_update("c1", 200'000)}));
      CHECK(out.payload.find("\x0a\x02"
                             "c1") != std::string::npos);
    }
  }

  TEST_CASE("StateChange and calls of their own reach the same handler") {
    const std::pair<int, const char*> pods[] = {
        {1, "RunPodSandbox"}, {2, "StopPodSandbox"}, {3, "RemovePodSandbox"}};
    const std::pair<int, const char*> containers[] = {{5, "PostCreateContainer"},
                                                      {6, "StartContainer"},
                                                      {7, "PostStartContainer"},
                                                      {9, "PostUpdateContainer"},
                                                      {11, "RemoveContainer"}};
    PluginRig t;
    for (const auto& [number, name] : pods) {
      t.hook.calls.clear();
      CHECK(t.state_change(static_cast<std::uint64_t>(number)) == TtrpcResponse{});
      CHECK(t.ask(name, WireMessage{}.part(1, wire_pod()).str()) == TtrpcResponse{});
      CHECK(t.hook.calls == std::vector<std::string>(2, std::string{name} + " pod1"));
    }
    for (const auto& [number, name] : containers) {
      t.hook.calls.clear();
      CHECK(t.state_change(static_cast<std::uint64_t>(number)) == TtrpcResponse{});
      CHECK(t.ask(name, wire_both().str()) == TtrpcResponse{});
      CHECK(t.hook.calls == std::vector<std::string>(2, std::string{name} + " pod1 c1"));
    }
  }

  TEST_CASE("pitfall 134: an event nobody knows is answered by an empty message") {
    PluginRig t;
    for (const std::uint64_t event : {0u, 4u, 8u, 10u, 12u, 99u})
      CHECK(t.state_change(event) == TtrpcResponse{});
    CHECK(t.hook.calls.empty());
    CHECK(t.plugin.counters().unknown == 6);
  }

  TEST_CASE("seed: an unknown method or service is status 12") {
    PluginRig t;
    CHECK(t.ask("ValidateContainerAdjustment", "").status == 12);
    CHECK(t.plugin.answer({"grpc.health.v1.Health", "Configure", "", {}}).status == 12);
    CHECK(t.ask("Configure", "").status == 0);
  }

  TEST_CASE("Shutdown is answered, and remembered until the next connection") {
    PluginRig t;
    CHECK(t.ask("Shutdown", "") == TtrpcResponse{});
    CHECK(t.plugin.is_shut_down());
    t.plugin.begin();
    CHECK_FALSE(t.plugin.is_shut_down());
  }
}

TEST_SUITE("nri_plugin/synchronize") {
  TEST_CASE("pitfall 130: parts of 100 (more) and 50 become one call with 150") {
    PluginRig t;
    t.hook.sync_answer = std::vector{quota_update("c7", 50'000)};
    CHECK(t.ask("Synchronize", sync_part(0, 100, true)) == TtrpcResponse{0, {}, from_hex("10 01")});
    CHECK(t.hook.inventories.empty());
    CHECK(t.plugin.is_between_parts());
    CHECK_FALSE(t.plugin.is_synchronized());
    const auto last = t.ask("Synchronize", sync_part(100, 50, false));
    CHECK(last.payload == encode_synchronize({quota_update("c7", 50'000)}, 1, false));
    REQUIRE(t.hook.inventories.size() == 1);
    CHECK(t.hook.inventories[0].containers.size() == 150);
    CHECK(t.hook.inventories[0].pods.size() == 2);
    CHECK(t.plugin.is_synchronized());
    CHECK_FALSE(t.plugin.is_between_parts());
  }

  TEST_CASE("a new connection forgets half a Synchronize") {
    PluginRig t;
    t.ask("Synchronize", sync_part(0, 100, true));
    t.plugin.begin();
    t.ask("Synchronize", sync_part(200, 3, false));
    REQUIRE(t.hook.inventories.size() == 1);
    CHECK(t.hook.inventories[0].containers.size() == 3);
  }

  TEST_CASE("parts without end are refused before the memory grows") {
    PluginRig t;
    const auto part =
        WireMessage{}.part(2, wire_container().bytes(7, std::string(4'000'000, 'x'))).number(3, 1);
    int refused = 0;
    for (int n = 0; n < 20; ++n) refused += t.ask("Synchronize", part.str()).status == 3 ? 1 : 0;
    CHECK(refused == 1);  // after 64 MiB, and from the start again
    CHECK_FALSE(t.plugin.is_synchronized());
  }

  TEST_CASE("updates that make the answer too long wait and go out later") {
    PluginRig t;
    std::vector<HookUpdate> many;
    for (int n = 0; n < 4000; ++n)
      many.push_back(quota_update(std::string(60, 'x') + std::to_string(1000 + n), 50'000));
    t.hook.sync_answer = many;
    const auto out = t.ask("Synchronize", sync_part(0, 1, false));
    CHECK(out.payload.size() <= 256 * 1024);
    CHECK(out.payload.size() > 200 * 1024);
    const auto said = updates_within(many, 256 * 1024);
    CHECK(t.plugin.updates().size() == 4000 - said);
  }

  TEST_CASE("a hook that fails: connected without corrections, or refused by the policy") {
    PluginRig ignore;
    ignore.hook.sync_answer = Error{Errc::kIo, "no topology"};
    CHECK(ignore.ask("Synchronize", sync_part(0, 1, false)) == TtrpcResponse{});
    CHECK(ignore.plugin.is_synchronized());
    CHECK(ignore.plugin.counters().failures == 1);
    CHECK(ignore.plugin.counters().last_failure == "Synchronize: no topology");

    PluginRig fail{HookFailurePolicy::kFail};
    fail.hook.on_call = [] { throw std::runtime_error{"thrown"}; };
    const auto out = fail.ask("Synchronize", sync_part(0, 1, false));
    CHECK(out.status == 13);
    CHECK(out.message == "Synchronize: thrown");
    CHECK_FALSE(fail.plugin.is_synchronized());
    CHECK(fail.plugin.counters().failures == 1);
  }

  TEST_CASE("bytes that are no message are refused whatever the policy") {
    PluginRig t;
    CHECK(t.ask("Synchronize", "\xff").status == 3);
    CHECK(t.ask("Configure", "\xff").status == 3);
    CHECK_FALSE(t.plugin.is_synchronized());
    CHECK(t.plugin.counters().damaged == 2);
    CHECK(t.plugin.counters().failures == 0);
  }
}

TEST_SUITE("nri_plugin/failures") {
  TEST_CASE("pitfall 148: a hook's error by each policy") {
    for (const bool thrown : {false, true}) {
      CAPTURE(thrown);
      for (const auto policy : {HookFailurePolicy::kIgnore, HookFailurePolicy::kFail}) {
        PluginRig t{policy};
        const Error why{Errc::kIo, "no\nshares"};
        t.hook.creation = why;
        t.hook.updates = why;
        t.hook.heard = why;
        if (thrown) t.hook.on_call = [] { throw std::runtime_error{"no\nshares"}; };
        const TtrpcResponse answers[] = {t.ask("CreateContainer", wire_both().str()),
                                         t.ask("UpdateContainer", update_body(1)),
                                         t.ask("StopContainer", wire_both().str()),
                                         t.ask("PostStartContainer", wire_both().str()),
                                         t.state_change(1)};
        for (const auto& out : answers) {
          if (policy == HookFailurePolicy::kIgnore) CHECK(out == TtrpcResponse{});
          if (policy == HookFailurePolicy::kFail) CHECK(out.status == 13);
        }
        if (policy == HookFailurePolicy::kFail)
          CHECK(answers[0].message == "CreateContainer: no?shares");
        CHECK(t.plugin.counters().failures == 5);
        CHECK(t.plugin.counters().last_failure == "StateChange: no?shares");
      }
    }
  }

  TEST_CASE("nothing of an answer that breaks the rules is used") {
    PluginRig t;
    NriEvents::Creation creation;
    creation.adjustment.resources.cpu_shares = 512;
    creation.updates = {quota_update("c1", 1000)};  // the one that is being created
    t.hook.creation = creation;
    CHECK(t.ask("CreateContainer", wire_both().str()) == TtrpcResponse{});
    creation.updates.clear();
    creation.adjustment.resources.cpus = CpuSet{};
    t.hook.creation = creation;
    CHECK(t.ask("CreateContainer", wire_both().str()) == TtrpcResponse{});
    for (const auto& wrong : {quota_update("", 1000), quota_update("c1", 0)}) {
      t.hook.updates = std::vector{quota_update("c2", 1000), wrong};
      CHECK(t.ask("UpdateContainer", update_body(1)) == TtrpcResponse{});
      CHECK(t.ask("StopContainer", wire_both().str()) == TtrpcResponse{});
    }
    CHECK(t.plugin.counters().failures == 6);
  }

  TEST_CASE("a request that cannot be read: fail open, or status 3 by the policy") {
    const std::string bodies[] = {"\xff", "", WireMessage{}.part(1, wire_pod()).str()};
    for (const auto& body : bodies) {
      PluginRig ignore;
      PluginRig fail{HookFailurePolicy::kFail};
      CHECK(ignore.ask("CreateContainer", body) == TtrpcResponse{});
      CHECK(fail.ask("CreateContainer", body).status == 3);
      CHECK(ignore.hook.calls.empty());
      CHECK(ignore.plugin.counters().damaged == 1);
      CHECK(fail.plugin.counters().failures == 0);
    }
    PluginRig t;
    CHECK(t.ask("StateChange", WireMessage{}.number(1, 7).part(2, wire_pod()).str()) ==
          TtrpcResponse{});
    CHECK(t.plugin.counters().damaged == 1);
    CHECK(t.plugin.counters().last_failure ==
          "StateChange: PostStartContainer: expected what it is about");
  }
}

TEST_SUITE("nri_plugin/updates") {
  TEST_CASE("the newer is laid over the older of the same container") {
    NriUpdates updates;
    HookUpdate shares{"a", {}, false};
    shares.resources.cpu_shares = 2;
    REQUIRE(updates.put(quota_update("a", 1000)).has_value());
    REQUIRE(updates.put(shares).has_value());
    REQUIRE(updates.put(quota_update("b", 5000)).has_value());
    REQUIRE(updates.put(quota_update("a", 3000)).has_value());
    const auto out = updates.take(10);
    REQUIRE(out.size() == 2);
    auto both = quota_update("a", 3000);
    both.resources.cpu_shares = 2;
    CHECK((out[0] == both));
    CHECK(updates.size() == 0);
  }

  TEST_CASE("so many at once, and no more than so many in all") {
    NriUpdates updates;
    for (std::size_t n = 0; n < NriUpdates::kMost; ++n)
      REQUIRE(updates.put(quota_update("c" + std::to_string(n), 1000)).has_value());
    CHECK(updates.put(quota_update("one more", 1000)).error().code == Errc::kBusy);
    CHECK(updates.put(quota_update("c7", 2000)).has_value());
    CHECK(updates.take(100).size() == 100);
    CHECK(updates.size() == NriUpdates::kMost - 100);
  }

  TEST_CASE("values that NRI cannot carry are refused") {
    NriUpdates updates;
    HookUpdate u{"a", {}, false};
    u.resources.memory_limit = Limit{Bytes{0}};
    CHECK(updates.put(u).error().context == "update of a: memory limit: expected one above 0");
    u.resources = {};
    u.resources.cpus = CpuSet{};
    CHECK(updates.put(u).error().code == Errc::kInvalid);
    CHECK(updates.put(quota_update("", 1)).error().code == Errc::kInvalid);
    CHECK(updates.size() == 0);
  }

  TEST_CASE("a container that stops or goes takes its own along") {
    PluginRig t;
    REQUIRE(t.plugin.updates().put(quota_update("c1", 1000)).has_value());
    REQUIRE(t.plugin.updates().put(quota_update("c2", 1000)).has_value());
    t.ask("StopContainer", wire_both().str());
    CHECK(t.plugin.updates().size() == 1);
    REQUIRE(t.plugin.updates().put(quota_update("c1", 1000)).has_value());
    t.state_change(11);
    CHECK(t.plugin.updates().size() == 1);
    t.plugin.begin();
    CHECK(t.plugin.updates().size() == 0);
  }
}

}  // namespace koordlet::test
