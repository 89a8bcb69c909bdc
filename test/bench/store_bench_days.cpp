#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "report.hpp"
#include "store_bench.hpp"

namespace koordlet::bench {

// The last hour and the one in the making are samples, the rest is roll-ups.
void three_days_figures() {
  constexpr int kSeries = 10'000, kMinutes = 72 * 60, kQueries = 400;
  TempStore s{1ull << 30, {std::chrono::hours{1}, std::chrono::hours{80}}};
  std::mt19937 random{5};
  auto batch = batch_of(kSeries, kStart, random);
  for (int i = 0; i < kMinutes; ++i) {
    batch.at = kStart + std::chrono::minutes{i};
    drift(batch, random);
    check(s.store().append(batch));
    s.drain(batch.at);
  }
  std::vector<std::int64_t> plain(kMinutes);
  std::iota(plain.begin(), plain.end(), 0);
  std::vector<double> average, p95, scan, sorted;
  for (int i = 0; i < kQueries; ++i) {
    const auto one = series(i * 7919 % kSeries);
    auto start = BenchClock::now();
    check(s.store().summarize(one, kStart, batch.at, {}));
    average.push_back(since(start) * 1e3);
    start = BenchClock::now();
    check(s.store().summarize(one, kStart, batch.at, {0.95}));
    p95.push_back(since(start) * 1e3);
    start = BenchClock::now();
    const auto sum = std::accumulate(plain.begin(), plain.end(), std::int64_t{0});
    asm volatile("" : : "r"(sum));
    scan.push_back(since(start) * 1e3);
    auto copy = plain;
    std::nth_element(copy.begin(), copy.begin() + kMinutes * 95 / 100, copy.end());
    sorted.push_back(since(start) * 1e3);
  }
  print("tsdb_query_72h", mean(average), "ms", mean(scan));
  print("tsdb_query_72h_p99", p99(average), "ms", p99(scan));
  print("tsdb_quantile_72h", mean(p95), "ms", mean(sorted));
  print("tsdb_quantile_72h_p99", p99(p95), "ms", p99(sorted));
  const auto size = std::filesystem::file_size(s.folder() + "/metrics/data.mdb");
  print("tsdb_file_72h", static_cast<double>(size) / 1e6, "MB", 0);
}

void week_figures() {
  constexpr int kSeries = 2000, kMinutes = 7 * 24 * 60;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{3};
  auto batch = batch_of(kSeries, kStart, random);
  for (int i = 1; i <= kMinutes; ++i) {
    batch.at = kStart + std::chrono::minutes{i};
    drift(batch, random);
    check(s.store().append(batch));
    s.drain(batch.at);
    const int day = i % 1440 == 0 ? i / 1440 : 0;
    if (day == 1 || day == 4 || day == 7) {
      print(fmt::format("tsdb_week_rss_day{}", day), anonymous_mb(), "MB", 0);
    }
  }
  const auto size = std::filesystem::file_size(s.folder() + "/metrics/data.mdb");
  print("tsdb_week", static_cast<double>(size) / 1e6, "MB", 0);
}

}  // namespace koordlet::bench
