#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <lmdb.h>

#include "report.hpp"
#include "store_bench.hpp"

namespace koordlet::bench {
namespace {

using std::chrono::seconds;

// Bare LMDB puts of rows as large as the store's own.
double bare_put_seconds(int batches, std::size_t row_bytes) {
  TempStore at{1ull << 30, kDay};
  const std::string row(row_bytes, 'x');
  MDB_dbi dbi = 0;
  double out = 0;
  for (int i = 0; i < batches; ++i) {
    const auto start = BenchClock::now();
    check(at.env().write([&](MDB_txn* txn) -> Result<void> {
      if (dbi == 0) mdb_dbi_open(txn, "bare", MDB_CREATE, &dbi);
      const auto text = fmt::format("{:08}", i);
      MDB_val key{text.size(), const_cast<char*>(text.data())};
      MDB_val value{row.size(), const_cast<char*>(row.data())};
      const int rc = mdb_put(txn, dbi, &key, &value, MDB_APPEND);
      return rc == 0 ? Result<void>{} : store::lmdb_error(rc, "put");
    }));
    out += since(start);
  }
  return out;
}

}  // namespace

void append_figures() {
  constexpr int kSeries = 5000, kBatches = 700;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{1};
  double took = 0;
  auto batch = batch_of(kSeries, kStart, random);
  for (int i = 0; i < kBatches; ++i) {
    batch.at = kStart + seconds{i};
    drift(batch, random);
    const auto start = BenchClock::now();
    check(s.store().append(batch));
    s.drain(batch.at);
    took += since(start);
  }
  constexpr double kSamples = 1.0 * kSeries * kBatches;
  print("tsdb_append", kSamples / took, "samples/s", kSamples / bare_put_seconds(kBatches, 15000));
}

void query_figures() {
  constexpr int kSeries = 10'000, kRows = 3600, kQueries = 1000;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{2};
  auto batch = batch_of(kSeries, kStart, random);
  Holds steps;
  for (int i = 0; i < kRows; ++i) {
    batch.at = kStart + seconds{i};
    drift(batch, random);
    check(s.store().append(batch));
    for (bool more = true; more;) {
      const auto r = steps.time([&] { return s.store().maintain(batch.at); });
      check(r);
      more = *r;
    }
  }
  const auto to = kStart + seconds{kRows - 1};
  const auto plain = s.store().range(series(1), kStart, to);
  check(plain);
  std::vector<double> average, quantile, scan, sorted;
  for (int i = 0; i < kQueries; ++i) {
    auto start = BenchClock::now();
    check(s.store().summarize(series(i % 50), kStart, to, {}));
    average.push_back(since(start) * 1e6);
    start = BenchClock::now();
    check(s.store().summarize(series(i % 50), kStart, to, {0.95}));
    quantile.push_back(since(start) * 1e6);
    start = BenchClock::now();
    std::int64_t sum = 0, top = INT64_MIN;
    std::vector<std::int64_t> values;
    for (const auto& v : *plain) {
      sum += v.value;
      top = std::max(top, v.value);
    }
    asm volatile("" : : "r"(sum), "r"(top));
    scan.push_back(since(start) * 1e6);
    for (const auto& v : *plain) values.push_back(v.value);
    std::nth_element(values.begin(), values.begin() + values.size() * 95 / 100, values.end());
    sorted.push_back(since(start) * 1e6);
  }
  print("tsdb_query_p99", p99(average), "us", p99(scan));
  print("tsdb_quantile_p99", p99(quantile), "us", p99(sorted));
  steps.print_as("tsdb_maintain_step");
  print("tsdb_longest_query", *std::max_element(quantile.begin(), quantile.end()) / 1e3, "ms", 0);
}

}  // namespace koordlet::bench
