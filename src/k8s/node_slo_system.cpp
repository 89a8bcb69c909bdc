#include <limits>

#include <fmt/format.h>

#include "base/cgroup_file.hpp"
#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

std::optional<bool> flag_or_last(const Fields& f,
                                 std::string_view key,
                                 const std::optional<bool>& last) {
  const auto read = f.integer(key, 0, 1);
  if (read.refused) return last;
  if (!read.value) return std::nullopt;
  return *read.value == 1;
}

std::map<std::string, bool> decode_features(const Fields& f,
                                            const std::map<std::string, bool>& last) {
  const auto section = f.object("schedFeatures");
  if (section.refused) return last;
  std::map<std::string, bool> out;
  if (!section.value) return out;
  for (const auto& [key, value] : section.value->raw()) {
    const std::string name{key};
    if (!is_item_of(CgroupFile::kSchedFeature, name)) {
      section.value->refuse("(key)", json::value(name), "a feature name of [A-Z0-9_]");
    } else if (value.is_bool()) {
      out[name] = value.get_bool();
    } else {
      section.value->refuse(name, value, "true or false");
      if (const auto old = last.find(name); old != last.end()) out.insert(*old);
    }
  }
  return out;
}

}  // namespace

SystemStrategy decode_system(const Fields& spec, const SystemStrategy& last) {
  const auto section = spec.object("systemStrategy");
  if (section.refused) return last;
  if (!section.value) return {};
  const Fields& f = *section.value;
  constexpr auto kMost = std::numeric_limits<int>::max();
  SystemStrategy out;
  // The range is that of the product, which only the node's memory tells.
  out.min_free_kbytes_factor =
      f.int_or_last("minFreeKbytesFactor", 1, kMost, last.min_free_kbytes_factor);
  out.watermark_scale_factor =
      f.int_or_last("watermarkScaleFactor", 10, 400, last.watermark_scale_factor);
  out.memcg_reap_background = flag_or_last(f, "memcgReapBackGround", last.memcg_reap_background);
  out.group_identity_enabled =
      flag_or_last(f, "schedGroupIdentityEnabled", last.group_identity_enabled);
  out.idle_saver_wmark = f.int_or_last("schedIdleSaverWmark", 0, kMost, last.idle_saver_wmark);
  out.page_cache_limit_enabled =
      flag_or_last(f, "pageCacheLimitEnabled", last.page_cache_limit_enabled);
  out.sched_features = decode_features(f, last.sched_features);
  return out;
}

}  // namespace koordlet::k8s
