#include "policy/series_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace koordlet::policy {
namespace {

constexpr std::array<std::string_view, 8> kBlocks{
    "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};

std::int64_t floor_to(std::int64_t t, std::int64_t step) {
  const auto rest = t % step;
  return t - (rest < 0 ? rest + step : rest);
}

}  // namespace

std::optional<PlotGrid> plot_grid(std::int64_t from_ms,
                                  std::int64_t to_ms,
                                  std::int64_t step_ms,
                                  std::size_t most) {
  if (step_ms <= 0 || to_ms <= from_ms) return std::nullopt;
  PlotGrid out;
  out.step_ms = step_ms;
  out.start_ms = floor_to(from_ms, step_ms);
  const auto steps =
      static_cast<std::uint64_t>((floor_to(to_ms, step_ms) - out.start_ms) / step_ms);
  if (steps >= most) return std::nullopt;
  out.size = static_cast<std::size_t>(steps) + 1;
  return out;
}

void PlotBuckets::add(const Group& g) {
  if (!std::isfinite(g.mean) || !std::isfinite(g.last) || !(g.count > 0)) return;
  const auto before = before_;
  before_ = SeriesPoint{g.at_ms, g.last};
  if (g.at_ms < grid_.start_ms) return;
  const auto index = static_cast<std::size_t>((g.at_ms - grid_.start_ms) / grid_.step_ms);
  if (index >= buckets_.size()) return;
  auto& b = buckets_[index];
  b.min = b.count > 0 ? std::min(b.min, g.min) : g.min;
  b.max = b.count > 0 ? std::max(b.max, g.max) : g.max;
  b.count += g.count;
  b.sum += g.mean * g.count;
  b.last = g.last;
  if (before && g.at_ms > before->at_ms && g.last >= before->value) {
    b.growth += g.last - before->value;
    b.growth_ms += g.at_ms - before->at_ms;
  }
}

std::optional<double> PlotBuckets::Bucket::value(PlotValue what) const {
  if (!(count > 0)) return std::nullopt;
  switch (what) {
    case PlotValue::kMean:
      return sum / count;
    case PlotValue::kMin:
      return min;
    case PlotValue::kMax:
      return max;
    case PlotValue::kLast:
      return last;
    case PlotValue::kCount:
      return count;
    case PlotValue::kRate:
      if (growth_ms <= 0) return std::nullopt;
      return growth * 1000 / static_cast<double>(growth_ms);
  }
  return std::nullopt;
}

std::vector<std::optional<double>> PlotBuckets::values(PlotValue what) const {
  std::vector<std::optional<double>> out;
  out.reserve(buckets_.size());
  for (const auto& b : buckets_) out.push_back(b.value(what));
  return out;
}

std::string sparkline(const std::vector<std::optional<double>>& values) {
  const auto drawn = [](const std::optional<double>& v) { return v && std::isfinite(*v); };
  std::optional<double> low, high;
  for (const auto& v : values) {
    if (!drawn(v)) continue;
    low = low ? std::min(*low, *v) : *v;
    high = high ? std::max(*high, *v) : *v;
  }
  std::string out;
  for (const auto& v : values) {
    if (!drawn(v)) {
      out += ' ';
    } else if (*low == *high) {
      out += *low == 0 ? kBlocks.front() : kBlocks[3];
    } else {
      // Halves first: the span of the largest values would not be finite.
      const double share = (*v / 2 - *low / 2) / (*high / 2 - *low / 2);
      const auto level = static_cast<std::size_t>(share * static_cast<double>(kBlocks.size()));
      out += kBlocks[std::min(level, kBlocks.size() - 1)];
    }
  }
  return out;
}

}  // namespace koordlet::policy
