#include "base/cgroup_file.hpp"

#include <algorithm>
#include <array>

namespace koordlet {
namespace {

using enum CgroupFile;
using V = ValueKind;
using I = ItemKind;
using H = FileHome;

// In the order of the enumeration.
constexpr std::array kTraits{
    CgroupFileTraits{kCpuMax, "cpu.max", V::kCpuMax},
    CgroupFileTraits{kCpuBurst, "cpu.max.burst", V::kNumber},
    CgroupFileTraits{kCpuWeight, "cpu.weight", V::kNumber},
    CgroupFileTraits{kCpuIdle, "cpu.idle", V::kNumber},
    CgroupFileTraits{kCpuBvt, "cpu.bvt_warp_ns", V::kNumber},
    CgroupFileTraits{kCpuset, "cpuset.cpus", V::kCpuSet},
    CgroupFileTraits{kMemoryMin, "memory.min", V::kBytes},
    CgroupFileTraits{kMemoryLow, "memory.low", V::kBytes},
    CgroupFileTraits{kMemoryHigh, "memory.high", V::kBytes},
    CgroupFileTraits{kMemoryMax, "memory.max", V::kBytes},
    CgroupFileTraits{kMemoryOomGroup, "memory.oom.group", V::kNumber},
    CgroupFileTraits{kMemoryWmarkRatio, "memory.wmark_ratio", V::kNumber},
    CgroupFileTraits{kMemoryWmarkScale, "memory.wmark_scale_factor", V::kNumber},
    CgroupFileTraits{kMemoryWmarkMinAdj, "memory.wmark_min_adj", V::kNumber},
    CgroupFileTraits{kMemoryPriority, "memory.priority", V::kNumber},
    CgroupFileTraits{kMemoryUsePriorityOom, "memory.use_priority_oom", V::kNumber},
    CgroupFileTraits{kPageCacheLimitEnable, "memory.pagecache_limit.enable", V::kNumber},
    CgroupFileTraits{kPageCacheLimitSize, "memory.pagecache_limit.size", V::kBytes},
    CgroupFileTraits{kPageCacheLimitSync, "memory.pagecache_limit.sync", V::kNumber},
    CgroupFileTraits{kIoMax, "io.max", V::kIoMax, I::kDevice},
    CgroupFileTraits{kIoWeight, "io.weight", V::kNumber, I::kDevice},
    CgroupFileTraits{kIoCostQos, "io.cost.qos", V::kLine, I::kDevice},
    CgroupFileTraits{kIoCostModel, "io.cost.model", V::kLine, I::kDevice},
    CgroupFileTraits{kResctrlL3, "resctrl.L3", V::kNumber, I::kDomain, H::kResctrl},
    CgroupFileTraits{kResctrlL3Code, "resctrl.L3CODE", V::kNumber, I::kDomain, H::kResctrl},
    CgroupFileTraits{kResctrlL3Data, "resctrl.L3DATA", V::kNumber, I::kDomain, H::kResctrl},
    CgroupFileTraits{kResctrlMb, "resctrl.MB", V::kNumber, I::kDomain, H::kResctrl},
    CgroupFileTraits{kMinFreeKbytes, "vm.min_free_kbytes", V::kNumber, I::kNone, H::kMachine},
    CgroupFileTraits{
        kWatermarkScaleFactor, "vm.watermark_scale_factor", V::kNumber, I::kNone, H::kMachine},
    CgroupFileTraits{
        kMemcgReapBackground, "memcg_reaper.reap_background", V::kNumber, I::kNone, H::kMachine},
    CgroupFileTraits{kGroupIdentityEnabled,
                     "kernel.sched_group_identity_enabled",
                     V::kNumber,
                     I::kNone,
                     H::kMachine},
    CgroupFileTraits{
        kIdleSaverWmark, "kernel.sched_idle_saver_wmark", V::kNumber, I::kNone, H::kMachine},
    CgroupFileTraits{
        kPageCacheLimitGlobal, "pagecache_limit.enabled", V::kNumber, I::kNone, H::kMachine},
    CgroupFileTraits{kSchedFeature, "sched_features", V::kNumber, I::kName, H::kMachine},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (static_cast<std::size_t>(kTraits[i].file) != i) return false;
  }
  return kTraits.size() == static_cast<std::size_t>(kSchedFeature) + 1;
}
static_assert(in_order());

bool all_digits(std::string_view text) {
  constexpr std::size_t kMaxDigits = 9;
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         (text.size() == 1 || text[0] != '0');
}

bool is_feature(std::string_view text) {
  constexpr std::size_t kMaxName = 64;
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

const CgroupFileTraits& traits_of(CgroupFile f) { return kTraits.at(static_cast<std::size_t>(f)); }
std::span<const CgroupFileTraits> all_cgroup_files() { return kTraits; }
std::string_view to_string(CgroupFile f) { return traits_of(f).name; }

std::optional<CgroupFile> parse_cgroup_file(std::string_view name) {
  for (const auto& t : kTraits) {
    if (t.name == name) return t.file;
  }
  return std::nullopt;
}

bool is_item_of(CgroupFile f, std::string_view item) {
  switch (traits_of(f).item) {
    case ItemKind::kNone:
      return item.empty();
    case ItemKind::kDevice: {
      const auto colon = item.find(':');
      return colon != std::string_view::npos && all_digits(item.substr(0, colon)) &&
             all_digits(item.substr(colon + 1));
    }
    case ItemKind::kDomain:
      return all_digits(item);
    case ItemKind::kName:
      return is_feature(item);
  }
  return false;
}

}  // namespace koordlet
