#include "modules/status_api/metric_walk.hpp"

#include <algorithm>

namespace koordlet::status_api {
namespace {

namespace asio = boost::asio;
using store::StoredTime;

constexpr StoredTime kMinute{60'000};
constexpr StoredTime kPiece{3'600'000};  // 3600 samples at most at one a second

StoredTime floor_to(StoredTime t, StoredTime width) { return t - t % width; }

HistoryPoint of(const store::TimedValue& v) {
  return {v.at, 1, v.value, v.value, v.value, static_cast<double>(v.value), false};
}
HistoryPoint of(const store::RollupPoint& r) {
  return {r.at, r.count, r.min, r.max, r.last, r.mean, true};
}

}  // namespace

policy::PlotBuckets::Group HistoryPoint::group() const {
  return {at.count(),
          static_cast<double>(count),
          static_cast<double>(min),
          static_cast<double>(max),
          static_cast<double>(last),
          mean};
}

std::vector<HistoryPoint> merge_history(const std::vector<store::RollupPoint>& rollups,
                                        const std::vector<store::TimedValue>& samples) {
  std::vector<HistoryPoint> out;
  out.reserve(rollups.size() + samples.size());
  auto sample = samples.begin();
  // Raw samples are dropped from the oldest on: only the first minute they reach can be in part.
  bool in_samples = false;
  for (auto r = rollups.begin(); r != rollups.end(); ++r) {
    const auto end = r->at + kMinute;
    for (; sample != samples.end() && sample->at < r->at; ++sample) {
      out.push_back(of(*sample));
      in_samples = true;
    }
    auto behind = sample;
    std::uint64_t in_minute = 0;
    for (; behind != samples.end() && behind->at < end; ++behind) ++in_minute;
    if (in_minute > 0 && (in_samples || in_minute >= r->count)) continue;
    out.push_back(of(*r));
    sample = behind;
  }
  for (; sample != samples.end(); ++sample) out.push_back(of(*sample));
  return out;
}

WalkWindow narrow(StoredTime from, StoredTime to, const store::SeriesSummary& summary) {
  // A roll-up stands at the start of the minute of its first sample.
  return {std::max(from, floor_to(summary.first_at, kMinute)),
          std::min(to, summary.last_at),
          summary.exact};
}

asio::awaitable<Result<void>> walk_series(MetricSource& source,
                                          store::SeriesKey series,
                                          WalkWindow window,
                                          Deadline deadline,
                                          std::function<bool(const HistoryPoint&)> visit) {
  for (auto at = window.from; at <= window.to;) {
    if (std::chrono::steady_clock::now() > deadline)
      co_return Error{Errc::kBusy,
                      "the answer takes too long: expected a shorter window or fewer functions"};
    const auto end = std::min(window.to, floor_to(at, kPiece) + kPiece - StoredTime{1});
    std::vector<store::RollupPoint> minutes;
    if (!window.exact) {
      auto rollups = co_await source.rollups(series, at, end);
      if (!rollups) co_return rollups.error();
      minutes = std::move(*rollups);
    }
    const auto samples = co_await source.range(series, at, end);
    if (!samples) co_return samples.error();
    for (const auto& point : merge_history(minutes, *samples)) {
      const bool more = visit(point);
      if (!more) co_return Result<void>{};
    }
    at = end + StoredTime{1};
  }
  co_return Result<void>{};
}

}  // namespace koordlet::status_api
