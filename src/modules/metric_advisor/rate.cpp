#include "modules/metric_advisor/rate.hpp"

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
  if (periods == base->periods) return Permille{0};
  return Permille{
      static_cast<std::int64_t>((throttled - base->throttled) * 1000 / (periods - base->periods))};
}

}  // namespace koordlet
