#pragma once

#include <string_view>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// Cold bytes of `memory.idle_page_stats` (kidled, vendor kernels): the sum over the columns from
/// `boundary` on of the rows cfei, dfei, cfui and dfui (reference metrics 2.8): column 5 holds what
/// was idle for 60 scans or more. Rows are found by their names; kParse for a file of another
/// shape: no list of buckets, another number of columns, a row missing, content that is cut.
Result<Bytes> parse_idle_page_stats(std::string_view text, std::size_t boundary = 5);
/// <sys>/kernel/mm/kidled is there with both switches.
bool has_kidled(const HostRoots& roots);
/// Of one cgroup (v1 only). kNotSupported: this kernel counts no idle pages.
Result<Bytes> read_cold_memory(const HostRoots& roots,
                               CgroupVersion version,
                               const CgroupPath& cgroup,
                               std::size_t boundary = 5);

}  // namespace koordlet::kernel
