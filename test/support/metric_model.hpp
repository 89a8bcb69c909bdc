#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/metric_store.hpp"

namespace koordlet::test {

/// What a metric store has to say, from a plain array of the samples of each series.
class MetricModel {
 public:
  using Samples = std::vector<store::TimedValue>;

  void append(const store::MetricBatch& batch) {
    for (const auto& s : batch.samples) series_[s.series].push_back({batch.at, s.value});
  }
  const std::map<store::SeriesKey, Samples>& series() const { return series_; }
  Samples window(const store::SeriesKey& key, store::StoredTime from, store::StoredTime to) const {
    Samples out;
    const auto found = series_.find(key);
    if (found == series_.end()) return out;
    for (const auto& s : found->second) {
      if (from <= s.at && s.at <= to) out.push_back(s);
    }
    return out;
  }

 private:
  std::map<store::SeriesKey, Samples> series_;
};

/// The sum in whole numbers: those of 64 bits and either sign leave nothing to doubles.
inline double mean_of(const MetricModel::Samples& samples) {
  __int128 sum = 0;
  for (const auto& s : samples) sum += s.value;
  return static_cast<double>(static_cast<long double>(sum) /
                             static_cast<long double>(samples.size()));
}

/// Nearest rank: index ceil(n * permille / 1000) - 1 of the sorted values.
inline std::int64_t rank_of(const MetricModel::Samples& samples, std::size_t permille) {
  std::vector<std::int64_t> values;
  for (const auto& s : samples) values.push_back(s.value);
  std::sort(values.begin(), values.end());
  const auto rank = (values.size() * permille + 999) / 1000;
  return values[std::max<std::size_t>(rank, 1) - 1];
}

/// Seeded series of every shape that a node has, and some that it should not have.
class SeriesSource {
 public:
  static constexpr int kShapes = 9;
  explicit SeriesSource(unsigned seed) : random_{seed} {}
  static store::SeriesKey key(int shape) { return {"shape", fmt::format("{}", shape)}; }

  /// The batch of tick `n`: series come and go, and miss ticks.
  store::MetricBatch batch(int n, store::StoredTime at) {
    store::MetricBatch out{at, {}};
    const auto add = [&](int shape, std::int64_t v) { out.samples.push_back({key(shape), v}); };
    const auto noise = static_cast<std::int64_t>(random_() % 1000);
    walk_ += noise - 500;
    add(0, 4200);                                                          // constant
    add(1, walk_);                                                         // either sign
    add(2, (1'000'000 + noise % 9) * 4096);                                // pages
    if (random_() % 3 != 0) add(3, noise * noise);                         // gaps
    if (n % 12 == 0) add(4, 10 * n);                                       // one a minute
    if (n > 700) add(5, -1 - noise);                                       // appears
    if (n < 900) add(6, n % 50 == 0 ? 1'000'000'000'000'000'000 : noise);  // vanishes
    if (n / 200 % 2 == 0) add(7, 0);                                       // on and off
    if (n % 7 < 5) add(8, extreme(noise));
    std::shuffle(out.samples.begin(), out.samples.end(), random_);
    return out;
  }

  /// Ticks of five seconds, late by up to two; now and then the daemon is down for minutes.
  store::StoredTime step() {
    if (random_() % 400 == 0) return std::chrono::seconds{60 * (1 + random_() % 90)};
    return store::StoredTime{5000 + random_() % 2000};
  }
  std::uint32_t draw() { return static_cast<std::uint32_t>(random_()); }

 private:
  static std::int64_t extreme(std::int64_t noise) {
    if (noise < 300) return INT64_MIN + noise;
    return noise < 600 ? INT64_MAX - noise : noise;
  }
  std::mt19937 random_;
  std::int64_t walk_ = 0;
};

}  // namespace koordlet::test
