#include "policy/idle_buffer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_cpus.hpp"
#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

using State = IdleBuffer::State;

constexpr MilliCpu kCore{1000};

bool wants_cpuset(const EffectiveConfig& config) {
  switch (config.idle_buffer.by) {
    case IdleBufferBy::kQuota:
      return false;
    case IdleBufferBy::kCpuset:
      return true;
    case IdleBufferBy::kSuppress:
      break;
  }
  return config.suppress.enable && config.suppress.policy == SuppressPolicy::kCpuset;
}

MilliCpu cores(int count) { return {std::int64_t{count} * kCore.v}; }

/// Down to whole CPUs, and never under what keeps BE alive.
MilliCpu within(MilliCpu allowance, bool by_cpuset) {
  if (!by_cpuset) return std::max(allowance, MilliCpu{kMinRootQuotaUs / 100});
  return {std::max(allowance.v / kCore.v, kMinBeCpus) * kCore.v};
}

std::string missing(const Snapshot& snap, int stale_seconds) {
  if (!snap.be_root) return "no BE root";
  if (!capacity_of(snap)) return "the node's CPU capacity is unknown";
  const NodeSignals* signals = fresh_signals(snap, stale_seconds);
  if (signals == nullptr) return "no young sample of the node";
  if (!signals->be_used) return "the use of BE is unknown";
  return {};
}

void evaluate(State& st, const Snapshot& snap, const IdleBufferConfig& cfg) {
  const NodeSignals& s = *snap.signals;
  const MilliCpu capacity = *capacity_of(snap);
  const MilliCpu buffer = cores(cfg.cores), slack = cores(cfg.hysteresis);
  const MilliCpu others = std::max(s.node_used - *s.be_used, MilliCpu{});
  const MilliCpu idle = capacity - s.node_used;
  const MilliCpu room = capacity - buffer - others;
  st.idle = idle;
  st.room = room;
  const MilliCpu most = within(room, st.by_cpuset);
  if (!st.allowance) {  // unlimited until now
    st.allowance = most;
    ++st.cuts;
    return;
  }
  const bool cut = idle < buffer || *st.allowance > room + slack;
  if (cut && most < *st.allowance) {
    st.allowance = most;
    ++st.cuts;
    return;
  }
  if (!snap.may_relax || s.seq == st.last_seq) return;
  st.last_seq = s.seq;
  if (idle <= buffer + slack || most <= *st.allowance) return;
  st.allowance = within(std::min(*st.allowance + kCore, most), st.by_cpuset);
  ++st.steps;
}

std::string reason(const State& st, const IdleBufferConfig& cfg) {
  return fmt::format("{} CPUs stay idle for others: {}m idle, room for BE {}m",
                     cfg.cores,
                     st.idle ? st.idle->v : 0,
                     st.room ? st.room->v : 0);
}

}  // namespace

bool idle_buffer_on(const EffectiveConfig& config) {
  return !config.off && config.idle_buffer.cores > 0;
}

Decision<State> IdleBuffer::decide(const Snapshot& snap,
                                   const EffectiveConfig& config,
                                   State state) {
  if (!idle_buffer_on(config)) return {{}, State{}};
  const bool by_cpuset = wants_cpuset(config);
  if (by_cpuset != state.by_cpuset) state = State{};
  state.by_cpuset = by_cpuset;
  state.why = missing(snap, config.node_stale_seconds);
  if (!snap.be_root) return {{}, std::move(state)};  // no BE class on this node now
  if (state.why.empty()) evaluate(state, snap, config.idle_buffer);
  Decision<State> out;
  if (state.allowance && !by_cpuset) {
    const auto quota = quota_us_of(*state.allowance);
    out.proposals.push_back(
        be_cap({snap.be_root->path, CgroupFile::kCpuMax},
               cpu_max(quota),
               kName,
               fmt::format("{}: quota {} us", reason(state, config.idle_buffer), quota)));
  } else if (state.allowance) {
    const auto lists = be_cpu_lists(snap);
    const std::int64_t want = state.allowance->v / kCore.v;
    if (lists.count() > 0) {
      state.cpuset = pick_be_cpus(lists, want);
      out.proposals = propose_be_cpuset(
          snap,
          *state.cpuset,
          kName,
          fmt::format("{}: {} CPUs", reason(state, config.idle_buffer), state.cpuset->count()));
    } else {
      state.cpuset.reset();
      state.why = "the CPUs that BE may use are unknown, or there are none";
    }
  }
  out.state = std::move(state);
  return out;
}

}  // namespace koordlet::policy
