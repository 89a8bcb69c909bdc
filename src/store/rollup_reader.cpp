#include "store/rollup_reader.hpp"

#include <algorithm>

#include "store/rollup_block.hpp"

namespace koordlet::store {
namespace {

struct Window {
  StoredTime from{0}, to{0};
  bool covers(StoredTime minute) const { return from <= minute && minute <= to; }
};

// One block: the minutes of one series in one hour. False: damaged.
bool read_hour(const std::vector<std::int64_t>& times,
               const std::vector<std::uint32_t>& rows,
               std::string_view block,
               const Window& window,
               Gathered& out) {
  auto reader = RollupReader::open(block, rows.size());
  if (!reader) return false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StoredTime minute{times[rows[i]]};
    const bool wanted = window.covers(minute);
    auto m = reader->moments(i);
    m.first_at = m.last_at = minute;
    if (wanted) out.add_minute(minute, m);
    if (!out.wants_sketches()) continue;
    // A minute of one sample went to the values.
    const bool sketched = wanted && m.count > 1;
    if (m.count > 1 && !reader->add_next_sketch(i, sketched, out.sketch())) return false;
  }
  return true;
}

}  // namespace

void Gathered::add(const std::vector<TimedValue>& samples) {
  for (const auto& s : samples) moments_.add(s);
  if (quantiles_) {
    for (const auto& s : samples) values_.push_back(s.value);
  }
  if (!points_wanted_) return;
  const auto points = roll_up(samples);
  points_.insert(points_.end(), points.begin(), points.end());
}

void Gathered::add_minute(StoredTime minute, const Moments& m) {
  moments_.add(m);
  if (m.count > 1) exact_ = false;
  if (m.count == 1 && quantiles_) values_.push_back(m.last);
  if (points_wanted_) points_.push_back(to_point(minute, m));
}

double Gathered::quantile(double q) const {
  if (q <= 0) return static_cast<double>(moments_.min);
  if (q >= 1) return static_cast<double>(moments_.max);
  return std::clamp(
      sketch_.quantile(q), static_cast<double>(moments_.min), static_cast<double>(moments_.max));
}

std::optional<SeriesSummary> Gathered::summary(const std::vector<double>& quantiles) {
  if (moments_.count == 0) return std::nullopt;
  auto out = to_summary(moments_);
  out.exact = exact_;
  if (quantiles.empty()) return out;
  if (exact_) {
    out.quantiles = exact_quantiles(values_, quantiles);
    return out;
  }
  for (const auto v : values_) sketch_.add(v);
  values_.clear();
  for (const auto q : quantiles) {
    out.quantiles.push_back(sketch_.count() == 0 ? out.mean : quantile(q));
  }
  return out;
}

Result<std::size_t> read_rollups(
    SealLog& minutes, std::uint32_t id, StoredTime from, StoredTime to, Gathered& out) {
  // Not before the epoch: the minute of the earliest time is out of range.
  const Window window{minute_of(std::max(from, StoredTime{0})), to};
  if (window.from > window.to) return std::size_t{0};
  std::size_t damaged = 0;
  std::vector<std::int64_t> times;
  std::vector<std::uint32_t> rows;
  const auto unread = minutes.scan(window.from, window.to, [&](SealView& hour) {
    if (!hour.head().times(times)) {
      ++damaged;
      return true;
    }
    const bool whole = hour.find({id}, [&](const GroupReader::Entry& e) {
      const bool known = hour.head().rows_of(e.pattern, rows);
      if (!known || !read_hour(times, rows, e.block, window, out)) ++damaged;
    });
    if (!whole) ++damaged;
    return true;
  });
  if (!unread) return unread;
  return damaged + *unread;
}

Result<std::optional<TimedValue>> last_in_rollups(SealLog& minutes, std::uint32_t id) {
  std::optional<TimedValue> out;
  std::vector<std::int64_t> times;
  std::vector<std::uint32_t> rows;
  const auto r = minutes.scan_back([&](SealView& hour) {
    if (!hour.head().times(times)) return true;
    hour.find({id}, [&](const GroupReader::Entry& e) {
      if (!hour.head().rows_of(e.pattern, rows) || rows.empty()) return;
      const auto reader = RollupReader::open(e.block, rows.size());
      if (!reader) return;
      out = TimedValue{StoredTime{times[rows.back()]}, reader->moments(rows.size() - 1).last};
    });
    return !out;
  });
  if (!r) return r.error();
  return out;
}

}  // namespace koordlet::store
