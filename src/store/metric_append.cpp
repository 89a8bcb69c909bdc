#include <algorithm>

#include <fmt/format.h>

#include "store/cursor.hpp"
#include "store/lmdb_metric_store.hpp"

namespace koordlet::store {
namespace {

constexpr std::size_t kNameBytes = 128;  // a dictionary row, roughly

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
  if (!empty() && !room_.has(bytes)) return lmdb_error(MDB_MAP_FULL, "rows: append");
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
  if (auto r = expire_when_short(batch.at); !r) return r;
  for (;;) {
    auto r = put(batch);
    if (r || !is_full(r.error())) return r;
    if (empty()) {
      return wrap(fmt::format("batch of {} samples", batch.samples.size()), r.error());
    }
    if (auto room = make_room(batch.at); !room) return room;
  }
}

}  // namespace koordlet::store
