#include "kernel/cgroup_names.hpp"

#include <sys/stat.h>

namespace koordlet::kernel {
namespace {

bool is_dir(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

}  // namespace

FileName file_name(CgroupFile file) {
  switch (file) {
    case CgroupFile::kCpuMax:
      return {"cpu", "cpu.cfs_quota_us", "cpu.max"};
    case CgroupFile::kCpuWeight:
      return {"cpu", "cpu.shares", "cpu.weight"};
    case CgroupFile::kCpuIdle:
      return {"cpu", "cpu.idle", "cpu.idle"};
    case CgroupFile::kCpuBvt:
      return {"cpu", "cpu.bvt_warp_ns", "cpu.bvt_warp_ns"};
    case CgroupFile::kCpuset:
      return {"cpuset", "cpuset.cpus", "cpuset.cpus"};
    case CgroupFile::kMemoryMin:
      return {"memory", "memory.min", "memory.min"};  // on v1: vendor kernels only
    case CgroupFile::kMemoryLow:
      return {"memory", "memory.low", "memory.low"};
    case CgroupFile::kMemoryHigh:
      return {"memory", "memory.high", "memory.high"};
    case CgroupFile::kMemoryMax:
      return {"memory", "memory.limit_in_bytes", "memory.max"};
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
  if (is_dir(cgroup_dir(roots, version, controller, path))) {
    error.code = Errc::kNotSupported;
    error.context += "; the cgroup is there, but this kernel or set-up has no such file";
  } else if (is_dir(roots.cgroup) && !is_dir(cgroup_dir(roots, version, controller, {}))) {
    error.code = Errc::kNotSupported;
    error.context += "; this hierarchy is not mounted";
  }
  return error;
}

}  // namespace koordlet::kernel
