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
  if (!writer_) return {};
  writer_.reset();
  columns_.clear();
  return seals_.drop_unfinished();
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
  writer_.emplace(std::move(times));
  next_id_ = 0;
  end_id_ = ids;
  const auto share = kSamplesPerStep * ids / std::max<std::uint64_t>(samples, 1);
  ids_per_step_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(share, 64, 1 << 20));
  return {};
}

Result<void> Sealer::step(std::uint32_t ids) {
  if (!writer_) {
    if (auto r = begin(ids); !r) return r;
  }
  const auto from = next_id_;
  const auto to = from + std::min(ids_per_step_, end_id_ - from);
  auto r = read_columns(from, to);
  if (r) r = write_columns(from, to);
  if (r) return r;
  const auto error = r.error();
  if (auto undone = abandon(); !undone) return undone;
  return error;
}

// Series with from <= id < to.
Result<void> Sealer::read_columns(std::uint32_t from, std::uint32_t to) {
  columns_.resize(to - from);
  for (auto& c : columns_) {
    c.rows.clear();
    c.values.clear();
  }
  if (from == to) return {};
  const auto& times = writer_->times();
  std::uint32_t row = 0;
  return rows_.scan_while(
      writer_->begin(), writer_->end(), [&](StoredTime at, std::string_view bytes) {
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

Result<void> Sealer::write_columns(std::uint32_t from, std::uint32_t to) {
  for (auto id = from; id < to; ++id) {
    const auto& c = columns_[id - from];
    if (c.rows.empty()) continue;
    block_.clear();
    append_block(c.values, block_);
    writer_->add(id, c.rows, block_);
  }
  const bool last = to == end_id_;
  const auto parts = writer_->take(last);
  if (!room_.has(parts.bytes)) return lmdb_error(MDB_MAP_FULL, "seals: append");
  if (auto r = seals_.put(writer_->end(), parts.groups, parts.head); !r) return r;
  next_id_ = to;
  if (!last) return {};
  seals_.finished(writer_->info());
  writer_.reset();
  columns_ = {};
  return {};
}

}  // namespace koordlet::store
