#pragma once

#include <string>
#include <string_view>

#include "base/cgroup.hpp"
#include "base/result.hpp"

/// Writing one line of a file that holds many settings. The kernel takes such a line as an order
/// and keeps the others; a plain file (recorded or test tree) would be left with this line alone.
namespace koordlet::kernel {

/// What a plain file holds after `order`, the text of encode_item() or encode_rate_v1() for `key`:
/// the line, domain or feature that it names is replaced, or added, and all others stay. Pure.
std::string with_item(std::string_view content, const CgroupKey& key, std::string_view order);

/// One write(2) of `order` to the kernel; into a plain file by with_item().
Result<void> write_item(const std::string& path, const CgroupKey& key, std::string_view order);

}  // namespace koordlet::kernel
