#include "policy/series_math.hpp"

#include <cmath>

namespace koordlet::policy {

void RateSum::add(SeriesPoint p) {
  if (!std::isfinite(p.value)) return;
  if (last_ && p.at_ms <= last_->at_ms) return;
  if (last_ && p.value >= last_->value) {
    growth_ += p.value - last_->value;
    time_ms_ += p.at_ms - last_->at_ms;
  }
  last_ = p;
}

std::optional<double> RateSum::per_second() const {
  if (time_ms_ <= 0) return std::nullopt;
  return growth_ * 1000 / static_cast<double>(time_ms_);
}

std::optional<double> rate_per_second(const SeriesPoints& points) {
  RateSum sum;
  for (const auto& p : points) sum.add(p);
  return sum.per_second();
}

std::string_view to_string(Direction direction) {
  switch (direction) {
    case Direction::kFlat:
      return "flat";
    case Direction::kRising:
      return "rising";
    case Direction::kFalling:
      return "falling";
  }
  return "";
}

void TrendPoints::add(SeriesPoint p) {
  if (!std::isfinite(p.value)) return;
  if (pending_ == 0) {
    first_ms_ = static_cast<double>(p.at_ms);
    sum_ms_ = 0;
    sum_ = 0;
  }
  sum_ms_ += static_cast<double>(p.at_ms) - first_ms_;  // differences: sums of epochs lose digits
  sum_ += p.value;
  if (++pending_ < group_) return;
  const auto n = static_cast<double>(pending_);
  points_.push_back({std::llround(first_ms_ + sum_ms_ / n), sum_ / n});
  pending_ = 0;
  if (points_.size() == kMost) halve();
}

void TrendPoints::halve() {
  for (std::size_t i = 0; i < points_.size() / 2; ++i) {
    const auto &a = points_[2 * i], &b = points_[2 * i + 1];
    points_[i] = {a.at_ms + (b.at_ms - a.at_ms) / 2, a.value / 2 + b.value / 2};
  }
  points_.resize(points_.size() / 2);
  group_ *= 2;
}

}  // namespace koordlet::policy
