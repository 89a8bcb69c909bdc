#include "store/metric_store.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <lmdb.h>

#include "store/cursor.hpp"
#include "store/lmdb_metric_store.hpp"

namespace koordlet::store {
Result<void> LmdbMetricStore::start() {
  MDB_dbi rows = 0;
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    if (auto opened = open_databases(txn); !opened) return opened;
    const int rc = mdb_dbi_open(txn, MetricFormat::kRows, MDB_CREATE, &rows);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "rows: open");
  });
  if (r) r = rows_.start(rows);
  if (!r) return r;
  for (auto* seals : {&seals_, &minutes_}) {
    const auto damaged = seals->start();
    if (!damaged) return damaged.error();
    reader_.count_damaged(*damaged);
  }
  last_at_ = newest();
  return env_.read([this](MDB_txn* txn) { return load_series(txn); });
}

Result<void> LmdbMetricStore::open_databases(MDB_txn* txn) {
  MDB_dbi main = 0;
  MDB_stat stat{};
  int rc = mdb_dbi_open(txn, nullptr, 0, &main);
  if (rc == 0) rc = mdb_stat(txn, main, &stat);
  if (rc != 0) return lmdb_error(rc, "open");
  const bool fresh = stat.ms_entries == 0;
  rc = mdb_dbi_open(txn, MetricFormat::kMeta, fresh ? MDB_CREATE : 0, &meta_);
  if (rc == MDB_NOTFOUND) {
    return Error{Errc::kNotSupported, env_.folder() + ": holds no metric store"};
  }
  if (rc != 0) return lmdb_error(rc, "meta: open");
  auto key = to_val(MetricFormat::kVersionKey), value = to_val(MetricFormat::kVersion);
  rc = fresh ? mdb_put(txn, meta_, &key, &value, 0) : mdb_get(txn, meta_, &key, &value);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "meta: format");
  if (rc == MDB_NOTFOUND || to_view(value) != MetricFormat::kVersion) {
    return Error{Errc::kNotSupported,
                 fmt::format("{}: expected metric format {}, got '{}'",
                             env_.folder(),
                             MetricFormat::kVersion,
                             rc == 0 ? to_view(value).substr(0, 32) : std::string_view{})};
  }
  rc = mdb_dbi_open(txn, MetricFormat::kSeries, MDB_CREATE, &series_);
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
    if (!name) reader_.count_damaged();
    if (!id || !dictionary_.restore(*id, std::move(name), newest)) reader_.count_damaged();
  }
  dictionary_.restored();
  return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "series: read");
}

Result<std::vector<SeriesKey>> LmdbMetricStore::series() {
  std::vector<SeriesKey> out;
  for (Id id = 0; id < dictionary_.end(); ++id) {
    if (dictionary_.used(id) && dictionary_.key(id) != nullptr) out.push_back(*dictionary_.key(id));
  }
  std::sort(out.begin(), out.end());
  return out;
}

MetricStore::Totals LmdbMetricStore::totals() const {
  Totals out;
  out.series = dictionary_.count();
  out.rows = rows_.count();
  out.seals = seals_.seals().size();
  for (const auto& s : seals_.seals()) {
    out.sealed_series += s.series;
    out.sealed_samples += s.samples;
  }
  out.rolled_minutes = minutes_.rows();
  return out;
}

Result<std::unique_ptr<MetricStore>> MetricStore::open(LmdbEnv& env, const Options& options) {
  if (options.ttl <= std::chrono::seconds{0}) {
    return Error{Errc::kRange,
                 fmt::format("ttl: expected more than 0 s, got {} s", options.ttl.count())};
  }
  if (options.retention != std::chrono::seconds{0} && options.retention < options.ttl) {
    return Error{Errc::kRange,
                 fmt::format("retention: expected 0 s or at least the ttl of {} s, got {} s",
                             options.ttl.count(),
                             options.retention.count())};
  }
  auto store = std::make_unique<LmdbMetricStore>(env, options);
  if (auto r = store->start(); !r) return r.error();
  return std::unique_ptr<MetricStore>{std::move(store)};
}

}  // namespace koordlet::store
