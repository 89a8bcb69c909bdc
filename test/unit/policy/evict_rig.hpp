#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "policy/evict.hpp"
#include "policy/evict_victims.hpp"
#include "unit/policy/world.hpp"

namespace koordlet {

inline std::ostream& operator<<(std::ostream& os, EvictionResult r) { return os << to_string(r); }

}  // namespace koordlet

namespace koordlet::policy {

inline std::ostream& operator<<(std::ostream& os, EvictPhase p) { return os << to_string(p); }

}  // namespace koordlet::policy

namespace koordlet::test {

inline constexpr Bytes kGi{1ll << 30};
inline constexpr Bytes gib(std::int64_t n) { return {n << 30}; }

/// A node of 100 GiB with BE pods, and the plugin with its state.
struct EvictRig {
  World world{64'000};
  policy::EffectiveConfig config;
  policy::Evict::State engine;
  /// The rule under test, and what it stands in.
  policy::EvictPlugin plugin = policy::EvictPlugin::kBeMemory;
  EvictResource resource = EvictResource::kMemoryUsed;
  struct Seen {
    policy::EvictPhase phase{};
    std::string why;
    int over = 0, use_permyriad = 0, candidates = 0;
    Bytes need, pending, reachable;  ///< of `resource`; milli-cores for CPU
    std::uint64_t last_seq = 0;
    std::optional<EvictionWish> asked;
    policy::EvictionLedger ledger;
  } state;
  policy::Evict::Answer answer;
  std::map<std::string, PodUsage> usage;
  std::vector<EvictionOutcome> outcomes;
  bool api_ok = true;
  bool pods_known = true;
  bool softening = false;
  std::optional<Bytes> protected_cache;

  EvictRig() {
    config.memory_evict.enable = true;
    world.signals.memory_total = gib(100);
    // Started long ago: only victims make it cool down.
    engine.started = MonoTime{};
  }

  Pod& add(const std::string& uid, std::optional<Bytes> memory, std::optional<int> priority = {}) {
    Pod pod = be_pod(uid, std::nullopt);
    pod.qos = QosClass::kBe;
    pod.priority = priority;
    // Each pod has an owner of its own unless a test says otherwise.
    pod.owner = PodOwner{"ReplicaSet", "rs-" + uid, "o-" + uid};
    world.pods.push_back(pod);
    if (memory) usage[uid].memory = memory;
    return world.pods.back();
  }
  void remove(const std::string& uid) {
    std::erase_if(world.pods, [&](const Pod& p) { return p.uid == uid; });
    usage.erase(uid);
  }
  Pod& pod(const std::string& uid) {
    for (auto& p : world.pods) {
      if (p.uid == uid) return p;
    }
    throw std::logic_error{"no such pod: " + uid};
  }

  Snapshot snap(bool may_relax = true) {
    Snapshot out = world.snap(may_relax);
    out.pods = usage;
    out.protected_cache = protected_cache;
    if (!pods_known) {
      auto changed = std::make_shared<NodeState>(*out.state);
      changed->pods_at = MonoTime{};
      out.state = std::move(changed);
    }
    return out;
  }
  const policy::Evict::Answer& decide(bool may_relax = true) {
    policy::EvictInput input;
    input.api_ok = api_ok;
    input.outcomes = std::exchange(outcomes, {});
    input.softening = softening;
    answer = policy::Evict::decide(snap(may_relax), config, input, engine);
    engine = answer.state;
    const auto& rule = engine.rule(plugin);
    state = Seen{rule.phase,
                 rule.why,
                 rule.over,
                 rule.use_permyriad,
                 rule.candidates,
                 Bytes{rule.need[resource]},
                 Bytes{rule.pending[resource]},
                 Bytes{rule.reachable[resource]},
                 engine.last_seq,
                 engine.asked,
                 engine.ledger};
    return answer;
  }
  void measure_pods() {
    for (auto& [uid, use] : usage) use.at = world.now;
  }
  /// One second later: a new sample of the node's memory, and young ones of the pods.
  const policy::Evict::Answer& tick(Bytes used) {
    world.wait(std::chrono::seconds{1});
    world.sample(0, 0);
    world.signals.memory_used = used;
    measure_pods();
    return decide();
  }
  const policy::Evict::Answer& ticks(int count, Bytes used) {
    for (int i = 0; i < count; ++i) tick(used);
    return answer;
  }
  /// Uid of the victim; "" when nobody is named.
  std::string victim() const { return answer.wishes.empty() ? "" : answer.wishes.front().uid; }

  EvictionOutcome outcome(EvictionResult result) const {
    EvictionOutcome out;
    out.wish = answer.wishes.at(0);
    out.result = result;
    out.at = world.now;
    return out;
  }
  /// What the API server says to the wish of the last tick; the plugin hears it in the next one.
  void answered(EvictionResult result) { outcomes.push_back(outcome(result)); }
  /// Names a victim at `used`, has it accepted and gone, its memory with it. Its uid.
  std::string evict(Bytes& used) {
    for (int i = 0; i < 5 && victim().empty(); ++i) tick(used);
    const auto uid = victim();
    if (uid.empty()) return uid;
    used -= *usage.at(uid).memory;
    answered(EvictionResult::kAccepted);
    remove(uid);
    answer.wishes.clear();
    return uid;
  }
};

}  // namespace koordlet::test
