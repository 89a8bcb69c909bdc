#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "report.hpp"
#include "store_bench.hpp"

namespace koordlet::bench {
namespace {

using std::chrono::seconds;

// All recordings of a folder side by side in one store, a row a second: the bytes in use after
// sealing, all of LMDB's included.
void bytes_of(const std::vector<std::string>& files) {
  std::vector<Recording> all;
  std::size_t rows = 0;
  for (const auto& file : files) {
    auto data = load_csv(file);
    if (!data || data->rows.empty()) {
      fmt::print(stderr, "bench_store: {}: expected a CSV table of samples\n", file);
      continue;
    }
    const auto name = std::filesystem::path{file}.stem().string();
    for (auto& series : data->series) series = name + "/" + series;
    rows = std::max(rows, data->rows.size());
    all.push_back(std::move(*data));
  }
  TempStore s{1ull << 30, {std::chrono::hours{24 * 365}, seconds{0}}};
  std::size_t samples = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    store::MetricBatch batch{kStart + seconds{row}, {}};
    for (const auto& data : all) {
      if (row >= data.rows.size()) continue;
      for (std::size_t i = 0; i < data.rows[row].size(); ++i) {
        if (const auto value = data.rows[row][i])
          batch.samples.push_back({{"trace", data.series[i]}, *value});
      }
    }
    if (batch.samples.empty()) continue;
    samples += batch.samples.size();
    check(s.store().append(batch));
    s.drain(batch.at);
  }
  s.drain(kStart + seconds{rows} + std::chrono::hours{1});
  if (samples == 0) return;
  print("tsdb_bytes_per_sample",
        static_cast<double>(s.env().used_bytes()) / static_cast<double>(samples),
        "bytes",
        8);
}

// Days of samples rolled up, against the samples themselves.
void sketch_error(const std::vector<std::string>& files) {
  const std::vector<double> wanted{0.5, 0.9, 0.95, 0.99};
  double worst = 0;
  std::size_t tried = 0;
  for (const auto& file : files) {
    const auto data = load_csv(file);
    if (!data || tried == 5) continue;
    ++tried;
    TempStore s{1ull << 30, {seconds{60}, std::chrono::hours{168}}};
    std::vector<std::int64_t> all;
    auto at = kStart;
    for (const auto& row : data->rows) {
      if (!row[0]) continue;
      all.push_back(*row[0]);
      check(s.store().append({at, {{series(0), all.back()}}}));
      s.drain(at);
      at += seconds{1};  // many samples a minute: the sketch is what is asked
    }
    at = kStart + std::chrono::hours{all.size() / 3600 + 2};
    check(s.store().append({at, {{series(1), 0}}}));
    s.drain(at);
    const auto got = s.store().summarize(series(0), kStart, at, wanted);
    check(got);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; *got && i < wanted.size(); ++i) {
      const auto rank = std::ceil(static_cast<double>(all.size()) * wanted[i] - 1e-9);
      const auto exact = static_cast<double>(all[static_cast<std::size_t>(rank) - 1]);
      if (exact != 0) worst = std::max(worst, std::fabs((*got)->quantiles[i] / exact - 1));
    }
  }
  if (tried > 0) print("tsdb_sketch_error", worst * 100, "%", 0);
}

}  // namespace

int bytes_figures(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& e : std::filesystem::directory_iterator{folder, ec}) {
    if (e.path().extension() == ".csv") files.push_back(e.path().string());
  }
  std::sort(files.begin(), files.end());
  bytes_of(files);
  sketch_error(files);
  return files.empty() ? 1 : 0;
}

}  // namespace koordlet::bench
