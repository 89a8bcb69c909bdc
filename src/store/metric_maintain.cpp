#include <algorithm>

#include <fmt/format.h>

#include "store/cursor.hpp"
#include "store/lmdb_metric_store.hpp"

namespace koordlet::store {
namespace {

constexpr std::size_t kNamesPerDrop = 256;
constexpr StoredTime kExpireEvery = std::chrono::minutes{1};  // while the map is short

}  // namespace

std::optional<StoredTime> LmdbMetricStore::newest() const {
  auto out = rows_.newest();
  if (!seals_.empty()) out = std::max(out.value_or(StoredTime{0}), seals_.seals().back().end);
  // A later sample of a rolled-up hour would be hidden behind its roll-up.
  const auto rolled = roller_.rolled_until();
  if (!minutes_.empty()) out = std::max(out.value_or(StoredTime{0}), rolled - StoredTime{1});
  return out;
}

std::uint64_t LmdbMetricStore::damaged_rows() const {
  return reader_.damaged() + sealer_.damaged_rows() + roller_.damaged_seals();
}

std::optional<StoredTime> LmdbMetricStore::oldest() const {
  auto out = rows_.oldest();
  for (const auto* seals : {&seals_, &minutes_}) {
    if (seals->empty()) continue;
    const auto begin = seals->seals().front().begin;
    out = out ? std::min(*out, begin) : begin;
  }
  return out;
}

// Samples before it are past their time, and rolled up.
StoredTime LmdbMetricStore::raw_limit(StoredTime now) const {
  const auto limit = now - options_.ttl;
  if (options_.retention == std::chrono::seconds{0}) return limit;
  return std::min<StoredTime>(limit, roller_.rolled_until());
}

Result<bool> LmdbMetricStore::maintain(StoredTime now) {
  const auto sealed = sealer_.sealed_until();
  if (rows_.oldest() && *rows_.oldest() <= sealed) {
    bool more = false;
    const auto dropped = rows_.drop_some_before(sealed + StoredTime{1}, more);
    if (!dropped) return dropped.error();
    return true;
  }
  Result<void> ok;
  if (sealer_.active() || sealer_.due(now)) {
    ok = sealer_.step(dictionary_.end());
    if (!ok) ok = give_way(ok.error(), now);
    if (!ok) return ok.error();
    return true;
  }
  const auto unsealed = rows_.oldest().value_or(std::max(now, sealed + StoredTime{1}));
  const bool roll = options_.retention > std::chrono::seconds{0};
  if (roll && (roller_.active() || roller_.due(unsealed))) {
    ok = roller_.step(dictionary_.end());
    if (!ok) ok = give_way(ok.error(), now);
    if (!ok) return ok.error();
    return true;
  }
  return false;
}

// A seal that found no room was given up: the oldest data makes room, the next step starts it anew.
Result<void> LmdbMetricStore::give_way(Error error, StoredTime now) {
  if (!is_map_full(error) && !is_disk_full(error)) return error;
  return make_room(now);
}

Result<void> LmdbMetricStore::abandon_jobs() {
  if (auto r = sealer_.abandon(); !r) return r;
  return roller_.abandon();
}

Result<void> LmdbMetricStore::expire_when_short(StoredTime at) {
  if (expired_at_ && at - *expired_at_ < kExpireEvery) return {};
  if (!room_.is_short()) return {};
  expired_at_ = at;
  const auto expired = expire_data(at, false);
  return expired ? Result<void>{} : expired.error();
}

// Rows that a seal holds. They go before the seal does, or they would be counted twice.
Result<std::size_t> LmdbMetricStore::drop_sealed_rows() {
  return rows_.drop_before(sealer_.sealed_until() + StoredTime{1});
}

// Cheapest first: what a dead reader pinned, what is there twice, what is past its time, what is
// oldest.
Result<void> LmdbMetricStore::make_room(StoredTime at) {
  if (env_.clear_dead_readers() > 0) return {};
  const auto twice = drop_sealed_rows();
  if (!twice) return twice.error();
  if (*twice > 0) return after_drop();
  const auto expired = expire_data(at, true);
  if (!expired) return expired.error();
  if (*expired > 0) return {};
  if (auto r = abandon_jobs(); !r) return r;
  const auto lost = drop_oldest();
  if (!lost) return lost.error();
  dropped_rows_ += *lost;
  return after_drop();
}

// A tenth of the database that reaches back furthest.
Result<std::size_t> LmdbMetricStore::drop_oldest() {
  for (auto* seals : {&minutes_, &seals_}) {
    const auto& all = seals->seals();
    if (all.empty() || all.front().begin != *oldest()) continue;
    return seals->drop_before(all[all.size() / 10].end + StoredTime{1});
  }
  return rows_.drop_oldest(std::max<std::size_t>(1, rows_.count() / 10));
}

// Series that lost their last data go too. Besides, pages freed by one commit can be used from the
// second commit after it on, so there is always one commit here.
Result<void> LmdbMetricStore::after_drop() {
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    const auto text = fmt::format("{}", dropped_rows_);
    auto key = to_val(MetricFormat::kDroppedKey), value = to_val(text);
    const int rc = mdb_put(txn, meta_, &key, &value, 0);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "meta: put");
  });
  std::size_t step = kNamesPerDrop;
  const auto kept_from = oldest();
  for (Id id = 0; r && id < dictionary_.end();) {
    std::vector<Id> gone;
    const Id first = id;
    for (; id < dictionary_.end() && gone.size() < step; ++id) {
      const bool has_data = kept_from && dictionary_.last_row(id) >= *kept_from;
      if (dictionary_.used(id) && !has_data) gone.push_back(id);
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

Result<std::size_t> LmdbMetricStore::expire(StoredTime now) { return expire_data(now, false); }

// `unrolled_too`: room is needed, samples past their time do not wait for their roll-up.
Result<std::size_t> LmdbMetricStore::expire_data(StoredTime now, bool unrolled_too) {
  const bool rolls = options_.retention > std::chrono::seconds{0};
  const auto limit = unrolled_too ? now - options_.ttl : raw_limit(now);
  const auto minute_limit = rolls ? minute_of(now - options_.retention) : StoredTime::max();
  const bool rows = (!rolls || unrolled_too) && rows_.oldest() && *rows_.oldest() < limit;
  const bool seals = !seals_.empty() && seals_.seals().front().end < limit;
  const bool minutes = !minutes_.empty() && minutes_.seals().front().end < minute_limit;
  if (!rows && !seals && !minutes) return std::size_t{0};
  if (auto r = abandon_jobs(); !r) return r.error();
  if (const auto r = drop_sealed_rows(); !r) return r;
  std::size_t total = 0;
  if (minutes) {
    const auto r = minutes_.drop_before(minute_limit);
    if (!r) return r;
  }
  if (seals) {
    const auto r = seals_.drop_before(limit);
    if (!r) return r;
    total += *r;
  }
  if (rows) {
    const auto r = rows_.drop_before(limit);
    if (!r) return r;
    total += *r;
  }
  if (auto r = after_drop(); !r) return r.error();
  return total;
}

Result<std::size_t> LmdbMetricStore::drop_after(StoredTime t) {
  if (auto r = abandon_jobs(); !r) return r.error();
  if (const auto r = drop_sealed_rows(); !r) return r;
  const auto rows = rows_.drop_after(t);
  if (!rows) return rows;
  const auto sealed = seals_.drop_after(t);
  if (!sealed) return sealed;
  // The hour of `t` goes on: its roll-up would hold what was dropped and hide what comes.
  const auto minutes = minutes_.drop_after(t - t % Roller::kSpan - StoredTime{1});
  if (!minutes) return minutes;
  const auto dropped = *rows + *sealed;
  if (dropped + *minutes == 0) return dropped;
  last_at_ = newest();
  // What is known as the newest sample may be gone: the series start over as after a restart.
  for (Id id = 0; id < dictionary_.end(); ++id) {
    if (dictionary_.used(id)) dictionary_.forget_last(id, last_at_.value_or(StoredTime{0}));
  }
  if (auto r = after_drop(); !r) return r.error();
  return dropped;
}

}  // namespace koordlet::store
