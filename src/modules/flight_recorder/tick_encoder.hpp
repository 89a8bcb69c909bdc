#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.hpp"
#include "policy/plugin_states.hpp"
#include "store/recording_frame.hpp"

namespace koordlet::flight {

using Containers = std::map<std::string, ContainerUsage>;

/// One tick on its way from the loop to the storage thread: values and immutable snapshots only.
struct Observation {
  WallTime wall;
  std::uint64_t number = 0;
  Snapshot snapshot;  ///< its `containers` are borrowed and not looked at any more
  /// nullopt: as they were in the last observation; nullptr: none are known.
  std::optional<std::shared_ptr<const Containers>> containers;
  int level = 0, factor_permille = 1000, below_exit = 0;
  MilliCpu root_cap;
  std::string why, stale;
  std::vector<store::RecordedWish> wishes;
  std::vector<CgroupKey> wishes_gone;
  std::optional<store::TickFrame::Evict> evict;
  std::vector<Outcome> outcomes;
  /// Before this tick; set: a new segment begins, `wishes` are all there are and `containers` are
  /// given.
  std::unique_ptr<policy::PluginStates> states;
};

/// Makes frames out of observations: what did not change since the one before is left out.
class TickEncoder {
 public:
  /// The next frame holds everything.
  void restart();
  store::TickFrame frame(Observation observation);

 private:
  void add_state(const NodeState& state, store::TickFrame& out);

  bool full_ = true;
  std::optional<store::TickFrame::Host> host_;
  std::shared_ptr<const Node> node_;
  std::shared_ptr<const NodeSlo> slo_;
  std::vector<std::shared_ptr<const Pod>> pods_;  ///< by uid
  std::optional<store::TickFrame::Confirmed> confirmed_;
  std::optional<NodeSignals> signals_;
  std::map<std::string, PodUsage> usage_;
  std::shared_ptr<const Containers> containers_;
  std::vector<LsSignal> ls_;
  std::optional<BeRoot> be_root_;
  std::shared_ptr<const StorageTable> storage_;
  std::shared_ptr<const ResctrlState> resctrl_;
  std::shared_ptr<const KubeletCpus> kubelet_cpus_;
  std::shared_ptr<const NodeCpuPools> cpu_pools_;
  std::optional<Bytes> protected_cache_;
};

}  // namespace koordlet::flight
