#include "store/sealer.hpp"

#include <algorithm>

#include "store/sample_block.hpp"

namespace koordlet::store {
namespace {

StoredTime mark_after(StoredTime t) { return t - t % Sealer::kSpan + Sealer::kSpan; }

}  // namespace

StoredTime Sealer::sealed_until() const {
  return seals_.empty() ? StoredTime{-1} : seals_.seals().back().end;
}

bool Sealer::due(StoredTime now) const {
  if (rows_.count() == 0) return false;
  return std::max(*rows_.newest(), now) >= mark_after(*rows_.oldest()) || rows_.count() > kMaxRows;
}

Result<void> Sealer::abandon() {
  columns_.clear();
  return job_.abandon();
}

Result<void> Sealer::begin(std::uint32_t ids) {
  std::vector<std::int64_t> times;
  std::uint64_t samples = 0;
  const auto from = *rows_.oldest(), mark = mark_after(from);
  auto r = rows_.scan_while(from, mark - StoredTime{1}, [&](StoredTime at, std::string_view row) {
    if (times.size() == kMaxRows) return false;
    times.push_back(at.count());
    if (const auto reader = RowReader::open(row)) {
      samples += reader->size();
    } else {
      ++damaged_rows_;
    }
    return true;
  });
  if (!r) return r;
  if (times.empty()) return Error{Errc::kParse, "rows: none where the oldest should be"};
  job_.begin(std::move(times), ids, samples, {kSamplesPerStep, 32, 1 << 20});
  return {};
}

Result<void> Sealer::step(std::uint32_t ids) {
  if (!active()) return begin(ids);  // the scan is a step of its own
  auto r = job_.step([this](std::uint32_t from, std::uint32_t to) {
    auto read = read_columns(from, to);
    if (read) write_columns(from);
    return read;
  });
  if (!active()) columns_ = {};
  return r;
}

// Series with from <= id < to.
Result<void> Sealer::read_columns(std::uint32_t from, std::uint32_t to) {
  columns_.resize(to - from);
  for (auto& c : columns_) {
    c.rows.clear();
    c.values.clear();
  }
  if (from == to) return {};
  auto& writer = job_.writer();
  const auto& times = writer.times();
  std::uint32_t row = 0;
  return rows_.scan_while(writer.begin(), writer.end(), [&](StoredTime at, std::string_view bytes) {
    while (row < times.size() && times[row] < at.count()) ++row;
    if (row == times.size()) return false;
    entries_.clear();
    const auto reader = RowReader::open(bytes);
    if (reader && !reader->read_ids(from, to - 1, entries_)) ++damaged_rows_;
    for (const auto& e : entries_) {
      columns_[e.id - from].rows.push_back(row);
      columns_[e.id - from].values.push_back(e.value);
    }
    return true;
  });
}

void Sealer::write_columns(std::uint32_t from) {
  for (std::uint32_t i = 0; i < columns_.size(); ++i) {
    const auto& c = columns_[i];
    if (c.rows.empty()) continue;
    block_.clear();
    append_block(c.values, block_);
    job_.writer().add(from + i, c.rows, block_);
  }
}

}  // namespace koordlet::store
