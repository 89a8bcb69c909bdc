#pragma once

#include <string>
#include <vector>

#include "app/client.hpp"
#include "app/predict_replay.hpp"
#include "base/result.hpp"

namespace koordlet::app {

/// The texts of the options of `predict`, "" where they are not given; made into ReplayOptions. The
/// error names the option, its value and what was expected.
struct ReplayArguments {
  std::string horizon, warmup, column, sum, nodes, capacity;
};
Result<ReplayOptions> replay_options(const ReplayArguments& arguments);

/// `koordlet predict --replay FILE`. `progress` gets lines for stderr while it runs.
CommandOutput run_replay(const std::string& file,
                         const ReplayOptions& options,
                         bool json,
                         const std::function<void(const std::string&)>& progress);

std::string replay_text(const std::string& file, const ReplayResult& result);
std::string replay_json(const std::string& file, const ReplayResult& result);

}  // namespace koordlet::app
