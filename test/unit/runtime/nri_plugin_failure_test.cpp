#include <doctest/doctest.h>

#include "nri_plugin_rig.hpp"
#include "runtime/nri_plugin.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using net::TtrpcResponse;

}  // namespace

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

  TEST_CASE("adjustments that no runtime takes are failures, never sent") {
    std::vector<HookAdjustment> wrong(9);
    wrong[0].oom_score_adj = 1001;
    wrong[1].oom_score_adj = -1001;
    wrong[2].env = {{"", "x"}};
    wrong[3].env = {{"-PATH", "x"}};  // would remove it
    wrong[4].env = {{"A=B", "x"}};
    wrong[5].annotations = {{"-k", ""}};
    wrong[6].mounts = {{"lib", "bind", "/s", {}}};
    wrong[7].devices = {{"dev", 'c', 1, 2, {}}};
    wrong[8].devices = {{"/dev/x", 'p', 1, 2, {}}};
    for (const auto& adjustment : wrong) {
      PluginRig t{HookFailurePolicy::kFail};
      t.hook.creation = NriEvents::Creation{adjustment, {}};
      const auto out = t.ask("CreateContainer", wire_both().str());
      CHECK(out.status == 13);
      CHECK(out.payload.empty());
      CHECK(out.message.find(": expected ") != std::string::npos);
    }
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
