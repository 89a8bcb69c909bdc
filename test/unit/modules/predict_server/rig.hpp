#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "modules/predict_server/predict_server.hpp"
#include "store/checkpoint.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {

inline constexpr std::int64_t kGi = 1073741824;

/// A running pod of class prod that asks for `cpu` and `memory`.
inline Pod prod_pod(const std::string& uid, std::int64_t cpu_milli, std::int64_t memory) {
  Pod pod;
  pod.uid = pod.name = uid;
  pod.ns = "default";
  pod.phase = PodPhase::kRunning;
  pod.priority = 9500;
  pod.cgroup = CgroupPath::parse("kubepods/pod" + uid).value();
  Container c;
  c.requests.cpu = MilliCpu{cpu_milli};
  c.requests.memory = Bytes{memory};
  pod.containers.push_back(std::move(c));
  return pod;
}

/// A server on a state environment that outlives its restarts.
struct PredictRig {
  FakeTree tree;
  ManualClock clock;
  boost::asio::io_context io;
  std::optional<store::LmdbEnv> env;
  std::unique_ptr<reactor::Worker> storage;
  std::unique_ptr<PredictServer> server;
  std::map<std::string, Pod> pods;
  std::map<std::string, PodUsage> usage;
  NodeSignals signals;
  PredictServer::Config config;

  PredictRig() {
    store::LmdbEnv::Options o;
    o.folder = tree.path("state");
    auto opened = store::LmdbEnv::open(o);
    REQUIRE(opened.has_value());
    env.emplace(std::move(*opened));
    start();
  }
  ~PredictRig() { stop(); }
  void start() {
    storage = std::make_unique<reactor::Worker>("storage");
    server = std::make_unique<PredictServer>(config, *storage, *env, clock);
    run(io, server->load());
  }
  void stop() {
    server.reset();
    storage.reset();  // runs what is queued
  }
  void restart() {
    server->save_all();
    stop();
    start();
  }
  std::shared_ptr<const NodeState> state() const {
    auto out = std::make_shared<NodeState>();
    for (const auto& [uid, pod] : pods) out->pods.push_back(std::make_shared<Pod>(pod));
    out->pods_at = clock.now();
    return out;
  }
  void use(const std::string& uid, std::int64_t milli, std::int64_t bytes) {
    auto& u = usage[uid];
    u.at = clock.now();
    u.cpu = MilliCpu{milli};
    u.memory = Bytes{bytes};
  }
  /// One round a minute after the last one, with what the signals and the usages say now.
  void round(std::chrono::seconds after = std::chrono::seconds{60}) {
    clock.advance(after);
    for (auto& [uid, u] : usage) u.at = clock.now();
    signals.at = clock.now();
    server->note_node(signals);
    server->note_pods(usage);
    run(io, server->round(state()));
  }
  std::vector<std::string> rows() {
    return run(io,
               storage->run([this] { return store::Checkpoints{*env}.names("predict/").value(); }));
  }
};

}  // namespace koordlet::test
