#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "policy/be_progress.hpp"
#include "policy/blkio.hpp"
#include "policy/config.hpp"
#include "policy/cpu_burst.hpp"
#include "policy/evict.hpp"
#include "policy/identity.hpp"
#include "policy/idle_buffer.hpp"
#include "policy/memory_qos.hpp"
#include "policy/memory_soften.hpp"
#include "policy/plugin_states.hpp"
#include "policy/pressure.hpp"
#include "policy/resctrl.hpp"
#include "policy/spec_values.hpp"
#include "policy/suppress.hpp"
#include "policy/sys_reconcile.hpp"

namespace koordlet {

/// Runs the plugins on one snapshot and merges their proposals. step() is pure computing on the
/// loop thread: it writes nothing. The daemon hands the table to ResourceExecutor.
class QosManager {
 public:
  struct Status {
    policy::EffectiveConfig effective;
    /// False until a step saw fresh signals, a known node and the pods, or the policy is off. The
    /// shell leaves the kernel alone until then: an empty table would give adopted caps back.
    bool ready = false;
    policy::Pressure::State pressure;
    policy::Suppress::State suppress;
    policy::IdleBuffer::State idle_buffer;
    policy::Evict::State evict;
    policy::BlkIo::State blkio;
    policy::SysReconcile::State system;
    policy::Resctrl::State resctrl;
    policy::CpuBurst::State burst;
    policy::MemoryQos::State memory_qos;
    policy::MemorySoften::State memory_soften;
    policy::SpecValues::State spec;
    policy::StarvationState starvation;
    std::string stale;  ///< "" fresh; else which input is how old: caps hold, nothing relaxes
    std::uint64_t ticks = 0;
    std::uint64_t level_changes = 0;
    std::chrono::microseconds last_step{0};  ///< as told by note_duration()
  };
  explicit QosManager(policy::QosConfig config);
  ~QosManager();

  /// Seeds the pressure state from adopted caps (restart without a ramp from zero); `root_cap` is
  /// the adopted quota of the BE root. The first step repeats it with the factors of NodeSLO.
  void adopt(const std::vector<policy::Pressure::AdoptedPod>& pods,
             std::optional<MilliCpu> root_cap,
             MonoTime now);
  /// Between two steps: what a flight recording starts with, and a replay goes on from. NodeSLO
  /// values that were refused by then are not part of it.
  policy::PluginStates states() const;
  void resume(policy::PluginStates states);
  /// One evaluation: precedence, staleness, plugins, arbiter. Off: the table becomes empty. The
  /// reference holds until the next step.
  const DesiredTable& step(const Snapshot& snapshot);
  /// Whom to evict, by the same snapshot and the configuration of the last step. `want_fresh_pods`:
  /// the choice waits for young samples of the BE pods.
  struct Evictions {
    std::vector<EvictionWish> wishes;
    bool want_fresh_pods = false;
  };
  Evictions evict(const Snapshot& snapshot, const policy::EvictInput& input);
  /// Of one pod, for each eviction rule that is on: why it would not be named now, "" when it is a
  /// candidate. Of the snapshot only time, state and pods are looked at.
  struct Standing {
    policy::EvictPlugin plugin{};
    std::string why_not;
  };
  std::vector<Standing> standing(const Snapshot& snapshot, const Pod& pod) const;
  /// How long the last step took; step() itself reads no clock.
  void note_duration(std::chrono::microseconds took);
  /// Node use within 5 points of a threshold, or above it while BE runs, or idle CPUs are to be
  /// kept: the loop polls class counters each 100 ms. False while the policy is off or the capacity
  /// is unknown (0).
  bool near_threshold(const NodeSignals& signals, MilliCpu capacity) const;
  const DesiredTable& desired() const;
  const Status& status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
