#include "modules/metric_advisor/rate.hpp"

#include <algorithm>
#include <utility>

namespace koordlet {

std::optional<MilliCpu> CpuRate::since_base(const CpuReading& reading, MilliCpu ceiling) const {
  if (!base_ || reading.at <= base_->at || reading.usage < base_->usage) return std::nullopt;
  const auto used = static_cast<__int128>((reading.usage - base_->usage).count());
  const auto wall =
      std::chrono::duration_cast<std::chrono::nanoseconds>(reading.at - base_->at).count();
  const MilliCpu rate{static_cast<std::int64_t>(used * 1000 / wall)};
  if (rate > ceiling) return std::nullopt;
  return rate;
}

std::optional<MilliCpu> CpuRate::update(const CpuReading& reading, MilliCpu ceiling) {
  const auto rate = since_base(reading, ceiling);
  base_ = reading;
  return rate;
}

std::optional<Permille> ThrottleRate::update(std::uint64_t periods, std::uint64_t throttled) {
  const auto base = base_;
  base_ = Base{periods, throttled};
  if (!base || periods < base->periods || throttled < base->throttled) return std::nullopt;
  const auto all = periods - base->periods, held_back = throttled - base->throttled;
  if (held_back > all) return std::nullopt;
  if (all == 0) return Permille{0};
  return Permille{
      static_cast<std::int64_t>(static_cast<unsigned __int128>(held_back) * 1000 / all)};
}

namespace {

/// 100 x stalled / elapsed. The kernel adds up at its own pace: a hair above 100 is 100.
std::optional<double> percent(std::chrono::microseconds before,
                              std::chrono::microseconds now,
                              std::chrono::nanoseconds elapsed) {
  if (now < before) return std::nullopt;
  const auto stalled = std::chrono::duration<double>(now - before) / elapsed;
  return std::min(100.0, 100.0 * stalled);
}

}  // namespace

std::optional<StallShare> StallRate::update(MonoTime at, const StallTotals& totals) {
  const auto base = base_;
  base_ = Base{at, totals};
  if (!base || at <= base->at) return std::nullopt;
  const auto some = percent(base->totals.some, totals.some, at - base->at);
  if (!some) return std::nullopt;
  StallShare out{*some, std::nullopt};
  if (base->totals.full && totals.full) {
    out.full_percent = percent(*base->totals.full, *totals.full, at - base->at);
    if (!out.full_percent) return std::nullopt;
  }
  return out;
}

std::optional<StallShare> StallRate::update(MonoTime at, const kernel::Psi& psi) {
  StallTotals totals{psi.some.total, std::nullopt};
  if (psi.full) totals.full = psi.full->total;
  return update(at, totals);
}

std::optional<std::int64_t> per_second(std::uint64_t before,
                                       std::uint64_t now,
                                       std::chrono::nanoseconds elapsed) {
  if (now < before || elapsed.count() <= 0) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<__int128>(now - before) * 1'000'000'000 /
                                   elapsed.count());
}

std::optional<IoRate> IoUseRate::update(MonoTime at,
                                        const std::vector<kernel::IoCounters>& devices) {
  const auto last = at_;
  at_ = at;
  auto before = std::exchange(base_, {});
  for (const auto& d : devices) base_[d.device] = d;
  if (!last || at <= *last) return std::nullopt;
  IoRate out;
  for (const auto& d : devices) {
    const auto& b = before[d.device];  // a new device: zeros
    const auto read = per_second(b.read_bytes, d.read_bytes, at - *last);
    const auto written = per_second(b.write_bytes, d.write_bytes, at - *last);
    const auto reads = per_second(b.reads, d.reads, at - *last);
    const auto writes = per_second(b.writes, d.writes, at - *last);
    if (!read || !written || !reads || !writes) continue;
    out.read_bytes += *read;
    out.write_bytes += *written;
    out.reads += *reads;
    out.writes += *writes;
  }
  return out;
}

}  // namespace koordlet
