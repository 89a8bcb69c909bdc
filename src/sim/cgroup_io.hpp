#pragma once

#include <string>

#include "base/cgroup.hpp"

/// The block layer's part of the modelled cgroup tree: which files there are, what stands in them
/// before anybody writes, and what a write leaves. Pure.
namespace koordlet::sim {

/// True for the files that hold one line a disk.
bool is_io_file(CgroupFile file);

/// Whether a mainline kernel has `file` in the cgroup: v2 io.max and io.weight below the root and
/// io.cost.* at the root alone; v1 blkio.throttle.* (blkio.cost.* are a vendor's).
bool has_io_file(CgroupVersion version, CgroupFile file, bool is_root);

/// What is read for a disk without a line of its own.
CgroupValue io_default(CgroupFile file);

/// What the line of a known disk holds after the write. kInvalid with the kernel's errno text:
///  - io.max: a rate of 0 (ERANGE); 1 (EINVAL: "val > 1"; kernels without
///    io.low take it again); operations over 2^32 - 1 are unlimited (block/blk-throttle.c,
///    tg_set_limit).
///  - v1 throttle files: 0 is no limit; operations keep their low 32 bits (tg_set_conf).
///  - io.weight: 1..10000 (block/blk-iocost.c, ioc_weight_write).
///  - io.cost.*: unknown keys, values that are no numbers, enable other than 0 and 1, ctrl other
///    than auto and user, percentages above 100 (ioc_qos_write, ioc_cost_model_write).
Result<CgroupValue> accept_io(CgroupVersion version, CgroupFile file, const CgroupValue& value);

}  // namespace koordlet::sim
