#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr FileName kEffective{"cpuset", "cpuset.cpus", "cpuset.cpus.effective"};

}  // namespace

Result<CpuSet> read_effective_cpus(const HostRoots& roots,
                                   CgroupVersion version,
                                   const CgroupPath& path) {
  const auto file = cgroup_file(roots, version, kEffective, path);
  const auto text = read_file(file);
  if (!text) {
    auto error = explain_missing(text.error(), roots, version, kEffective.controller, path);
    // v2: a cgroup without the controller runs on what its parent has.
    const bool inherits = version == CgroupVersion::kV2 && !path.is_root();
    if (inherits && error.code == Errc::kNotSupported) {
      return read_effective_cpus(roots, version, path.parent());
    }
    return error;
  }
  if (text->empty()) return Error{Errc::kGone, file + ": no content"};
  const auto set = CpuSet::parse(*text);
  if (!set) return Error{Errc::kParse, file + ": " + set.error().context};
  return *set;
}

}  // namespace koordlet::kernel
