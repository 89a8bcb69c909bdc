// The flight recorder: what a tick costs the loop, and how much it writes. Part of bench_qos.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/report.hpp"
#include "modules/flight_recorder/flight_recorder.hpp"
#include "modules/qos_manager/qos_manager.hpp"
#include "unit/policy/world.hpp"

namespace koordlet::bench {
void bench_recorder();
namespace {

using namespace koordlet::test;
using Steady = std::chrono::steady_clock;

double us_since(Steady::time_point start) {
  return std::chrono::duration<double, std::micro>(Steady::now() - start).count();
}

double at(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

struct Cost {
  std::vector<double> loop_us;
  std::vector<double> level_us;  ///< of the ticks that change every cap
  double bytes_per_hour = 0;
  double bytes_per_tick = 0;
};

/// Half of the pods BE, two containers each; samples of pods each 60 s, one tick a second.
/// `steady`: the use stays at one level; else it steps to HIGH and back each 30 s.
Cost measure(int pods, int ticks, bool steady) {
  const auto folder = fmt::format("/tmp/koordlet-bench-recorder-{}", ::getpid());
  Cost out;
  {
    World world{pods * 500};
    for (int i = 0; i < pods; ++i) {
      auto pod = i % 2 == 0 ? be_pod(fmt::format("4f6f9a50-0000-4000-8000-{:012}", i), 100)
                            : outside_pod(fmt::format("4f6f9a50-0000-4000-8000-{:012}", i), {});
      if (i % 2 == 1) pod.qos = QosClass::kLs;
      world.pods.push_back(std::move(pod));
    }
    std::map<std::string, PodUsage> usage;
    std::map<std::string, ContainerUsage> containers;
    const auto collect = [&](int t) {
      for (int i = 0; i < pods; ++i) {
        WorkloadUsage u;
        u.at = world.now;
        u.cpu = MilliCpu{100 + (i * 7 + t) % 50};
        u.memory = Bytes{(200LL << 20) + (i * 4096LL + t * 8192LL)};
        u.working_set = u.memory_with_cache = *u.memory + Bytes{1 << 20};
        u.throttled = Permille{0};
        usage[world.pods[static_cast<std::size_t>(i)].uid] = u;
        for (int c = 0; c < 2; ++c) containers[fmt::format("containerd://{:063}{}", i, c)] = u;
      }
    };
    reactor::Worker storage{"storage"};
    FlightRecorder recorder{
        {true, folder, 64 << 20, std::chrono::milliseconds{2000}}, {"bench", "bench", {}}, storage};
    QosManager manager{policy::QosConfig{}};
    std::uint64_t first = 0;
    for (int t = 0; t < ticks; ++t) {
      world.wait(std::chrono::seconds{1});
      if (t % 60 == 0) collect(t);
      const bool high = !steady && t / 30 % 2 == 1;
      world.sample(pods * (high ? 400 : 150), pods * 20 + t % 7);
      auto snap = world.snap();
      snap.pods = usage;
      snap.containers = &containers;
      if (recorder.wants_states()) recorder.begin(manager.states());
      FlightRecorder::Decisions d;
      d.desired = &manager.step(snap);
      d.level = manager.status().pressure.level;
      const auto start = Steady::now();
      recorder.note(std::move(snap), WallTime{std::chrono::seconds{1'000'000 + t}}, std::move(d));
      const auto took = us_since(start);
      while (storage.queued() > 0) std::this_thread::yield();
      if (t == 60) first = recorder.status().written_bytes;
      if (t <= 60) continue;
      (!steady && t % 30 < 4 ? out.level_us : out.loop_us).push_back(took);
    }
    recorder.flush();
    while (recorder.status().lag.count() > 0) std::this_thread::yield();
    const auto bytes = static_cast<double>(recorder.status().written_bytes - first);
    out.bytes_per_tick = bytes / (ticks - 61);
    out.bytes_per_hour = out.bytes_per_tick * 3600;
  }
  std::filesystem::remove_all(folder);
  return out;
}

/// A copy of as many bytes as a tick writes: less cannot be handed over.
double floor_us(double bytes) {
  const std::string from(static_cast<std::size_t>(std::max(bytes, 1.0)), 'x');
  std::string to(from.size(), '\0');
  const auto start = Steady::now();
  for (int i = 0; i < 1000; ++i) {
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" : : "r"(to.data()) : "memory");
  }
  return us_since(start) / 1000;
}

}  // namespace

void bench_recorder() {
  const auto small = measure(200, 1000, true);
  print("recorder_tick_200",
        at(small.loop_us, 0.5),
        "us on the loop",
        floor_us(small.bytes_per_tick));
  print("recorder_bytes_200", small.bytes_per_hour / 1048576, "MiB an hour, steady", 0);
  const auto large = measure(1000, 400, false);
  const auto floor = floor_us(large.bytes_per_tick);
  print("recorder_tick", at(large.loop_us, 0.5), "us on the loop (1000 pods)", floor);
  print("recorder_tick_p99", at(large.loop_us, 0.99), "us on the loop (1000 pods)", floor);
  print("recorder_tick_level",
        at(large.level_us, 0.99),
        "us on the loop (p99 around level changes, 500 caps)",
        floor);
}

}  // namespace koordlet::bench
