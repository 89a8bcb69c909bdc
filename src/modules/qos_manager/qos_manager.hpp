#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"
#include "policy/identity.hpp"
#include "policy/pressure.hpp"
#include "policy/suppress.hpp"

namespace koordlet {

/// Runs the plugins on one snapshot and merges their proposals. step() is pure computing on the
/// loop thread: it writes nothing. The daemon hands the table to ResourceExecutor.
class QosManager {
 public:
  struct Status {
    policy::EffectiveConfig effective;
    policy::Pressure::State pressure;
    policy::Suppress::State suppress;
    std::string stale;  ///< "" fresh; else which input is how old: caps hold, nothing relaxes
    std::uint64_t ticks = 0;
    std::uint64_t level_changes = 0;
    std::chrono::microseconds last_step{0};
  };
  explicit QosManager(policy::QosConfig config);
  ~QosManager();

  /// Seeds the pressure state from adopted caps (restart without a ramp from zero).
  void adopt(const std::vector<policy::Pressure::AdoptedPod>& pods, MonoTime now);
  /// One evaluation: precedence, staleness, plugins, arbiter.
  const DesiredTable& step(const Snapshot& snapshot);
  /// Node use within 5 points of a threshold: the loop polls class counters each 100 ms.
  bool near_threshold(const NodeSignals& signals, MilliCpu capacity) const;
  const DesiredTable& desired() const;
  const Status& status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
