#pragma once

#include <string>
#include <string_view>

#include "kernel/host.hpp"

namespace koordlet::kernel {

/// True when a file system is mounted at `mount_point` with `option` among its own options (the
/// last field of its line in <proc>/self/mountinfo).
bool mounted_with(const HostRoots& roots, std::string_view mount_point, std::string_view option);

}  // namespace koordlet::kernel
