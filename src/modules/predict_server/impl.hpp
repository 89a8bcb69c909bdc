#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/predict_server/intake.hpp"
#include "modules/predict_server/model.hpp"
#include "modules/predict_server/predict_server.hpp"
#include "store/checkpoint.hpp"

namespace koordlet {

/// What the storage thread says of batches; shared with its jobs.
struct PredictSaves {
  std::atomic<std::uint64_t> waiting{0}, failures{0};
  std::atomic<bool> failing{false};  ///< the last batch was not written
};

struct PredictServer::Impl {
  using Models = std::map<std::string, predict::Model, std::less<>>;
  using Changes = std::vector<store::Checkpoints::Change>;

  Impl(Config c, reactor::Worker& s, store::LmdbEnv& e, const Clock& k)
      : config{std::move(c)},
        storage{s},
        state_env{e},
        clock{k},
        anchor{k.wall().time_since_epoch() - k.now().time_since_epoch()},
        saves{std::make_shared<PredictSaves>()} {}

  const Config config;
  reactor::Worker& storage;
  store::LmdbEnv& state_env;
  const Clock& clock;
  /// Wall less monotonic time, taken once: a step of the wall clock does not look like a gap.
  const std::chrono::nanoseconds anchor;
  predict::Intake intake;
  Models models;
  Changes erased;  ///< rows of models that have expired
  std::shared_ptr<PredictSaves> saves;
  Status status;

  static std::string row_name(std::string_view key);
  policy::PredictTime stored_time(MonoTime now) const;
  predict::Model* model_of(const std::string& key, MonoTime now);
  /// One row of an earlier run. The error says why it cannot be used.
  Result<void> adopt(const std::string& key, std::string_view row, MonoTime now);
  void expire(const NodeState& state, MonoTime now);
  std::vector<Models::iterator> due_rows(MonoTime now);
  void hand_over(Changes changes);
  const predict::Model* fresh(std::string_view key, MonoTime now) const;
};

}  // namespace koordlet
