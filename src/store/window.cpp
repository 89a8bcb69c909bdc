#include "store/window.hpp"

#include <algorithm>

namespace koordlet::store {

std::int64_t nearest_rank(std::vector<std::int64_t>& values, unsigned percent) {
  const auto index = (values.size() * percent + 99) / 100 - 1;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::optional<WindowAggregate> summarize(const std::vector<TimedValue>& samples) {
  if (samples.empty()) return std::nullopt;
  WindowAggregate out;
  out.count = samples.size();
  out.first_at = samples.front().at;
  out.last_at = samples.back().at;
  out.last = samples.back().value;
  std::vector<std::int64_t> values;
  values.reserve(samples.size());
  __int128 sum = 0;  // bytes of a large node over an hour pass 64 bits
  for (const auto& s : samples) {
    values.push_back(s.value);
    sum += s.value;
  }
  const auto n = static_cast<__int128>(samples.size());
  out.mean = static_cast<double>(sum / n) +
             static_cast<double>(sum % n) / static_cast<double>(samples.size());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  out.min = *low;
  out.max = *high;
  out.p50 = nearest_rank(values, 50);
  out.p90 = nearest_rank(values, 90);
  out.p95 = nearest_rank(values, 95);
  out.p99 = nearest_rank(values, 99);
  return out;
}

}  // namespace koordlet::store
