#include "kernel/cgroup_names.hpp"

#include <unistd.h>

#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

std::string machine_file(const HostRoots& roots, CgroupFile file) {
  switch (file) {
    case CgroupFile::kMinFreeKbytes:
      return roots.proc + "/sys/vm/min_free_kbytes";
    case CgroupFile::kWatermarkScaleFactor:
      return roots.proc + "/sys/vm/watermark_scale_factor";
    case CgroupFile::kMemcgReapBackground:
      return roots.sys + "/kernel/mm/memcg_reaper/reap_background";
    case CgroupFile::kGroupIdentityEnabled:
      return roots.proc + "/sys/kernel/sched_group_identity_enabled";
    case CgroupFile::kIdleSaverWmark:
      return roots.proc + "/sys/kernel/sched_idle_saver_wmark";
    case CgroupFile::kPageCacheLimitGlobal:
      return roots.sys + "/kernel/mm/pagecache_limit/enabled";
    default: {
      // A directory of its own since 5.13.
      auto moved = roots.sys + "/kernel/debug/sched/features";
      return ::access(moved.c_str(), F_OK) == 0 ? moved
                                                : roots.sys + "/kernel/debug/sched_features";
    }
  }
}

}  // namespace

FileName file_name(CgroupFile file) {
  switch (file) {
    case CgroupFile::kCpuMax:
      return {"cpu", "cpu.cfs_quota_us", "cpu.max"};
    case CgroupFile::kCpuBurst:
      return {"cpu", "cpu.cfs_burst_us", "cpu.max.burst"};
    case CgroupFile::kCpuWeight:
      return {"cpu", "cpu.shares", "cpu.weight"};
    case CgroupFile::kMemoryMax:
      return {"memory", "memory.limit_in_bytes", "memory.max"};
    case CgroupFile::kIoMax:
      return {"blkio", kThrottleFiles[0].v1, "io.max"};
    case CgroupFile::kIoWeight:
      return {"blkio", "blkio.cost.weight", "io.weight"};
    case CgroupFile::kIoCostQos:
      return {"blkio", "blkio.cost.qos", "io.cost.qos"};
    case CgroupFile::kIoCostModel:
      return {"blkio", "blkio.cost.model", "io.cost.model"};
    default: {  // the same name on both; on v1 mostly vendor kernels only
      const auto name = to_string(file);
      return {name.substr(0, name.find('.')), name, name};
    }
  }
}

std::string resctrl_root(const HostRoots& roots) { return roots.sys + "/fs/resctrl"; }

std::string setting_file(const HostRoots& roots, CgroupVersion version, const CgroupKey& key) {
  switch (traits_of(key.file).home) {
    case FileHome::kCgroup:
      return cgroup_file(roots, version, file_name(key.file), key.path);
    case FileHome::kResctrl:
      return setting_home(roots, version, key) + "/schemata";
    case FileHome::kMachine:
      return machine_file(roots, key.file);
  }
  return {};
}

std::string setting_home(const HostRoots& roots, CgroupVersion version, const CgroupKey& key) {
  switch (traits_of(key.file).home) {
    case FileHome::kCgroup:
      return cgroup_dir(roots, version, "cpu", key.path);
    case FileHome::kResctrl:
      return key.path.is_root() ? resctrl_root(roots) : resctrl_root(roots) + '/' + key.path.str();
    case FileHome::kMachine:
      return machine_file(roots, key.file);
  }
  return {};
}

std::string cgroup_dir(const HostRoots& roots,
                       CgroupVersion version,
                       std::string_view controller,
                       const CgroupPath& path) {
  std::string out = roots.cgroup;
  if (version == CgroupVersion::kV1) {
    out += '/';
    out += controller;
  }
  if (!path.is_root()) {
    out += '/';
    out += path.str();
  }
  return out;
}

std::string cgroup_file(const HostRoots& roots,
                        CgroupVersion version,
                        const FileName& name,
                        const CgroupPath& path) {
  auto out = cgroup_dir(roots, version, name.controller, path);
  out += '/';
  out += version == CgroupVersion::kV1 ? name.v1 : name.v2;
  return out;
}

Error explain_missing(Error error,
                      const HostRoots& roots,
                      CgroupVersion version,
                      std::string_view controller,
                      const CgroupPath& path) {
  if (error.code != Errc::kNotFound) return error;
  if (is_directory(cgroup_dir(roots, version, controller, path))) {
    error.code = Errc::kNotSupported;
    error.context += "; the cgroup is there, but this kernel or set-up has no such file";
  } else if (is_directory(roots.cgroup) &&
             !is_directory(cgroup_dir(roots, version, controller, {}))) {
    error.code = Errc::kNotSupported;
    error.context += "; this hierarchy is not mounted";
  }
  return error;
}

}  // namespace koordlet::kernel
