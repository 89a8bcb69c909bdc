#pragma once

#include <string>

#include "nri_fixture.hpp"
#include "runtime/nri_plugin.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {

/// The plugin's answers without a wire.
struct PluginRig {
  explicit PluginRig(HookFailurePolicy policy = HookFailurePolicy::kIgnore)
      : plugin{options(policy), hook, clock} {}
  static runtime::NriPlugin::Options options(HookFailurePolicy policy) {
    runtime::NriPlugin::Options out;
    out.policy = policy;
    return out;
  }
  net::TtrpcResponse ask(const std::string& method, const std::string& body) {
    return plugin.answer({"nri.pkg.api.v1alpha1.Plugin", method, body, {}});
  }
  net::TtrpcResponse state_change(std::uint64_t event) {
    return ask("StateChange",
               WireMessage{}.number(1, event).part(2, wire_pod()).part(3, wire_container()).str());
  }

  ManualClock clock;
  ScriptedHook hook;
  runtime::NriPlugin plugin;
};

/// Of UpdateContainer.
inline std::string update_body(std::uint64_t quota) {
  const auto cpu = WireMessage{}.boxed(2, quota);
  return wire_both().part(3, WireMessage{}.part(2, cpu)).str();
}

}  // namespace koordlet::test
