#include "store/window.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace koordlet::store {

StoredTime minute_of(StoredTime t) { return std::chrono::floor<std::chrono::minutes>(t); }

std::size_t rank_index(std::size_t count, double q) {
  const auto n = static_cast<double>(count);
  const auto rank = std::ceil(n * q - 1e-9 * n);
  if (rank <= 1) return 0;
  return std::min(count, static_cast<std::size_t>(rank)) - 1;
}

std::int64_t nearest_rank(std::vector<std::int64_t>& values, unsigned percent) {
  const auto index = (values.size() * percent + 99) / 100 - 1;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Result<void> check_quantiles(const std::vector<double>& quantiles) {
  for (const double q : quantiles) {
    if (q >= 0 && q <= 1) continue;  // not a number compares false
    return Error{Errc::kRange, fmt::format("quantile: expected 0 to 1, got {}", q)};
  }
  return {};
}

std::vector<double> exact_quantiles(std::vector<std::int64_t>& values,
                                    const std::vector<double>& quantiles) {
  std::vector<double> out(quantiles.size());
  std::vector<std::size_t> order(quantiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return quantiles[a] > quantiles[b];
  });
  // From the highest down: each search is over what lies below the one before.
  auto end = values.end();
  for (const auto i : order) {
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(rank_index(values.size(), quantiles[i]));
    if (at < end) {
      std::nth_element(values.begin(), at, end);
      end = at;
    }
    out[i] = static_cast<double>(*at);
  }
  return out;
}

void Moments::add(TimedValue sample) {
  if (count == 0) {
    min = max = sample.value;
    first_at = sample.at;
  }
  ++count;
  min = std::min(min, sample.value);
  max = std::max(max, sample.value);
  last = sample.value;
  last_at = sample.at;
  sum += sample.value;
}

void Moments::add(const Moments& later) {
  if (later.count == 0) return;
  if (count == 0) {
    *this = later;
    return;
  }
  count += later.count;
  min = std::min(min, later.min);
  max = std::max(max, later.max);
  last = later.last;
  last_at = later.last_at;
  sum += later.sum;
}

double Moments::mean() const {
  const auto n = static_cast<__int128>(count);
  return static_cast<double>(sum / n) + static_cast<double>(sum % n) / static_cast<double>(count);
}

SeriesSummary to_summary(const Moments& m) {
  SeriesSummary out;
  out.count = m.count;
  out.min = m.min;
  out.max = m.max;
  out.last = m.last;
  out.mean = m.mean();
  out.first_at = m.first_at;
  out.last_at = m.last_at;
  return out;
}

WindowAggregate without_quantiles(const SeriesSummary& s) {
  WindowAggregate out;
  out.count = s.count;
  out.min = s.min;
  out.max = s.max;
  out.last = s.last;
  out.mean = s.mean;
  out.first_at = s.first_at;
  out.last_at = s.last_at;
  out.exact = s.exact;
  return out;
}

std::optional<SeriesSummary> summarize(const std::vector<TimedValue>& samples,
                                       const std::vector<double>& quantiles) {
  if (samples.empty()) return std::nullopt;
  Moments m;
  for (const auto& s : samples) m.add(s);
  auto out = to_summary(m);
  if (quantiles.empty()) return out;
  std::vector<std::int64_t> values;
  values.reserve(samples.size());
  for (const auto& s : samples) values.push_back(s.value);
  out.quantiles = exact_quantiles(values, quantiles);
  return out;
}

std::optional<WindowAggregate> summarize(const std::vector<TimedValue>& samples) {
  if (samples.empty()) return std::nullopt;
  Moments m;
  std::vector<std::int64_t> values;
  values.reserve(samples.size());
  for (const auto& s : samples) {
    m.add(s);
    values.push_back(s.value);
  }
  auto out = without_quantiles(to_summary(m));
  out.p50 = nearest_rank(values, 50);
  out.p90 = nearest_rank(values, 90);
  out.p95 = nearest_rank(values, 95);
  out.p99 = nearest_rank(values, 99);
  return out;
}

RollupPoint to_point(StoredTime minute, const Moments& m) {
  return {minute, m.count, m.min, m.max, m.last, m.mean()};
}

std::vector<RollupPoint> roll_up(const std::vector<TimedValue>& samples) {
  std::vector<RollupPoint> out;
  for (auto next = samples.begin(); next != samples.end();) {
    const auto minute = minute_of(next->at);
    Moments m;
    for (; next != samples.end() && minute_of(next->at) == minute; ++next) m.add(*next);
    out.push_back(to_point(minute, m));
  }
  return out;
}

}  // namespace koordlet::store
