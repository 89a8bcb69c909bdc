// Figures of the metric store. One JSON object a line.
//   bench_store                          all figures but bytes of a folder
//   bench_store bytes [--traces DIR]     bytes a sample over the CSV files of DIR
//   bench_store record FILE --seconds N  samples this machine each second
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <lmdb.h>

#include "metric_recorder.hpp"
#include "report.hpp"
#include "store_bench_data.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::bench;
using BenchClock = std::chrono::steady_clock;
using std::chrono::seconds;
using store::StoredTime;

constexpr StoredTime kStart{1'700'000'400'000};  // on an hour
const store::MetricStore::Options kDay{std::chrono::hours{1}, std::chrono::hours{168}};

template <class R>
void check(const R& r) {
  if (r) return;
  fmt::print(stderr, "bench_store: {}\n", r.error().context);
  std::exit(1);
}

double since(BenchClock::time_point start) {
  return std::chrono::duration<double>(BenchClock::now() - start).count();
}

double p99(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() * 99 / 100];
}

store::SeriesKey series(int i) { return {"pod_cpu_usage", fmt::format("pod-{:05}", i)}; }

store::MetricBatch batch_of(int count, StoredTime at, std::mt19937& random) {
  store::MetricBatch out{at, {}};
  out.samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    out.samples.push_back({series(i), 500 + i + static_cast<int>(random() % 200)});
  }
  return out;
}

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

void append() {
  constexpr int kSeries = 5000, kBatches = 700;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{1};
  double took = 0;
  auto batch = batch_of(kSeries, kStart, random);
  for (int i = 0; i < kBatches; ++i) {
    batch.at = kStart + seconds{i};
    for (auto& sample : batch.samples) sample.value += static_cast<int>(random() % 21) - 10;
    const auto start = BenchClock::now();
    check(s.store().append(batch));
    s.drain(batch.at);
    took += since(start);
  }
  constexpr double kSamples = 1.0 * kSeries * kBatches;
  print("tsdb_append", kSamples / took, "samples/s", kSamples / bare_put_seconds(kBatches, 15000));
}

void queries() {
  constexpr int kSeries = 10'000, kRows = 3600, kQueries = 1000;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{2};
  auto batch = batch_of(kSeries, kStart, random);
  double longest = 0;
  for (int i = 0; i < kRows; ++i) {
    batch.at = kStart + seconds{i};
    for (auto& sample : batch.samples) sample.value += static_cast<int>(random() % 21) - 10;
    check(s.store().append(batch));
    for (bool more = true; more;) {
      const auto start = BenchClock::now();
      const auto r = s.store().maintain(batch.at);
      longest = std::max(longest, since(start));
      check(r);
      more = *r;
    }
  }
  const auto to = kStart + seconds{kRows - 1};
  const auto plain = s.store().range(series(1), kStart, to);
  check(plain);
  std::vector<double> mean, quantile, scan, sorted;
  for (int i = 0; i < kQueries; ++i) {
    auto start = BenchClock::now();
    check(s.store().summarize(series(i % 50), kStart, to, {}));
    mean.push_back(since(start) * 1e6);
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
  print("tsdb_query_p99", p99(mean), "us", p99(scan));
  print("tsdb_quantile_p99", p99(quantile), "us", p99(sorted));
  print("tsdb_longest_hold", longest * 1e3, "ms", 0);
  print("tsdb_longest_query", *std::max_element(quantile.begin(), quantile.end()) / 1e3, "ms", 0);
}

void week() {
  constexpr int kSeries = 2000, kMinutes = 7 * 24 * 60;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{3};
  auto batch = batch_of(kSeries, kStart, random);
  for (int i = 1; i <= kMinutes; ++i) {
    batch.at = kStart + std::chrono::minutes{i};
    for (auto& sample : batch.samples) sample.value += static_cast<int>(random() % 21) - 10;
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

// The child says each batch that was acknowledged; what is between the first and the last but one
// has to be there.
void kill_rounds() {
  constexpr int kRounds = 200;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{4};
  std::size_t lost = 0, acknowledged = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto base = kStart + seconds{1000} * round;
    s.close();
    int ends[2];
    if (::pipe(ends) != 0) return;
    const auto child = ::fork();
    if (child == 0) {
      s.open();
      for (std::int32_t i = 0;; ++i) {
        const auto at = base + StoredTime{500 * i};
        if (!s.store().append({at, {{series(0), i}, {series(1), -i}}})) ::_exit(1);
        if (::write(ends[1], &i, sizeof i) != sizeof i) ::_exit(1);
        if (!s.store().maintain(at)) ::_exit(1);
      }
    }
    ::close(ends[1]);
    ::usleep(3000 + random() % 20'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::int32_t seen = 0, count = 0;
    while (::read(ends[0], &seen, sizeof seen) == sizeof seen) ++count;
    ::close(ends[0]);
    s.open();
    const auto there = s.store().range(series(0), base, base + StoredTime{500} * count);
    check(there);
    const auto due = static_cast<std::size_t>(std::max(count - 1, 0));
    acknowledged += due;
    for (std::size_t i = 0; i < due; ++i) {
      if (i >= there->size() || (*there)[i].value != static_cast<std::int64_t>(i)) ++lost;
    }
  }
  print("tsdb_kill_rounds", static_cast<double>(lost), "lost batches", 0);
  print("tsdb_kill_acknowledged", static_cast<double>(acknowledged), "batches", 0);
}

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

int bytes(const std::string& folder) {
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

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[0] == "record" && words[2] == "--seconds") {
    return record_machine(words[1], seconds{std::atoi(words[3].c_str())}) ? 0 : 1;
  }
  if (words.size() == 3 && words[0] == "bytes" && words[1] == "--traces") return bytes(words[2]);
  if (!words.empty()) {
    fmt::print(
        stderr,
        "bench_store: expected nothing, 'bytes --traces DIR' or 'record FILE --seconds N'\n");
    return 2;
  }
  kill_rounds();
  append();
  queries();
  week();
  return 0;
}
