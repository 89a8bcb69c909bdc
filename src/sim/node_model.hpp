#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/cgroup_layout.hpp"
#include "model/snapshot.hpp"
#include "sim/cgroup_tree.hpp"
#include "sim/cpu_share.hpp"
#include "sim/scenario.hpp"
#include "sim/timeline.hpp"
#include "sim/virtual_clock.hpp"

namespace koordlet::sim {

/// The node that a scenario describes: its pods with their cgroups in `tree`, what they use under
/// the bounds and weights that stand there, and the readings that koordlet gets of it.
///
/// CPU: sharing by weight and bound (cpu_share.hpp) over each step; the system's own use comes
/// first. Memory: each pod grows by its rate up to its limit, all together up to the node's size.
/// Disks: limits, then the disk's own time (disk.hpp).
/// memory.high of the BE root puts what is over it into swap, as far as there is room.
/// LS pods are Burstable, LSR pods Guaranteed, BE pods BestEffort (batch-cpu), one container each.
class NodeModel {
 public:
  /// `tree` must outlive the model; it is filled with the pods' cgroups.
  NodeModel(const Scenario& scenario, CgroupTree& tree);

  /// Events that are due at the start of a step.
  void apply(const Event& event);
  /// One step from `from` on: pods use what they are given.
  StepUse step(milliseconds from, milliseconds length);

  /// Node rates since the last call, as counters give them; the first one spans from the start.
  NodeSignals sample(MonoTime now);
  /// Figures of every pod since the last call.
  void collect_pods(MonoTime now);
  const std::map<std::string, PodUsage>& pods() const { return usage_; }
  std::shared_ptr<const NodeState> state(MonoTime now);
  /// nullopt: no BE root in the tree.
  std::optional<BeRoot> be_root() const;
  CpuTopology topology() const;
  /// The disks of the scenario, each whole and without partitions.
  std::shared_ptr<const StorageTable> storage() const { return storage_; }
  /// What the disks do under the limits that stand in the tree now.
  DiskUse disk_use() const;
  /// memory.reclaim of the BE root: what went to swap, less than asked for once that is full
  /// (EAGAIN). Pods' memory is anonymous here, so without swap it is nothing.
  Bytes reclaim(Bytes amount);
  /// Most cores that BE may use by its cgroups; nullopt: nothing bounds it below the node's size.
  std::optional<double> be_cap() const;

  /// The API server took an eviction: the pod is terminating, and gone after the grace time. False:
  /// there is no such pod, or it is leaving already.
  bool evict(std::string_view uid, milliseconds now);
  bool api_answers() const { return api_; }

 private:
  struct SimPod {
    std::shared_ptr<const Pod> pod;
    std::size_t group = 0;
    double memory = 0;                           ///< bytes
    double swapped = 0;                          ///< bytes, beside `memory`
    double demand = 0, given = 0;                ///< cores, of the last step
    double cpu_seconds = 0, wanted_seconds = 0;  ///< since the last collection
    IoLoad io;                                   ///< done since then, not a second
    std::optional<milliseconds> gone_at;
  };
  struct Totals {
    double seconds = 0, system = 0, pods = 0, be = 0;  ///< core seconds
  };

  void resize(std::size_t group, int count);
  void add_pod(std::size_t group, int number);
  void remove_pod(std::size_t index);
  void weigh_tiers();
  Number weight_value(std::int64_t shares) const;
  double bound_of(const CgroupPath& path) const;
  double weight_of(const CgroupPath& path) const;
  std::vector<ShareGroup> share_groups() const;
  std::vector<IoGroup> io_groups(std::size_t disk) const;
  std::vector<IoGroup> shared(std::size_t disk) const;
  void use_disks(milliseconds length);
  void use_cpu(milliseconds from, milliseconds length);
  void use_memory(milliseconds length);
  double memory_used() const;
  double be_memory() const;
  PodUsage usage_of(const SimPod& pod, MonoTime now) const;

  const Scenario& scenario_;
  CgroupTree& tree_;
  kernel::CgroupLayout layout_{CgroupDriver::kCgroupfs};
  std::vector<SimPod> pods_;  ///< by uid
  std::vector<int> next_number_;
  std::vector<Bytes> growth_;  ///< a second, by group
  bool api_ = true;
  bool changed_ = true;
  double system_given_ = 0;
  double swap_free_ = 0;  ///< bytes
  Totals totals_;
  double collected_seconds_ = 0;  ///< since the last collection
  std::uint64_t seq_ = 0;
  std::shared_ptr<const Node> node_;
  std::shared_ptr<const NodeSlo> slo_;
  std::shared_ptr<const StorageTable> storage_;
  std::shared_ptr<NodeState> state_;
  std::map<std::string, PodUsage> usage_;
};

}  // namespace koordlet::sim
