#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "kernel/cgroup_layout.hpp"
#include "model/node_state.hpp"
#include "store/object_cache.hpp"

namespace koordlet::states {

/// The objects of an API source, one by one as they arrive: decoded, bounded to this node, pods
/// with their paths. An object that cannot be decoded keeps its last good form; a refused NodeSLO
/// or NodeMetric field keeps its last good value. Pure: no I/O, no clock.
class ObjectStore {
 public:
  enum class Kind { kPods, kNode, kNodeSlo, kNodeMetric };
  static constexpr std::size_t kKinds = 4;
  static std::string_view name_of(Kind kind);  ///< "pods", "node", "nodeslo", "nodemetric"

  /// `node_name` "": pods of every node count, and there are no other objects (kubelet source).
  /// `keep_texts`: gather what the cache needs (take_change).
  ObjectStore(std::string node_name, bool keep_texts);
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// One object of a list; nothing counts before commit().
  void stage(Kind kind, const boost::json::value& object);
  /// What was staged replaces all of its kind.
  void commit(Kind kind);
  void abandon(Kind kind);
  void put(Kind kind, const boost::json::value& object);
  void erase(Kind kind, const boost::json::value& object);
  /// An object as take_change() gave it away; false when it is of no use.
  bool restore(const store::CachedObject& cached);

  /// Pods get the paths of this driver from now on.
  void set_layout(const std::optional<kernel::CgroupLayout>& layout);

  std::vector<std::shared_ptr<const Pod>> pods() const;  ///< sorted by uid
  const std::shared_ptr<const Node>& node() const;
  const std::string& node_uid() const;  ///< "" unknown
  const std::shared_ptr<const NodeSlo>& slo() const;
  const std::shared_ptr<const NodeMetricSpec>& metric() const;
  std::vector<std::string> faults() const;
  /// Rises when an object or a fault changed.
  std::uint64_t generation() const;

  /// What changed since the last call, for the cache.
  store::ObjectCache::Change take_change();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::states
