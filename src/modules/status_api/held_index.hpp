#pragma once

#include <string_view>
#include <vector>

#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// Finds the held files of one cgroup without a walk over all of them. Points into the view.
class HeldIndex {
 public:
  explicit HeldIndex(const StatusView& view);
  const StatusView::HeldFile* find(const CgroupKey& key) const;  ///< nullptr: not held
  /// Files of `path` itself and of everything below it, by key. None for the root, which is what a
  /// pod without a known cgroup has.
  std::vector<const StatusView::HeldFile*> at_or_below(const CgroupPath& path) const;
  const std::vector<const StatusView::HeldFile*>& all() const { return sorted_; }  ///< by key

 private:
  std::vector<const StatusView::HeldFile*> sorted_;
};

}  // namespace koordlet::status_api
