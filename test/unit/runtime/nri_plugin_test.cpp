#include <doctest/doctest.h>

#include "nri_plugin_rig.hpp"
#include "runtime/nri_requests.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using namespace std::chrono_literals;
using net::TtrpcResponse;

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

  TEST_CASE(
      "Synchronize is worked on in steps; other requests pass between, a second one does not") {
    PluginRig t;
    t.hook.sync_answer = std::vector<HookUpdate>{quota_update("c7", 1'000)};
    const net::TtrpcRequest request{
        "nri.pkg.api.v1alpha1.Plugin", "Synchronize", sync_part(0, 120, false), {}};
    REQUIRE_FALSE(t.plugin.begin_answer(request).has_value());
    CHECK(t.hook.inventories.empty());
    CHECK(t.ask("CreateContainer", wire_both().str()).status == 0);
    const auto second = t.plugin.begin_answer(request);
    REQUIRE(second.has_value());
    CHECK(second->status == 3);
    int steps = 0;
    std::optional<TtrpcResponse> done;
    for (; !done; ++steps) done = t.plugin.step();
    CHECK(steps == 3 + ScriptedHook::kSyncSteps);  // 121 entries, 50 a step
    REQUIRE(t.hook.inventories.size() == 1);
    CHECK(t.hook.inventories[0].containers.size() == 120);
    CHECK(decode_updates(done->payload).value() == *t.hook.sync_answer);
    CHECK(t.plugin.is_synchronized());
  }

  TEST_CASE("a connection that ends in the midst of Synchronize leaves nothing to the next one") {
    PluginRig t;
    const net::TtrpcRequest request{
        "nri.pkg.api.v1alpha1.Plugin", "Synchronize", sync_part(0, 120, false), {}};
    REQUIRE_FALSE(t.plugin.begin_answer(request).has_value());
    t.plugin.step();
    t.plugin.begin();
    CHECK(t.ask("Synchronize", sync_part(5, 1, false)).status == 0);
    REQUIRE(t.hook.inventories.size() == 1);
    CHECK(t.hook.inventories[0].containers.size() == 1);
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

}  // namespace koordlet::test
