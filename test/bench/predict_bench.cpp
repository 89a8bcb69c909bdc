// Figures of one round of predictions: 500 pods with a day of data seen each 20 minutes and an hour
// seen whole, in the minute in which every series closes a slot. One JSON object a line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "bench/report.hpp"
#include "modules/predict_server/predict_server.hpp"
#include "store/checkpoint.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::bench;
using namespace koordlet::test;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr int kPods = 500, kSparse = 72, kWhole = 12, kMeasured = 11;

double milliseconds_of(Steady::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

struct Bench {
  FakeTree tree;
  ManualClock clock;
  boost::asio::io_context io;
  store::LmdbEnv env{store::LmdbEnv::open({tree.path("state")}).value()};
  reactor::Worker storage{"storage"};
  PredictServer server{{}, storage, env, clock};
  std::shared_ptr<NodeState> state = std::make_shared<NodeState>();
  std::map<std::string, PodUsage> usage;

  Bench() {
    for (int i = 0; i < kPods; ++i) {
      auto pod = std::make_shared<Pod>();
      pod->uid = fmt::format("{:08x}-0000-4000-8000-000000000000", i);
      pod->phase = PodPhase::kRunning;
      pod->priority = 9500 - 2000 * (i % 3);
      pod->cgroup = CgroupPath::parse("kubepods/pod" + pod->uid).value();
      state->pods.push_back(std::move(pod));
    }
    run(io, server.load());
  }
  /// Returns its CPU time.
  Steady::duration round(int slot, std::chrono::seconds after) {
    clock.advance(after);
    state->pods_at = clock.now();
    const double wave = std::sin(slot * 2 * 3.14159265 / 288);
    NodeSignals node;
    node.node_used = MilliCpu{static_cast<std::int64_t>(40'000 + 10'000 * wave)};
    node.kubepods_used = MilliCpu{node.node_used.v - 1000};
    node.memory_used = Bytes{std::int64_t{200} << 30};
    server.note_node(node);
    int i = 0;
    for (const auto& pod : state->pods) {
      auto& u = usage[pod->uid];
      u.at = clock.now();
      u.cpu = MilliCpu{static_cast<std::int64_t>(80 + 20 * wave) + (slot * 7 + ++i * 13) % 40};
      u.memory = Bytes{(std::int64_t{256} << 20) + ((slot * 11 + i * 17) % 64 << 20)};
    }
    server.note_pods(usage);
    run(io, server.round(state));
    return server.status().last_round;
  }
};

}  // namespace

int main() {
  Bench b;
  int slot = 0;
  for (int i = 0; i < kSparse; ++i) b.round(slot += 4, 1200s);
  for (int i = 0; i < kWhole; ++i) b.round(++slot, 300s);
  std::vector<double> closing, plain;
  for (int i = 0; i < kMeasured; ++i) {
    closing.push_back(milliseconds_of(b.round(++slot, 300s)));
    plain.push_back(milliseconds_of(b.round(slot, 60s)));
    b.clock.advance(-60s);
  }
  const auto median = [](std::vector<double>& all) {
    std::nth_element(all.begin(), all.begin() + kMeasured / 2, all.end());
    return all[kMeasured / 2];
  };
  const auto status = b.server.status();
  print("predict_round_500_pods", median(closing), "ms", 0);
  print("predict_round_500_pods_between_slots", median(plain), "ms", 0);
  print("predict_longest_slice", milliseconds_of(status.longest_slice), "ms", 0);
  print("predict_model_bytes",
        static_cast<double>(status.bytes) / static_cast<double>(status.models),
        "bytes",
        0);
  const auto start = Steady::now();
  b.server.save_all();
  print("predict_save_all", milliseconds_of(Steady::now() - start), "ms", 0);
  const auto row = run(b.io, b.storage.run([&b] {
    store::Checkpoints rows{b.env};
    return rows.get("predict/node").value().value().size();
  }));
  print("predict_row_bytes", static_cast<double>(row), "bytes", 0);
  PredictServer again{{}, b.storage, b.env, b.clock};
  const auto load = Steady::now();
  run(b.io, again.load());
  print("predict_restore_500_pods", milliseconds_of(Steady::now() - load), "ms", 0);
  return again.status().models == status.models ? 0 : 1;
}
