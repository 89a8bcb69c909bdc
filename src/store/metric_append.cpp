#include <algorithm>

#include <fmt/format.h>

#include "store/cursor.hpp"
#include "store/lmdb_metric_store.hpp"

namespace koordlet::store {
namespace {

constexpr std::size_t kNameBytes = 128;  // a dictionary row, roughly
constexpr std::size_t kNamesPerDrop = 256;

bool is_full(const Error& e) { return is_map_full(e) || is_disk_full(e); }

}  // namespace

// Fills entries_ (by id, no repeats) and added_. Most batches list the same series in the same
// order as the one before: the hint saves hashing two strings a sample.
void LmdbMetricStore::resolve(const MetricBatch& batch) {
  entries_.clear();
  added_.clear();
  hints_.resize(batch.samples.size(), 0);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const auto& sample = batch.samples[i];
    auto& hint = hints_[i];
    if (!dictionary_.used(hint) || dictionary_.key(hint) == nullptr ||
        *dictionary_.key(hint) != sample.series) {
      if (sample.series.kind.size() > kMaxSeriesText ||
          sample.series.owner.size() > kMaxSeriesText) {
        ++refused_samples_;
        continue;
      }
      if (const auto id = dictionary_.find(sample.series)) {
        hint = *id;
      } else {
        hint = dictionary_.add(sample.series);
        added_.push_back(hint);
      }
    }
    entries_.push_back({hint, sample.value});
  }
  const auto by_id = [](const RowEntry& a, const RowEntry& b) { return a.id < b.id; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_id)) {
    std::stable_sort(entries_.begin(), entries_.end(), by_id);
  }
  std::size_t kept = 0;
  for (const auto& e : entries_) {
    if (kept > 0 && entries_[kept - 1].id == e.id) --kept;
    entries_[kept++] = e;
  }
  entries_.resize(kept);
}

void LmdbMetricStore::forget_added() {
  for (const auto id : added_) dictionary_.erase(id);
  added_.clear();
}

Result<void> LmdbMetricStore::put(const MetricBatch& batch) {
  struct Rollback {  // names without a row in the file must not stay, whatever ended the attempt
    LmdbMetricStore& store;
    bool armed = true;
    ~Rollback() {
      if (armed) store.forget_added();
    }
  } rollback{*this};
  resolve(batch);
  if (entries_.empty()) return {};
  encode_row(entries_, row_);
  const auto bytes = row_.size() + added_.size() * kNameBytes;
  if (rows_.count() > 0 && !has_room(bytes)) return lmdb_error(MDB_MAP_FULL, "rows: append");
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    for (const auto id : added_) {
      const auto text = encode_series_id(id), name = encode_series(*dictionary_.key(id));
      auto key = to_val(text), value = to_val(name);
      // Appended pages are full ones, split pages half full; an id used again is not the last.
      int rc = mdb_put(txn, series_, &key, &value, MDB_APPEND);
      if (rc == MDB_KEYEXIST) rc = mdb_put(txn, series_, &key, &value, 0);
      if (rc != 0) return lmdb_error(rc, "series: put");
    }
    const int rc = rows_.put(txn, batch.at, row_);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "rows: append");
  });
  if (!r) return r;
  rollback.armed = false;
  rows_.appended(batch.at);
  last_at_ = batch.at;
  for (const auto& e : entries_) dictionary_.set_last(e.id, {batch.at, e.value});
  return {};
}

Result<void> LmdbMetricStore::append(const MetricBatch& batch) {
  if (batch.at < StoredTime{0} || (last_at_ && batch.at <= *last_at_)) {
    return Error{Errc::kRange,
                 fmt::format("batch: expected a time after {} ms, got {} ms",
                             last_at_.value_or(StoredTime{-1}).count(),
                             batch.at.count())};
  }
  for (;;) {
    auto r = put(batch);
    if (r || !is_full(r.error())) return r;
    if (rows_.count() == 0) {
      return wrap(fmt::format("batch of {} samples", batch.samples.size()), r.error());
    }
    if (auto room = make_room(batch.at); !room) return room;
  }
}

// Some pages are never given to rows: a deletion copies what it touches before it frees anything.
bool LmdbMetricStore::has_room(std::uint64_t bytes) {
  const auto page = env_.page_size(), used = env_.used_bytes();
  const auto spare = [page](std::uint64_t capacity) {
    return std::clamp<std::uint64_t>(capacity / page / 16, 24, 512) * page;
  };
  const auto capacity = env_.reserve(used + bytes + spare(env_.map_size()));
  return used + bytes + spare(capacity) <= capacity;
}

// Cheapest first: what a dead reader pinned, what is past its time, what is oldest.
Result<void> LmdbMetricStore::make_room(StoredTime at) {
  if (env_.clear_dead_readers() > 0) return {};
  const auto expired = expire(at);
  if (!expired) return expired.error();
  if (*expired > 0) return {};
  const auto lost = rows_.drop_oldest(std::max<std::size_t>(1, rows_.count() / 10));
  if (!lost) return lost.error();
  dropped_rows_ += *lost;
  return after_drop();
}

// Series that lost their last row go too. Besides, pages freed by one commit can be used from the
// second commit after it on, so there is always one commit here.
Result<void> LmdbMetricStore::after_drop() {
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    const auto text = fmt::format("{}", dropped_rows_);
    auto key = to_val(MetricFormat::kDroppedKey), value = to_val(text);
    const int rc = mdb_put(txn, meta_, &key, &value, 0);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "meta: put");
  });
  std::size_t step = kNamesPerDrop;
  for (Id id = 0; r && id < dictionary_.end();) {
    std::vector<Id> gone;
    const Id first = id;
    for (; id < dictionary_.end() && gone.size() < step; ++id) {
      const bool has_rows = rows_.oldest() && dictionary_.last_row(id) >= *rows_.oldest();
      if (dictionary_.used(id) && !has_rows) gone.push_back(id);
    }
    if (gone.empty()) break;
    r = erase_names(gone);
    if (r || !is_map_full(r.error()) || step == 1) continue;
    step /= 4;  // the names lie scattered: each takes a copy of its page
    id = first;
    r = Result<void>{};
  }
  return r;
}

Result<void> LmdbMetricStore::erase_names(const std::vector<Id>& gone) {
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    for (const auto id : gone) {
      const auto text = encode_series_id(id);
      auto key = to_val(text);
      const int rc = mdb_del(txn, series_, &key, nullptr);
      if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "series: drop");
    }
    return {};
  });
  if (!r) return r;
  for (const auto id : gone) dictionary_.erase(id);
  return {};
}

Result<std::size_t> LmdbMetricStore::expire(StoredTime now) {
  const auto dropped = rows_.drop_before(now - options_.ttl);
  if (!dropped || *dropped == 0) return dropped;
  if (auto r = after_drop(); !r) return r.error();
  return dropped;
}

Result<std::size_t> LmdbMetricStore::drop_after(StoredTime t) {
  const auto dropped = rows_.drop_after(t);
  if (!dropped || *dropped == 0) return dropped;
  last_at_ = rows_.newest();
  // What is known as the newest sample may be gone: the series start over as after a restart.
  for (Id id = 0; id < dictionary_.end(); ++id) {
    if (dictionary_.used(id)) dictionary_.forget_last(id, last_at_.value_or(StoredTime{0}));
  }
  if (auto r = after_drop(); !r) return r.error();
  return dropped;
}

}  // namespace koordlet::store
