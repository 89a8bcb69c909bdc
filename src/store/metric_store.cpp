#include "store/metric_store.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <lmdb.h>

#include "store/cursor.hpp"
#include "store/metric_row.hpp"
#include "store/row_log.hpp"
#include "store/series_dictionary.hpp"
#include "store/window.hpp"

namespace koordlet::store {
namespace {

constexpr std::string_view kFormat = "1";
constexpr const char* kMetaDatabase = "meta";
constexpr const char* kSeriesDatabase = "series";
constexpr const char* kRowsDatabase = "rows";
constexpr std::string_view kFormatKey = "format";
constexpr std::string_view kDroppedKey = "dropped_rows";

bool is_full(const Error& e) { return is_map_full(e) || is_disk_full(e); }

class LmdbMetricStore final : public MetricStore {
 public:
  LmdbMetricStore(LmdbEnv& env, const Options& options)
      : env_{env}, options_{options}, rows_{env} {}
  Result<void> start();

  Result<void> append(const MetricBatch& batch) override;
  Result<std::optional<TimedValue>> last(const SeriesKey& series) override;
  Result<std::optional<WindowAggregate>> aggregate(const SeriesKey& series,
                                                   StoredTime from,
                                                   StoredTime to) override;
  Result<std::vector<TimedValue>> range(const SeriesKey& series,
                                        StoredTime from,
                                        StoredTime to) override;
  Result<std::vector<SeriesKey>> series() override;
  Result<std::size_t> expire(StoredTime now) override;
  Result<std::size_t> drop_after(StoredTime t) override;
  std::optional<StoredTime> newest() const override { return rows_.newest(); }
  std::uint64_t dropped_rows() const override { return dropped_rows_; }
  std::uint64_t damaged_rows() const override { return damaged_rows_; }
  std::uint64_t refused_samples() const override { return refused_samples_; }

 private:
  using Id = SeriesDictionary::Id;
  Result<void> open_databases(MDB_txn* txn);
  Result<void> load_series(MDB_txn* txn);
  void resolve(const MetricBatch& batch);
  void forget_added();
  Result<void> put(const MetricBatch& batch);
  bool has_room(std::uint64_t bytes) const;
  Result<void> make_room(const MetricBatch& batch);
  Result<void> lose_oldest();
  Result<void> after_drop();
  std::optional<std::int64_t> value_in(std::string_view row, Id id);

  LmdbEnv& env_;
  Options options_;
  RowLog rows_;
  SeriesDictionary dictionary_;
  MDB_dbi meta_ = 0, series_ = 0;
  std::optional<StoredTime> last_at_;
  std::uint64_t dropped_rows_ = 0, damaged_rows_ = 0, refused_samples_ = 0;
  // Of the batch in hand; kept for their memory.
  std::vector<RowEntry> entries_;
  std::vector<Id> hints_, added_;
  std::string row_;
};

Result<void> LmdbMetricStore::start() {
  MDB_dbi rows = 0;
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    if (auto opened = open_databases(txn); !opened) return opened;
    const int rc = mdb_dbi_open(txn, kRowsDatabase, MDB_CREATE, &rows);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "rows: open");
  });
  if (r) r = rows_.start(rows);
  if (!r) return r;
  last_at_ = rows_.newest();
  return env_.read([this](MDB_txn* txn) { return load_series(txn); });
}

Result<void> LmdbMetricStore::open_databases(MDB_txn* txn) {
  MDB_dbi main = 0;
  MDB_stat stat{};
  int rc = mdb_dbi_open(txn, nullptr, 0, &main);
  if (rc == 0) rc = mdb_stat(txn, main, &stat);
  if (rc != 0) return lmdb_error(rc, "open");
  const bool fresh = stat.ms_entries == 0;
  rc = mdb_dbi_open(txn, kMetaDatabase, fresh ? MDB_CREATE : 0, &meta_);
  if (rc == MDB_NOTFOUND) {
    return Error{Errc::kNotSupported, env_.folder() + ": holds no metric store"};
  }
  if (rc != 0) return lmdb_error(rc, "meta: open");
  auto key = to_val(kFormatKey), value = to_val(kFormat);
  rc = fresh ? mdb_put(txn, meta_, &key, &value, 0) : mdb_get(txn, meta_, &key, &value);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "meta: format");
  if (rc == MDB_NOTFOUND || to_view(value) != kFormat) {
    return Error{Errc::kNotSupported,
                 fmt::format("{}: expected metric format {}, got '{}'",
                             env_.folder(),
                             kFormat,
                             rc == 0 ? to_view(value).substr(0, 32) : std::string_view{})};
  }
  rc = mdb_dbi_open(txn, kSeriesDatabase, MDB_CREATE, &series_);
  return rc == 0 ? Result<void>{} : lmdb_error(rc, "series: open");
}

Result<void> LmdbMetricStore::load_series(MDB_txn* txn) {
  Cursor cursor;
  int rc = cursor.open(txn, series_);
  if (rc != 0) return lmdb_error(rc, "series: cursor");
  const auto newest = last_at_.value_or(StoredTime{0});
  MDB_val key{}, value{};
  while ((rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) == 0) {
    const auto id = decode_series_id(to_view(key));
    auto name = decode_series(to_view(value));
    if (!name) ++damaged_rows_;
    if (!id || !dictionary_.restore(*id, std::move(name), newest)) ++damaged_rows_;
  }
  dictionary_.restored();
  return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "series: read");
}

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
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    for (const auto id : added_) {
      const auto text = encode_series_id(id), name = encode_series(*dictionary_.key(id));
      auto key = to_val(text), value = to_val(name);
      const int rc = mdb_put(txn, series_, &key, &value, 0);
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
  if (auto r = make_room(batch); !r) return r;
  for (;;) {
    auto r = put(batch);
    if (r || !is_full(r.error())) return r;
    if (rows_.count() == 0) {
      return wrap(fmt::format("batch of {} samples", batch.samples.size()), r.error());
    }
    if (auto lost = lose_oldest(); !lost) return lost;
  }
}

// Some pages are never given to rows: a deletion copies what it touches before it frees anything.
bool LmdbMetricStore::has_room(std::uint64_t bytes) const {
  const auto map = env_.map_size(), page = env_.page_size();
  const auto reserve = std::clamp<std::uint64_t>(map / page / 16, 24, 512) * page;
  return env_.used_bytes() + reserve + bytes <= map;
}

Result<void> LmdbMetricStore::make_room(const MetricBatch& batch) {
  // Names are counted for new series only, but which are new is not known yet: a page too many is
  // cheaper than a lookup.
  const auto bytes = max_row_bytes(batch.samples.size()) + env_.page_size();
  if (has_room(bytes)) return {};
  env_.clear_dead_readers();
  auto expired = expire(batch.at);
  if (!expired) return expired.error();
  while (!has_room(bytes) && rows_.count() > 0) {
    if (auto r = lose_oldest(); !r) return r;
  }
  return {};
}

Result<void> LmdbMetricStore::lose_oldest() {
  const auto lost = rows_.drop_oldest(std::max<std::size_t>(1, rows_.count() / 10));
  if (!lost) return lost.error();
  dropped_rows_ += *lost;
  return after_drop();
}

// Series that lost their last row go too. Besides, pages freed by one commit can be used from the
// second commit after it on, so there is always one commit here.
Result<void> LmdbMetricStore::after_drop() {
  std::vector<Id> gone;
  for (Id id = 0; id < dictionary_.end(); ++id) {
    if (!dictionary_.used(id)) continue;
    if (!rows_.oldest() || dictionary_.last_row(id) < *rows_.oldest()) gone.push_back(id);
  }
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    for (const auto id : gone) {
      const auto text = encode_series_id(id);
      auto key = to_val(text);
      const int rc = mdb_del(txn, series_, &key, nullptr);
      if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "series: drop");
    }
    const auto text = fmt::format("{}", dropped_rows_);
    auto key = to_val(kDroppedKey), value = to_val(text);
    const int rc = mdb_put(txn, meta_, &key, &value, 0);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "meta: put");
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

std::optional<std::int64_t> LmdbMetricStore::value_in(std::string_view row, Id id) {
  const auto reader = RowReader::open(row);
  const auto found = reader ? reader->find(id) : RowReader::Found{true, std::nullopt};
  if (found.damaged) ++damaged_rows_;
  return found.damaged ? std::nullopt : found.value;
}

Result<std::optional<TimedValue>> LmdbMetricStore::last(const SeriesKey& series) {
  std::optional<TimedValue> out;
  const auto id = dictionary_.find(series);
  if (!id) return out;
  if ((out = dictionary_.last(*id))) return out;
  auto r = rows_.scan_back([&](StoredTime at, std::string_view row) {
    if (const auto v = value_in(row, *id)) out = TimedValue{at, *v};
    return !out;
  });
  if (!r) return r.error();
  if (out) dictionary_.set_last(*id, *out);
  return out;
}

Result<std::vector<TimedValue>> LmdbMetricStore::range(const SeriesKey& series,
                                                       StoredTime from,
                                                       StoredTime to) {
  std::vector<TimedValue> out;
  const auto id = dictionary_.find(series);
  if (!id || from > to) return out;
  auto r = rows_.scan(from, to, [&](StoredTime at, std::string_view row) {
    if (const auto v = value_in(row, *id)) out.push_back({at, *v});
  });
  if (!r) return r.error();
  return out;
}

Result<std::optional<WindowAggregate>> LmdbMetricStore::aggregate(const SeriesKey& series,
                                                                  StoredTime from,
                                                                  StoredTime to) {
  const auto samples = range(series, from, to);
  if (!samples) return samples.error();
  return summarize(*samples);
}

Result<std::vector<SeriesKey>> LmdbMetricStore::series() {
  std::vector<SeriesKey> out;
  for (Id id = 0; id < dictionary_.end(); ++id) {
    if (dictionary_.used(id) && dictionary_.key(id) != nullptr) out.push_back(*dictionary_.key(id));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<std::unique_ptr<MetricStore>> MetricStore::open(LmdbEnv& env, const Options& options) {
  if (options.ttl <= std::chrono::seconds{0}) {
    return Error{Errc::kRange,
                 fmt::format("ttl: expected more than 0 s, got {} s", options.ttl.count())};
  }
  auto store = std::make_unique<LmdbMetricStore>(env, options);
  if (auto r = store->start(); !r) return r.error();
  return std::unique_ptr<MetricStore>{std::move(store)};
}

}  // namespace koordlet::store
