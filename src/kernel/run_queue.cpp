#include "kernel/run_queue.hpp"

namespace koordlet::kernel {

std::optional<std::chrono::nanoseconds> quantile(const LatencySlots& slots, double q) {
  if (!(q > 0 && q <= 1)) return std::nullopt;
  double total = 0;  // exact far beyond any real count, and it cannot overflow
  for (const auto n : slots) total += static_cast<double>(n);
  if (total <= 0) return std::nullopt;

  const double rank = q * total;
  double before = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] == 0) continue;
    last = i;
    if (before + static_cast<double>(slots[i]) >= rank) break;
    before += static_cast<double>(slots[i]);
  }
  const double start_us = last == 0 ? 0 : static_cast<double>(1ULL << (last - 1));
  double us = start_us;
  if (last + 1 < slots.size()) {
    const double width_us = last == 0 ? 1 : start_us;
    const double share = (rank - before) / static_cast<double>(slots[last]);
    us += width_us * (share < 1 ? share : 1);  // rounding of huge counts may lead beyond the slot
  }
  return std::chrono::nanoseconds{static_cast<std::int64_t>(us * 1000 + 0.5)};
}

}  // namespace koordlet::kernel
