#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/metric_folder.hpp"

namespace koordlet::test {

inline constexpr store::StoredTime kStart{1'700'000'123'456};
inline const store::SeriesKey kNode{"node_cpu_usage", ""};

inline store::SeriesKey pod(int i) { return {"pod_cpu_usage", fmt::format("uid-{}", i)}; }

/// Steps until nothing is to do, `most` at most; true: nothing is.
inline bool maintain(store::MetricStore& store, store::StoredTime now, int most = 100'000) {
  for (; most > 0; --most) {
    const auto more = store.maintain(now);
    REQUIRE(more.has_value());
    if (!*more) return true;
  }
  return false;
}

/// Each `step` one sample of the node, its number, and one of each pod.
inline store::StoredTime fill(store::MetricStore& store,
                              int rows,
                              store::StoredTime step,
                              int pods = 0,
                              store::StoredTime from = kStart) {
  for (int n = 0; n < rows; ++n) {
    store::MetricBatch batch{from + n * step, {{kNode, n}}};
    for (int i = 0; i < pods; ++i) batch.samples.push_back({pod(i), n * 1000 + i});
    REQUIRE(store.append(batch).has_value());
  }
  return from + (rows - 1) * step;
}

struct Entry {
  std::string key, value;
};

inline std::vector<Entry> entries_of(MetricFolder& f, const char* database) {
  std::vector<Entry> out;
  const auto r = f.env().read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    store::Cursor cursor;
    int rc = mdb_dbi_open(txn, database, 0, &dbi);
    if (rc == 0) rc = cursor.open(txn, dbi);
    MDB_val key{}, value{};
    while (rc == 0 && mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT) == 0) {
      out.push_back({std::string{store::to_view(key)}, std::string{store::to_view(value)}});
    }
    return rc == 0 ? Result<void>{} : store::lmdb_error(rc, "entries");
  });
  REQUIRE(r.has_value());
  return out;
}

/// Every kind of question, whatever the answer.
inline void ask(store::MetricStore& store,
                const store::SeriesKey& key,
                store::StoredTime from,
                store::StoredTime to) {
  CHECK(store.last(key).has_value());
  CHECK(store.range(key, from, to).has_value());
  CHECK(store.aggregate(key, from, to).has_value());
  CHECK(store.summarize(key, from, to, {0, 0.5, 0.99, 1}).has_value());
  CHECK(store.rollups(key, from, to).has_value());
  CHECK(
      store.aggregate_many({{key, from, to}, {key, from + std::chrono::hours{1}, to}}).has_value());
}

}  // namespace koordlet::test
