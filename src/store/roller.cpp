#include "store/roller.hpp"

#include <algorithm>

#include "store/sample_block.hpp"

namespace koordlet::store {

StoredTime Roller::rolled_until() const {
  if (minutes_.empty()) return StoredTime{0};
  const auto last = minutes_.seals().back().end;
  return last - last % kSpan + kSpan;
}

std::optional<StoredTime> Roller::next_hour() const {
  const auto done = rolled_until();
  for (const auto& s : raw_.seals()) {
    if (s.begin >= done) return s.begin - s.begin % kSpan;
  }
  return std::nullopt;
}

bool Roller::due(StoredTime unsealed_from) const {
  const auto hour = next_hour();
  return hour && unsealed_from >= *hour + kSpan;
}

Result<void> Roller::abandon() {
  columns_.clear();
  return job_.abandon();
}

Result<void> Roller::begin(std::uint32_t ids) {
  hour_ = *next_hour();
  std::vector<std::int64_t> minutes;
  std::uint64_t samples = 0;
  const auto damaged =
      raw_.scan(std::max(hour_, rolled_until()), hour_ + kSpan - StoredTime{1}, [&](SealView& v) {
        samples += v.info().samples;
        if (!v.head().times(times_)) return true;
        for (const auto t : times_) {
          const auto minute = minute_of(StoredTime{t}).count();
          if (minutes.empty() || minutes.back() < minute) minutes.push_back(minute);
        }
        return true;
      });
  if (!damaged) return damaged.error();
  damaged_ += *damaged;
  if (minutes.empty()) minutes.push_back(hour_.count());  // unreadable: the hour is done, empty
  job_.begin(std::move(minutes), ids, samples, {kSamplesPerStep, 8, kSeriesPerStep});
  return {};
}

Result<void> Roller::step(std::uint32_t ids) {
  if (!active()) return begin(ids);
  auto r = job_.step([this](std::uint32_t from, std::uint32_t to) {
    auto read = read_columns(from, to);
    if (read) write_columns(from);
    return read;
  });
  if (!active()) columns_ = {};
  return r;
}

Result<void> Roller::read_columns(std::uint32_t from, std::uint32_t to) {
  columns_.resize(to - from);
  for (auto& c : columns_) c.clear();
  if (from == to) return {};
  const auto& minutes = job_.writer().times();
  const auto end = hour_ + kSpan - StoredTime{1};
  const auto damaged = raw_.scan(std::max(hour_, rolled_until()), end, [&](SealView& v) {
    if (!v.head().times(times_)) {
      ++damaged_;
      return true;
    }
    minute_rows_.clear();
    for (const auto t : times_) {
      const auto minute = minute_of(StoredTime{t}).count();
      const auto at = std::lower_bound(minutes.begin(), minutes.end(), minute);
      minute_rows_.push_back(static_cast<std::uint32_t>(at - minutes.begin()));
    }
    const bool whole = v.each(
        from, to - 1, [&](const auto& entry) { add_series(v, entry, columns_[entry.id - from]); });
    if (!whole) ++damaged_;
    return true;
  });
  if (!damaged) return damaged.error();
  damaged_ += *damaged;
  return {};
}

void Roller::add_series(SealView& seal,
                        const GroupReader::Entry& entry,
                        std::vector<MinuteRollup>& to) {
  auto block = entry.block;
  values_.clear();
  if (!seal.head().rows_of(entry.pattern, rows_) || !read_block(block, rows_.size(), values_)) {
    ++damaged_;
    return;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto row = minute_rows_[rows_[i]];
    if (to.empty() || to.back().row != row) {
      to.emplace_back();
      to.back().row = row;
    }
    auto& m = to.back();
    m.values.push_back(values_[i]);
    m.moments.add(TimedValue{StoredTime{times_[rows_[i]]}, values_[i]});
  }
}

void Roller::write_columns(std::uint32_t from) {
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    const auto& minutes = columns_[i];
    if (minutes.empty()) continue;
    rows_.clear();
    for (const auto& m : minutes) rows_.push_back(m.row);
    block_.clear();
    append_rollups(minutes, block_);
    job_.writer().add(from + i, rows_, block_);
  }
}

}  // namespace koordlet::store
