#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/hook.hpp"

namespace koordlet::runtime {

/// Updates that wait until they may be sent; one a container, the newer over the older.
class NriUpdates {
 public:
  static constexpr std::size_t kMost = 4096;  ///< containers

  /// kInvalid: as check_updates(); kBusy: kMost others wait.
  Result<void> put(HookUpdate update);
  void forget(const std::string& container_id);
  void clear() { waiting_.clear(); }
  /// Up to `most` of them, no longer waiting.
  std::vector<HookUpdate> take(std::size_t most);
  std::size_t size() const { return waiting_.size(); }

 private:
  std::map<std::string, HookUpdate> waiting_;
};

}  // namespace koordlet::runtime
