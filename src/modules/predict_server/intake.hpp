#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/node_state.hpp"
#include "model/snapshot.hpp"
#include "model/usage.hpp"

namespace koordlet::predict {

/// What one model learns from in a round. nullopt: unknown, never zero.
struct Feed {
  std::string key;
  std::optional<double> cores, bytes;
};

/// What was measured since the last round. Of each series the 90th percentile of its samples counts
/// (reference metrics 5.2): a burst of a second is no peak that a scheduler could use. Pure.
class Intake {
 public:
  void note_node(const NodeSignals& signals);  ///< each evaluation
  /// Newest sample of each pod; one that was noted before is not taken twice.
  void note_pods(const std::map<std::string, PodUsage>& pods);

  /// The round's feeds: the node; each active pod with a sample since the last round; each class as
  /// the sum of its active pods, 0 when it has none; the system as the node less all pods. In a sum
  /// a pod counts with its last value while that is at most `valid` old: pods are measured less
  /// often than rounds are made. Before the first pass over the pods there are no classes.
  std::vector<Feed> take(const NodeState& state, MonoTime now, MonoTime::duration valid);

 private:
  struct PodSamples {
    std::vector<std::int64_t> cpu, memory;    ///< since the last round
    std::optional<std::int64_t> cores_milli;  ///< last round's value
    std::optional<std::int64_t> bytes;
    MonoTime at;  ///< of the newest sample
  };
  struct Sum {
    std::int64_t cpu = 0, memory = 0;
    bool has_pods = false, has_cpu = false, has_memory = false;
  };
  void add_sums(const NodeState& state,
                MonoTime now,
                MonoTime::duration valid,
                std::vector<Feed>& out);
  void add_system(std::optional<std::int64_t> pods_memory, std::vector<Feed>& out);

  std::vector<std::int64_t> node_cpu_, node_memory_, system_cpu_;
  std::optional<std::int64_t> node_memory_now_;  ///< this round's
  std::map<std::string, PodSamples> pods_;
  bool pods_seen_ = false;
};

}  // namespace koordlet::predict
