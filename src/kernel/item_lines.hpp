#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"

/// Text of the files that hold many settings, one a device, domain or feature. Pure. A line that is
/// absent is the kernel's own default, never an error, except where the kernel names all items that
/// it has (resctrl, scheduler features): there it is kNotSupported.
namespace koordlet::kernel {

/// The setting that `key` names, from the content of its file. v1 kIoMax is four files: use
/// decode_rate_v1. kParse for anything that is not the format.
Result<CgroupValue> decode_item(const CgroupKey& key, std::string_view text);
/// One of the v1 throttle files: "8:16 1048576" a line; absent is unlimited.
Result<IoMax::Rate> decode_rate_v1(std::string_view device, std::string_view text);

/// What one write(2) takes, the item included.
std::string encode_item(const CgroupKey& key, const CgroupValue& value);
/// v1: unlimited is 0.
std::string encode_rate_v1(std::string_view device, const IoMax::Rate& rate);

/// "L3", "L3CODE", "L3DATA", "MB": the line of a schemata file that `file` is.
std::string_view schemata_name(CgroupFile file);

}  // namespace koordlet::kernel
