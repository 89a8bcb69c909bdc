#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"
#include "model/usage.hpp"
#include "policy/predict_reclaimable.hpp"
#include "policy/prediction.hpp"
#include "reactor/worker.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet {

/// Learns what the node, its priority classes, the system and each pod use, and forecasts their
/// peaks of the window that begins now (docs/predict.md). What was learned survives a restart: one
/// row a model in the state environment. Loop thread only; work is cut into slices of 1 ms.
class PredictServer {
 public:
  struct Config {
    bool enabled = true;
    std::chrono::seconds window{3600};  ///< 300 s to a day, a multiple of 300 s
    int margin_percent = 10;            ///< on top of the peaks that prodReclaimable goes by
    /// A pod with less data counts with its request.
    std::chrono::seconds cold_start{24 * 3600};
    std::chrono::seconds checkpoint_interval{600};  ///< between two rows of one model
    /// A model whose pod is gone is dropped when it was not fed for so long.
    std::chrono::seconds expiry{1800};
    /// How long a pod's last sample counts in the sum of its class: 2.5 collect intervals.
    std::chrono::seconds pod_usage_valid{150};
  };
  struct Status {
    std::uint64_t rounds = 0;
    std::chrono::microseconds last_round{0};     ///< work of it, without the pauses
    std::chrono::microseconds longest_slice{0};  ///< since the start
    std::size_t models = 0, bytes = 0;
    std::size_t restored = 0;         ///< models that an earlier run had learned
    std::size_t cold_rows = 0;        ///< rows that could not be used
    std::uint64_t restarted = 0;      ///< models that forgot: the clock went back, a day is missing
    std::uint64_t expired = 0;        ///< models of pods that are gone
    std::uint64_t refused = 0;        ///< subjects without a model: there are too many
    std::uint64_t rows = 0;           ///< checkpoint rows handed to the storage thread
    std::uint64_t save_failures = 0;  ///< batches that could not be written
    bool save_failing = false;        ///< the last one could not
  };

  /// All of them outlive the server; jobs for `storage` touch `state` only.
  PredictServer(Config config, reactor::Worker& storage, store::LmdbEnv& state, const Clock& clock);
  ~PredictServer();

  void note_node(const NodeSignals& signals);                   ///< each evaluation
  void note_pods(const std::map<std::string, PodUsage>& pods);  ///< after each pass over the pods

  /// Takes up what an earlier run has learned. Once, before the first round. A row that cannot be
  /// used is one model that begins anew; all such rows together are one line in the log.
  boost::asio::awaitable<void> load();
  /// Learns from what was noted since the last round, forecasts, writes the rows that are due and
  /// drops what has expired. Once a minute after load(), one at a time.
  boost::asio::awaitable<void> round(std::shared_ptr<const NodeState> state);
  /// Writes every model that has changed: before a stop.
  void save_all();

  /// nullopt: the node's allocatable or a class model is not known.
  std::optional<policy::Reclaimable> reclaimable(
      const NodeState& state, const std::optional<policy::PeakAmount>& allocatable) const;

  /// By key: "node", "system", "class/prod", "pod/<uid>"; nullptr: no such model.
  const policy::Prediction* find(std::string_view key) const;
  /// In the order of keys. What is passed lives until the next round.
  using Visit = std::function<void(const std::string& key, const policy::Prediction& prediction)>;
  void for_each(const Visit& visit) const;
  Status status() const;
  const Config& config() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
