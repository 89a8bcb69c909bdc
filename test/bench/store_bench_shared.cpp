#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <sys/resource.h>

#include <fmt/format.h>

#include "report.hpp"
#include "store_bench.hpp"

namespace koordlet::bench {

double since(BenchClock::time_point start) {
  return std::chrono::duration<double>(BenchClock::now() - start).count();
}

double thread_cpu() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

long thread_preemptions() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

double p99(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() * 99 / 100];
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

void give_up(const std::string& error) {
  fmt::print(stderr, "bench_store: {}\n", error);
  std::exit(1);
}

void Holds::add(double wall_s, double cpu_s, bool preempted) {
  if (!preempted) alone_ = std::max(alone_, wall_s * 1e3);
  walls_.push_back(wall_s * 1e3);
  cpus_.push_back(cpu_s * 1e3);
}

void Holds::print_as(const std::string& name) const {
  if (walls_.empty()) give_up(name + ": nothing was timed");
  const auto cpu = *std::max_element(cpus_.begin(), cpus_.end());
  print(name, cpu, "ms", mean(cpus_));
  print(name + "_wall", *std::max_element(walls_.begin(), walls_.end()), "ms", cpu);
  print(name + "_wall_alone", alone_, "ms", cpu);
  print(name + "_wall_p99", p99(walls_), "ms", p99(cpus_));
}

store::SeriesKey series(int i) { return {"pod_cpu_usage", fmt::format("pod-{:05}", i)}; }

store::MetricBatch batch_of(int count, store::StoredTime at, std::mt19937& random) {
  store::MetricBatch out{at, {}};
  out.samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    out.samples.push_back({series(i), 500 + i + static_cast<int>(random() % 200)});
  }
  return out;
}

void drift(store::MetricBatch& batch, std::mt19937& random) {
  for (auto& sample : batch.samples) sample.value += static_cast<int>(random() % 21) - 10;
}

}  // namespace koordlet::bench
