#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace koordlet {

/// spec.systemStrategy as stated, and TOML [qos.system]. An absent field leaves its file alone.
struct SystemStrategy {
  /// min_free_kbytes = memory of the node in KiB x factor / 10000.
  std::optional<int> min_free_kbytes_factor;
  std::optional<int> watermark_scale_factor;  ///< 10..400
  std::optional<bool> memcg_reap_background;
  std::optional<bool> group_identity_enabled;
  std::optional<int> idle_saver_wmark;  ///< ns
  std::optional<bool> page_cache_limit_enabled;
  std::map<std::string, bool> sched_features;
  friend bool operator==(const SystemStrategy&, const SystemStrategy&) = default;
};

}  // namespace koordlet
