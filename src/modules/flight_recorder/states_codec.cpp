#include "modules/flight_recorder/states_codec.hpp"

#include "store/recording_frame.hpp"

namespace koordlet::store {

template <>
inline constexpr policy::Level kLast<policy::Level> = policy::Level::kHigh;
template <>
inline constexpr policy::EvictPhase kLast<policy::EvictPhase> = policy::EvictPhase::kAsking;
template <>
inline constexpr policy::PoolState kLast<policy::PoolState> = policy::PoolState::kOverload;
template <>
inline constexpr policy::SoftenPhase kLast<policy::SoftenPhase> = policy::SoftenPhase::kAtFloor;

}  // namespace koordlet::store

namespace koordlet::policy {

template <class A>
void describe(A& a, RaiseState::Trial& v) {
  a("since", v.since);
  a("value", v.value);
  a("by_psi", v.by_psi);
}

template <class A>
void describe(A& a, RaiseState& v) {
  a("trials", v.trials);
  a("ignored", v.ignored);
  a("level", v.level);
  a("uid", v.uid);
  a("reason", v.reason);
}

template <class A>
void describe(A& a, Pressure::State& v) {
  a("level", v.level);
  a("factor_permille", v.factor_permille);
  a("below_exit", v.below_exit);
  a("last_seq", v.last_seq);
  a("root_cap", v.root_cap);
  a("root_ls_used", v.root_ls_used);
  a("root_system_used", v.root_system_used);
  a("decided", v.decided);
  a("settle_samples", v.settle_samples);
  a("relaxed_at", v.relaxed_at);
  a("last_good_factor", v.last_good_factor);
  a("hold_seconds", v.hold_seconds);
  a("hold_until", v.hold_until);
  a("by_use", v.by_use);
  a("raise", v.raise);
  a("use_permyriad", v.use_permyriad);
  a("level_since", v.level_since);
}

template <class A>
void describe(A& a, Pressure::AdoptedPod& v) {
  a("request", v.request);
  a("quota", v.quota);
}

template <class A>
void describe(A& a, PluginStates::Adopted& v) {
  a("pods", v.pods);
  a("root_cap", v.root_cap);
  a("at", v.at);
}

template <class A>
void describe(A& a, Suppress::State& v) {
  a("last_seq", v.last_seq);
  a("budget", v.budget);
  a("ls_used", v.ls_used);
  a("system_used", v.system_used);
  a("cpuset", v.cpuset);
  a("quota_us", v.quota_us);
}

/// What it says of itself comes again with the next sample.
template <class A>
void describe(A& a, IdleBuffer::State& v) {
  a("allowance", v.allowance);
  a("cpuset", v.cpuset);
  a("by_cpuset", v.by_cpuset);
  a("last_seq", v.last_seq);
  a("cuts", v.cuts);
  a("steps", v.steps);
}

template <class A>
void describe(A& a, EvictionLedger::Victim& v) {
  a("owner", v.owner);
  a("frees", v.frees);
  a("resource", v.resource);
  a("node_used", v.node_used);
  a("accepted", v.accepted);
}

template <class A>
void describe(A& a, EvictionLedger::Hold& v) {
  a("until", v.until);
  a("length", v.length);
  a("why", v.why);
}

template <class A>
void describe(A& a, EvictionLedger::Owner& v) {
  a("evicted", v.evicted);
  a("hold", v.hold);
}

template <class A>
void describe(A& a, EvictionLedger::Left& v) {
  a("owner", v.owner);
  a("node_used", v.node_used);
  a("frees", v.frees);
  a("at", v.at);
}

template <class A>
void describe(A& a, EvictionLedger& v) {
  a("victims", v.victims);
  a("terminating", v.terminating);
  a("pods", v.pods);
  a("owners", v.owners);
  a("node", v.node);
  a("last_cpu", v.last_cpu);
  a("last_memory", v.last_memory);
  a("node_hold", v.node_hold);
  a("left", v.left);
}

/// What people see of a rule comes again with the next tick.
template <class A>
void describe(A& a, Evict::Rule& v) {
  a("over", v.over);
  a("over_since", v.over_since);
  a("measuring_since", v.measuring_since);
  a("phase", v.phase);
}

template <class A>
void describe(A& a, Evict::State& v) {
  a("started", v.started);
  a("last_seq", v.last_seq);
  a("last_at", v.last_at);
  a("window", v.window);
  a("asked", v.asked);
  a("ledger", v.ledger);
  a("rules", v.rules);
}

template <class A>
void describe(A& a, BurstTokens& v) {
  a("capacity", v.capacity);
  a("left", v.left);
}

template <class A>
void describe(A& a, CpuBurst::PoolSample& v) {
  a("at", v.at);
  a("not_be", v.not_be);
}

template <class A>
void describe(A& a, CpuBurst::Container& v) {
  a("id", v.id);
  a("quota_us", v.quota_us);
  a("tokens", v.tokens);
  a("sample_at", v.sample_at);
  a("calm_since", v.calm_since);
  a("why", v.why);
}

template <class A>
void describe(A& a, CpuBurst::State& v) {
  a("last_at", v.last_at);
  a("last_seq", v.last_seq);
  a("window", v.window);
  a("containers", v.containers);
}

template <class A>
void describe(A& a, ReclaimWish& v) {
  a("at", v.at);
  a("cgroup", v.cgroup);
  a("amount", v.amount);
  a("reason", v.reason);
}

template <class A>
void describe(A& a, MemorySoften::State& v) {
  a("phase", v.phase);
  a("last_seq", v.last_seq);
  a("high", v.high);
  a("floor", v.floor);
  a("stepped_at", v.stepped_at);
  a("over_since", v.over_since);
  a("hold_until", v.hold_until);
  a("steps", v.steps);
  a("reclaim", v.reclaim);
  a("reclaims", v.reclaims);
}

template <class A>
void describe(A& a, StarvationState::Hungry& v) {
  a("since", v.since);
  a("sample", v.sample);
  a("starving", v.starving);
  a("share", v.share);
}

template <class A>
void describe(A& a, StarvationState& v) {
  a("pods", v.pods);
  a("starving", v.starving);
  a("wanted", v.wanted);
  a("floor", v.floor);
  a("room", v.room);
  a("why", v.why);
}

template <class A>
void describe(A& a, PluginStates& v) {
  a("adopted", v.adopted);
  a("ready", v.ready);
  a("pressure", v.pressure);
  a("suppress", v.suppress);
  a("idle_buffer", v.idle_buffer);
  a("evict", v.evict);
  a("burst", v.burst);
  a("memory_soften", v.memory_soften);
  a("starvation", v.starvation);
}

}  // namespace koordlet::policy

namespace koordlet::flight {

std::string encode_states(const policy::PluginStates& states, MonoTime now) {
  std::string out;
  store::WriteNames names;
  store::RecordWriter writer{out, names, now};
  writer("states", states);
  return out;
}

Result<policy::PluginStates> decode_states(std::string_view bytes, MonoTime now) {
  policy::PluginStates out;
  store::ReadNames names;
  store::RecordReader reader{bytes, names, now};
  reader("states", out);
  if (!reader.failed() && !reader.rest().empty()) reader.fail("states: expected their end");
  if (reader.failed()) return Error{Errc::kParse, reader.error()};
  return out;
}

std::uint64_t recording_schema() {
  static const std::uint64_t hash = [] {
    store::RecordSchema schema;
    policy::PluginStates states;
    schema("states", states);
    return schema.hash() ^ store::frame_schema();
  }();
  return hash;
}

}  // namespace koordlet::flight
