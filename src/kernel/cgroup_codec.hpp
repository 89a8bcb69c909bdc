#pragma once

#include <string>
#include <string_view>

#include "base/cgroup.hpp"
#include "base/result.hpp"

/// Text of control files <-> typed values, and the ranges the kernel documents. Pure.
namespace koordlet::kernel {

/// Content of one file as the version spells it. v1 kCpuMax is two files: use decode_quota_v1.
/// kParse for anything that is not the format, too large numbers included.
Result<CgroupValue> decode(CgroupVersion version, CgroupFile file, std::string_view text);
/// v1 cpu.cfs_quota_us: -1 is unlimited.
Result<Limit<std::chrono::microseconds>> decode_quota_v1(std::string_view text);
Result<std::chrono::microseconds> decode_period_v1(std::string_view text);

/// What one write(2) takes. v1 kCpuMax: the quota file's text.
std::string encode(CgroupVersion version, CgroupFile file, const CgroupValue& value);

/// kRange names key, value and what was expected: a value of the wrong kind, a number outside the
/// kernel's range, on v1 an empty cpuset (nothing could run there). On v2 an empty one means what
/// the parent has; the kernel takes it for a cgroup without tasks only (to lift the cpuset of
/// another one write the parent's).
Result<void> check_range(CgroupVersion version, const CgroupKey& key, const CgroupValue& value);

}  // namespace koordlet::kernel
