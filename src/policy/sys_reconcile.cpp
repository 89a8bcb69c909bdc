#include "policy/sys_reconcile.hpp"

#include <fmt/format.h>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

// The kernel takes more; beyond these a node has no memory left, or reclaims too late.
constexpr std::int64_t kMinFreeLow = 10'240, kMinFreeHigh = 10'485'760;
constexpr std::int64_t kScaleLow = 10, kScaleHigh = 400;

void propose(Decision<SysReconcile::State>& out,
             CgroupFile file,
             std::int64_t value,
             std::string reason,
             std::string item = {}) {
  Proposal p;
  p.key = {CgroupPath{}, file, std::move(item)};
  p.value = Number{value};
  p.role = Role::kBase;
  p.plugin = SysReconcile::kName;
  p.reason = std::move(reason);
  out.proposals.push_back(std::move(p));
  ++out.state.settings;
}

void min_free(Decision<SysReconcile::State>& out, const Snapshot& snap, int factor) {
  if (!snap.state->node || snap.state->node->memory_capacity.v <= 0) return;  // unknown, not 0
  const Wide kib = Wide{snap.state->node->memory_capacity.v} / 1024;
  const auto value = static_cast<std::int64_t>(kib * factor / 10'000);
  const auto text = fmt::format(
      "min_free_kbytes: {} KiB x {} / 10000 = {}", static_cast<std::int64_t>(kib), factor, value);
  if (value >= kMinFreeLow && value <= kMinFreeHigh) {
    propose(out, CgroupFile::kMinFreeKbytes, value, text);
  } else {
    out.state.faults.push_back(
        fmt::format("{}: expected {} to {}", text, kMinFreeLow, kMinFreeHigh));
  }
}

}  // namespace

Decision<SysReconcile::State> SysReconcile::decide(const Snapshot& snap,
                                                   const EffectiveConfig& config,
                                                   State /*state*/) {
  const SystemStrategy& s = config.system;
  Decision<State> out{};
  if (s.min_free_kbytes_factor) min_free(out, snap, *s.min_free_kbytes_factor);
  if (s.watermark_scale_factor) {
    const int value = *s.watermark_scale_factor;
    if (value >= kScaleLow && value <= kScaleHigh) {
      propose(out, CgroupFile::kWatermarkScaleFactor, value, "watermarkScaleFactor");
    } else {
      out.state.faults.push_back(fmt::format(
          "watermark_scale_factor: {}: expected {} to {}", value, kScaleLow, kScaleHigh));
    }
  }
  const auto flag = [&out](CgroupFile file, const std::optional<bool>& value, const char* name) {
    if (value) propose(out, file, *value ? 1 : 0, name);
  };
  flag(CgroupFile::kMemcgReapBackground, s.memcg_reap_background, "memcgReapBackGround");
  flag(CgroupFile::kGroupIdentityEnabled, s.group_identity_enabled, "schedGroupIdentityEnabled");
  flag(CgroupFile::kPageCacheLimitGlobal, s.page_cache_limit_enabled, "pageCacheLimitEnabled");
  if (s.idle_saver_wmark) {
    propose(out, CgroupFile::kIdleSaverWmark, *s.idle_saver_wmark, "schedIdleSaverWmark");
  }
  for (const auto& [name, on] : s.sched_features) {
    propose(out, CgroupFile::kSchedFeature, on ? 1 : 0, "schedFeatures", name);
  }
  return out;
}

}  // namespace koordlet::policy
