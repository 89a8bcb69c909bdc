#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kernel/cgroup_layout.hpp"
#include "model/node_state.hpp"

namespace koordlet::states {

/// What a source knows, ready to become the state. A time of MonoTime{} says "never seen": that is
/// not the same as an empty list.
struct Content {
  std::shared_ptr<const Node> node;
  std::vector<std::shared_ptr<const Pod>> pods;  ///< sorted by uid, cgroup paths set
  std::shared_ptr<const NodeSlo> slo;
  std::shared_ptr<const NodeMetricSpec> metric;
  std::vector<std::string> faults;
  MonoTime pods_at, node_at, slo_at, metric_at;  ///< when the source last confirmed them
};

/// One resource of a source, for status.
struct ResourceHealth {
  std::string name;       ///< "pods"
  bool synced = false;    ///< read whole at least once since start
  bool cached = false;    ///< what is shown came from the cache of an earlier run
  MonoTime confirmed_at;  ///< last sign that it is current; MonoTime{}: never
  std::string fault;      ///< why it is not current; "" while it is
  std::uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0, relists = 0, failures = 0;
  std::string resource_version;
};

/// Where Pods, Node, NodeSLO and NodeMetric come from. One thread.
class Source {
 public:
  virtual ~Source() = default;
  /// Before run(): what can be known without waiting. An error is one that must stop the start.
  virtual Result<void> load() = 0;
  /// Until cancelled. The source calls `changed` (given at its making) after each change.
  virtual boost::asio::awaitable<void> run() = 0;
  /// Objects that equal those of `previous` are the same pointers.
  virtual Content content(const std::optional<kernel::CgroupLayout>& layout,
                          const NodeState& previous) = 0;
  /// A pod's or container's cgroup came or went.
  virtual void on_tree_change() {}
  virtual std::vector<ResourceHealth> health() const = 0;
};

}  // namespace koordlet::states
