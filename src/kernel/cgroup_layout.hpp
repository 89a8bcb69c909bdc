#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/cgroup.hpp"
#include "base/result.hpp"

namespace koordlet::kernel {

/// Names of the kubepods tree under one driver (reference: cgroups-and-executor, section 3). Pure
/// text.
class CgroupLayout {
 public:
  explicit CgroupLayout(CgroupDriver driver) : driver_{driver} {}
  CgroupDriver driver() const { return driver_; }

  CgroupPath kubepods() const;
  /// Guaranteed is the kubepods root itself.
  CgroupPath tier(KubeQos qos) const;
  /// uid must match [A-Za-z0-9-]{1,253}; kRange otherwise ("../x" never becomes a path).
  Result<CgroupPath> pod(KubeQos qos, std::string_view uid) const;
  /// runtime: "containerd", "docker", "cri-o", "pouch"; id must match [A-Za-z0-9_-]{1,128}; kRange
  /// otherwise.
  Result<CgroupPath> container(const CgroupPath& pod,
                               std::string_view runtime,
                               std::string_view id) const;

  struct PodDir {
    KubeQos qos;
    std::string uid;  ///< systemd: underscores put back to dashes
  };
  /// Reads a directory name below `tier`; nullopt for what is not a pod
  /// ("kubepods-burstable.slice", "crio-conmon-...").
  std::optional<PodDir> parse_pod_dir(KubeQos tier, std::string_view name) const;
  /// Container id of a directory name below a pod; nullopt for what is not a container. cgroupfs:
  /// 64 hex digits, or any name of the id alphabet that is not conmon or a systemd unit when
  /// `strict` is false.
  std::optional<std::string> parse_container_dir(std::string_view name, bool strict = true) const;

 private:
  CgroupDriver driver_;
};

}  // namespace koordlet::kernel
