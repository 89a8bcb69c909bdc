#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace koordlet {

/// What a block of blkioQOS names.
enum class IoBlockKind {
  kDevice,       ///< disk or partition: "vdb", "sda1"
  kVolumeGroup,  ///< LVM volume group: the disks below it
  kPodVolume,    ///< volume of a pod, by the name of its persistent volume or CSI volume
};

/// One block of blkioQOS with its ioCfg. Rates are a second; 0 is no limit.
struct IoBlock {
  std::string name;
  IoBlockKind kind = IoBlockKind::kDevice;
  std::int64_t read_bps = 0, write_bps = 0, read_iops = 0, write_iops = 0;
  std::optional<int> weight_percent;  ///< 1..100; absent: left alone
  /// Of the root only: a disk is busy when this percent of the IO takes longer than the latency.
  std::int64_t read_latency_us = 3000, write_latency_us = 3000;
  int read_latency_percent = 95, write_latency_percent = 95;
  bool user_model = false;
  /// Of the user model, in the order of the kernel: rbps, rseqiops, rrandiops, wbps, wseqiops,
  /// wrandiops; each at least 1 when the model is the user's.
  std::array<std::int64_t, 6> model{};
  friend bool operator==(const IoBlock&, const IoBlock&) = default;
};

/// blkioQOS of one class.
struct BlkIoClass {
  std::optional<bool> enable;
  std::vector<IoBlock> blocks;
  friend bool operator==(const BlkIoClass&, const BlkIoClass&) = default;
};
/// resourceQOSStrategy.{beClass,cgroupRoot}.blkioQOS; other classes have no IO setting.
struct BlkIoStrategy {
  BlkIoClass be, root;
  friend bool operator==(const BlkIoStrategy&, const BlkIoStrategy&) = default;
};

}  // namespace koordlet
