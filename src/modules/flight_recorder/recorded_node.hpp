#pragma once

#include <map>
#include <memory>
#include <string>

#include "model/snapshot.hpp"
#include "store/recording_frame.hpp"

namespace koordlet::flight {

/// The node as a recording tells it, tick by tick: TickEncoder backwards.
class RecordedNode {
 public:
  RecordedNode();
  /// Forgets all; the next frame holds everything.
  void restart();
  void apply(const store::TickFrame& frame);

  /// After apply(): what the policy saw. Its `containers` point into this object.
  const Snapshot& snapshot() const { return snapshot_; }
  /// What every control file was to hold after that tick.
  const std::map<CgroupKey, store::RecordedWish>& wishes() const { return wishes_; }

 private:
  void apply_state(const store::TickFrame& frame);

  Snapshot snapshot_;
  NodeState state_;
  std::map<std::string, std::shared_ptr<const Pod>> pods_;
  std::map<std::string, ContainerUsage> containers_;
  std::map<CgroupKey, store::RecordedWish> wishes_;
};

}  // namespace koordlet::flight
