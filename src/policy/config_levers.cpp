#include "policy/config_levers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/cgroup_file.hpp"
#include "base/parse.hpp"
#include "policy/config.hpp"
#include "policy/config_sections.hpp"

namespace koordlet::policy {
namespace {

constexpr std::string_view kStrategy = "spec.resourceQOSStrategy";

void merge_class(const ResctrlClass& slo,
                 const char* name,
                 const ResctrlConfig::Class& good,
                 ResctrlConfig::Class& out,
                 std::vector<std::string>& faults) {
  if (slo.enable) out.enable = *slo.enable;
  ResctrlConfig::Class next = out;
  next.start_percent = slo.start_percent.value_or(out.start_percent);
  next.end_percent = slo.end_percent.value_or(out.end_percent);
  next.mba_percent = slo.mba_percent.value_or(out.mba_percent);
  if (next.start_percent < next.end_percent) {
    out = next;
    return;
  }
  faults.push_back(fmt::format(
      "{}.{}.resctrlQOS.catRangeStartPercent: {}: expected less than catRangeEndPercent ({})",
      kStrategy,
      name,
      next.start_percent,
      next.end_percent));
  out.start_percent = good.start_percent;
  out.end_percent = good.end_percent;
  out.mba_percent = next.mba_percent;
}

std::vector<IoBlock> toml_blocks(const BlkIoToml& toml) {
  std::vector<IoBlock> out;
  if (!toml.enable) return out;
  for (const auto& device : toml.devices) {
    IoBlock block;
    block.name = device;
    block.read_bps = toml.be_read_bps;
    block.write_bps = toml.be_write_bps;
    block.read_iops = toml.be_read_iops;
    block.write_iops = toml.be_write_iops;
    if (toml.be_weight != 100) block.weight_percent = toml.be_weight;
    out.push_back(std::move(block));
  }
  return out;
}

void merge_blocks(const BlkIoClass& slo, std::vector<IoBlock>& out) {
  if (!slo.enable) return;
  out = *slo.enable ? slo.blocks : std::vector<IoBlock>{};
}

/// What a block device can be called in sysfs, which writes '!' for '/'.
bool is_device_name(std::string_view text) {
  constexpr std::size_t kMost = 31;  // kernel: DISK_NAME_LEN less its end
  return !text.empty() && text.size() <= kMost && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view{"-_.:!"}.find(c) != std::string_view::npos;
         });
}

bool split_feature(std::string_view word, std::string& name) {
  const bool on = !word.starts_with("NO_");
  name = on ? word : word.substr(3);
  return on;
}

SystemStrategy toml_system(const SystemToml& toml) {
  SystemStrategy out = toml.values;
  for (const auto& word : toml.sched_features) {
    std::string name;
    const bool on = split_feature(word, name);
    out.sched_features[name] = on;
  }
  return out;
}

void merge_system(const SystemStrategy& slo, SystemStrategy& out) {
  const auto take = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  take(out.min_free_kbytes_factor, slo.min_free_kbytes_factor);
  take(out.watermark_scale_factor, slo.watermark_scale_factor);
  take(out.memcg_reap_background, slo.memcg_reap_background);
  take(out.group_identity_enabled, slo.group_identity_enabled);
  take(out.idle_saver_wmark, slo.idle_saver_wmark);
  take(out.page_cache_limit_enabled, slo.page_cache_limit_enabled);
  for (const auto& [name, on] : slo.sched_features) out.sched_features[name] = on;
}

/// A class that is switched off has no priority over others: 0.
void merge_identity(const CpuQosStrategy& slo, IdentityConfig& out) {
  const auto take = [](const CpuQosClass& from, int& to) {
    if (!from.enable) return;
    if (!*from.enable) {
      to = 0;
    } else if (from.group_identity) {
      to = *from.group_identity;
    }
  };
  take(slo.lsr, out.bvt_lsr);
  take(slo.ls, out.bvt_ls);
  take(slo.be, out.bvt_be);
  if (slo.be.enable.value_or(false) && slo.be.sched_idle) out.be_idle = *slo.be.sched_idle;
  if (slo.core_sched) out.core_sched = *slo.core_sched;
}

}  // namespace

void resolve_levers(const QosConfig& toml,
                    const NodeSlo* slo,
                    const EffectiveConfig& good,
                    EffectiveConfig& out) {
  out.resctrl = toml.resctrl;
  out.blkio = toml.blkio.bounds;
  out.blkio.be = toml_blocks(toml.blkio);
  out.system = toml_system(toml.system);
  if (out.off) {
    // What the cluster asks for by its own section holds all the same; this file does not.
    out.resctrl.lsr.enable = out.resctrl.ls.enable = out.resctrl.be.enable = false;
    out.blkio.be.clear();
    out.blkio.pod_annotations = false;
    out.system = {};
  }
  if (slo == nullptr) return;
  const auto merge = [&](const ResctrlClass& from, const char* name, auto member) {
    merge_class(from, name, good.resctrl.*member, out.resctrl.*member, out.faults);
  };
  merge(slo->resctrl.lsr, "lsrClass", &ResctrlConfig::lsr);
  merge(slo->resctrl.ls, "lsClass", &ResctrlConfig::ls);
  merge(slo->resctrl.be, "beClass", &ResctrlConfig::be);
  merge_blocks(slo->blkio.be, out.blkio.be);
  merge_blocks(slo->blkio.root, out.blkio.root);
  merge_system(slo->system, out.system);
  merge_identity(slo->cpu_qos, out.identity);
}

void validate_levers(const QosConfig& config, std::vector<std::string>& faults) {
  const auto& be = config.resctrl.be;
  if (be.start_percent >= be.end_percent) {
    faults.push_back(fmt::format(
        "qos.resctrl.be_start_percent: {}: expected less than qos.resctrl.be_end_percent ({})",
        be.start_percent,
        be.end_percent));
  }
  if (config.blkio.enable && config.blkio.devices.empty() && !config.blkio.bounds.pod_annotations) {
    faults.emplace_back(
        "qos.blkio.devices: (none): expected at least one disk with qos.blkio.enable = true");
  }
  for (const auto& name : config.blkio.devices) {
    if (is_device_name(name)) continue;
    faults.push_back(
        fmt::format("qos.blkio.devices: '{}': expected disks or partitions, as sda,nvme0n1p1",
                    printable(name, 40)));
  }
  for (const auto& word : config.system.sched_features) {
    std::string name;
    split_feature(word, name);
    if (is_item_of(CgroupFile::kSchedFeature, name)) continue;
    faults.push_back(fmt::format(
        "qos.system.sched_features: '{}': expected names of [A-Z0-9_], NO_ in front for off",
        word));
  }
}

}  // namespace koordlet::policy
