#pragma once

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "store_bench_data.hpp"

namespace koordlet::bench {

// The figures of bench_store, by file.
void append_figures();                         ///< store_bench_speed.cpp
void query_figures();                          ///< store_bench_speed.cpp
void three_days_figures();                     ///< store_bench_days.cpp
void week_figures();                           ///< store_bench_days.cpp
void kill_figures();                           ///< store_bench_kill.cpp
void loop_figures();                           ///< store_bench_loop.cpp
int bytes_figures(const std::string& folder);  ///< store_bench_bytes.cpp; exit code

// What they share.
constexpr store::StoredTime kStart{1'700'000'400'000};  // on an hour
inline const store::MetricStore::Options kDay{std::chrono::hours{1}, std::chrono::hours{168}};

using BenchClock = std::chrono::steady_clock;
double since(BenchClock::time_point start);  ///< seconds
double thread_cpu();                         ///< seconds that this thread ran so far
long thread_preemptions();  ///< times that the system took the CPU from this thread
double p99(std::vector<double> all);
double mean(const std::vector<double>& all);

[[noreturn]] void give_up(const std::string& error);
template <class R>
void check(const R& r) {
  if (!r) give_up(r.error().context);
}

/// The longest and the mean of what was timed: by the clock, which counts what other processes take
/// of a shared machine, and by the time this thread ran.
class Holds {
 public:
  template <class F>
  auto time(F f) {
    const auto start = BenchClock::now();
    const auto cpu = thread_cpu();
    const auto preempted = thread_preemptions();
    auto out = f();
    add(since(start), thread_cpu() - cpu, thread_preemptions() > preempted);
    return out;
  }
  void add(double wall_s, double cpu_s, bool preempted);
  std::size_t count() const { return walls_.size(); }
  /// NAME (CPU), NAME_wall, NAME_wall_alone (of those that were not preempted) and NAME_wall_p99,
  /// in ms.
  void print_as(const std::string& name) const;

 private:
  std::vector<double> walls_, cpus_;
  double alone_ = 0;
};

store::SeriesKey series(int i);
/// One sample each of series(0) to series(count - 1).
store::MetricBatch batch_of(int count, store::StoredTime at, std::mt19937& random);
/// Each value a little up or down.
void drift(store::MetricBatch& batch, std::mt19937& random);

}  // namespace koordlet::bench
