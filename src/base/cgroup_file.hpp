#pragma once

#include <optional>
#include <span>
#include <string_view>

/// Every file that koordlet writes, by meaning: what kind of value it holds, and whether it is one
/// setting or many. No I/O and no path here (kernel/cgroup_names.cpp holds the spelling).
namespace koordlet {

/// What a control file means, whatever the version calls it.
enum class CgroupFile {
  kCpuMax,      ///< CpuMax: cpu.max | cpu.cfs_quota_us + cpu.cfs_period_us
  kCpuBurst,    ///< Number, us, never above the quota: cpu.max.burst | cpu.cfs_burst_us
  kCpuWeight,   ///< Number: cpu.weight 1..10000 | cpu.shares 2..262144, in the unit of the mounted
                ///< version
  kCpuIdle,     ///< Number 0..1: cpu.idle
  kCpuBvt,      ///< Number -1..2: cpu.bvt_warp_ns (vendor kernels)
  kCpuset,      ///< CpuSet: cpuset.cpus
  kMemoryMin,   ///< Limit<Bytes>: protection; v2 only on mainline
  kMemoryLow,   ///< Limit<Bytes>: protection; v2 only on mainline
  kMemoryHigh,  ///< Limit<Bytes>: throttle limit; v2 only on mainline
  kMemoryMax,   ///< Limit<Bytes>: memory.max | memory.limit_in_bytes
  kMemoryOomGroup,        ///< Number 0..1: the whole cgroup dies together; v2 only on mainline
  kMemoryWmarkRatio,      ///< Number 0..100: percent (vendor kernels, as the next four)
  kMemoryWmarkScale,      ///< Number 1..1000: 1/10000
  kMemoryWmarkMinAdj,     ///< Number -25..50: percent
  kMemoryPriority,        ///< Number 0..12
  kMemoryUsePriorityOom,  ///< Number 0..1
  kPageCacheLimitEnable,  ///< Number 0..1 (vendor kernels, v2 tree, as the next two)
  kPageCacheLimitSize,    ///< Limit<Bytes>
  kPageCacheLimitSync,    ///< Number 0..1
  kIoMax,      ///< IoMax, a device an item: io.max | blkio.throttle.{read,write}_{bps,iops}_device
  kIoWeight,   ///< Number 1..10000, a device an item: io.weight | blkio.cost.weight (vendor)
  kIoCostQos,  ///< Line, a device an item, root only: io.cost.qos | blkio.cost.qos (vendor)
  kIoCostModel,  ///< Line, a device an item, root only: io.cost.model | blkio.cost.model (vendor)
  // Outside the cgroup tree. resctrl: the path is the control group, the item the cache or memory
  // domain.
  kResctrlL3,      ///< Number, a mask of cache ways
  kResctrlL3Code,  ///< the same for instructions, where code and data are apart (CDP)
  kResctrlL3Data,
  kResctrlMb,  ///< Number: memory bandwidth in the unit of the machine (percent, MB/s, 1/8 GB/s)
  // Machine-wide: the path is the root.
  kMinFreeKbytes,         ///< Number 10240..10485760: vm.min_free_kbytes
  kWatermarkScaleFactor,  ///< Number 10..400: vm.watermark_scale_factor
  kMemcgReapBackground,   ///< Number 0..1 (vendor kernels, as the next three)
  kGroupIdentityEnabled,  ///< Number 0..1
  kIdleSaverWmark,        ///< Number 0 and more
  kPageCacheLimitGlobal,  ///< Number 0..1
  kSchedFeature,          ///< Number 0..1, a feature an item: debugfs sched features
};

enum class ValueKind { kCpuMax, kCpuSet, kBytes, kNumber, kIoMax, kLine };
/// What CgroupKey::item names.
enum class ItemKind {
  kNone,    ///< the file is one setting; the item is empty
  kDevice,  ///< "8:16", major and minor number
  kDomain,  ///< "0", a cache or memory domain of resctrl
  kName,    ///< [A-Z0-9_]+, a scheduler feature
};
/// Whose file it is; decides where it is looked for.
enum class FileHome { kCgroup, kResctrl, kMachine };

struct CgroupFileTraits {
  CgroupFile file;
  std::string_view
      name;  ///< as shown in status, logs and the journal; the v2 name where there is one
  ValueKind value;
  ItemKind item = ItemKind::kNone;
  FileHome home = FileHome::kCgroup;
};

const CgroupFileTraits& traits_of(CgroupFile f);
std::span<const CgroupFileTraits> all_cgroup_files();
std::string_view to_string(CgroupFile f);  ///< the name of its traits
std::optional<CgroupFile> parse_cgroup_file(std::string_view name);
/// True when `item` is what keys of `f` carry.
bool is_item_of(CgroupFile f, std::string_view item);

}  // namespace koordlet
