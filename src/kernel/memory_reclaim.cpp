#include "kernel/memory_reclaim.hpp"

#include <string>
#include <unistd.h>

#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr FileName kReclaim{"memory", "", "memory.reclaim"};

}  // namespace

bool has_memory_reclaim(const HostRoots& roots, CgroupVersion version, const CgroupPath& cgroup) {
  if (version != CgroupVersion::kV2) return false;
  return ::access(cgroup_file(roots, version, kReclaim, cgroup).c_str(), F_OK) == 0;
}

Result<Reclaimed> reclaim_memory(const HostRoots& roots,
                                 CgroupVersion version,
                                 const CgroupPath& cgroup,
                                 Bytes amount) {
  if (version != CgroupVersion::kV2) {
    return Error{Errc::kNotSupported, "memory.reclaim: cgroup v1 has no such file"};
  }
  const auto file = cgroup_file(roots, version, kReclaim, cgroup);
  if (amount.v <= 0) {
    return Error{Errc::kRange, file + ": " + std::to_string(amount.v) + ": expected above 0"};
  }
  const auto done = write_file(file, std::to_string(amount.v));
  if (done) return Reclaimed::kAll;
  // EAGAIN: the kernel gave up before it had all of it.
  if (done.error().code == Errc::kBusy) return Reclaimed::kPart;
  return explain_missing(done.error(), roots, version, kReclaim.controller, cgroup);
}

}  // namespace koordlet::kernel
