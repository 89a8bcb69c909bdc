#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koordlet::store {

/// Whole numbers of one series, bit-packed without loss (docs/metric-store.md has the bytes). Runs
/// of up to 120 values have a width of their own: the trailing zero bits that all share are dropped
/// (sizes are multiples of a page), then what is cheaper is kept, the distance from the smallest
/// value or the change from value to value. All arithmetic wraps: any 64-bit value is fine.
/// How many values there are is not in the bytes, the caller keeps it.
void append_block(std::span<const std::int64_t> values, std::string& out);

/// Takes a block of `count` values from the front of `bytes` and appends them to `out`. False:
/// damaged, `out` is as it was. Never reads outside of `bytes`; `count` is bounded by kMaxBlock.
bool read_block(std::string_view& bytes, std::size_t count, std::vector<std::int64_t>& out);

constexpr std::size_t kBlockRun = 120;
constexpr std::size_t kMaxBlock = 1 << 16;

}  // namespace koordlet::store
