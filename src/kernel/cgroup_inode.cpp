#include <cerrno>
#include <sys/stat.h>

#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_names.hpp"

namespace koordlet::kernel {

Result<Inode> cgroup_inode(const HostRoots& roots, CgroupVersion version, const CgroupPath& path) {
  const auto dir = cgroup_dir(roots, version, "cpu", path);
  struct stat st {};
  if (::stat(dir.c_str(), &st) != 0) return errno_error(errno, dir, "stat");
  return static_cast<Inode>(st.st_ino);
}

}  // namespace koordlet::kernel
