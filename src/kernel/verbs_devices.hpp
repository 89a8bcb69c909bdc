#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kernel/host.hpp"

namespace koordlet::kernel {

/// A character device that is there.
struct DeviceNode {
  std::string path;  ///< as a process of the host sees it: "/dev/infiniband/uverbs0"
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

/// RDMA devices that user programs open.
struct VerbsDevices {
  std::optional<DeviceNode> connection_manager{};  ///< rdma_cm
  std::map<std::string, DeviceNode> by_pci{};      ///< uverbs devices: "0000:1f:00.2"
  friend bool operator==(const VerbsDevices&, const VerbsDevices&) = default;
};

/// Those of <sys>/class/infiniband_verbs that have a node below <dev>/infiniband; empty on a
/// machine without any. A device of no PCI function (soft RoCE) is left out: nobody can name it.
VerbsDevices read_verbs_devices(const HostRoots& roots);

}  // namespace koordlet::kernel
