#pragma once

#include <string>
#include <vector>

#include "app/config.hpp"
#include "app/predict_replay.hpp"
#include "base/result.hpp"

namespace koordlet::app {

enum class Verb {
  kRun,
  kCheckConfig,
  kDoctor,
  kStatus,
  kPods,
  kExplain,
  kRestore,
  kPredict,
  kVersion,
  kHelp
};

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

inline constexpr const char* kDefaultConfigFile = "/etc/koordlet/koordlet.toml";

struct CommandLine {
  Verb verb = Verb::kRun;
  /// --config, or the FILE of check-config; empty: the default file, if there is one.
  std::string config_file;
  std::string pod;          ///< explain: a uid or namespace/name
  std::string replay_file;  ///< predict: not empty
  ReplayOptions replay;
  bool json = false;
  bool dry_run = false;
  Overrides overrides;  ///< --set, --socket and the flags of keys, in the order of precedence
};

/// `args` without the program's name. kParse with one line for people: unknown command or flag, a
/// flag that the command does not take, a missing or surplus argument.
Result<CommandLine> parse_command_line(const std::vector<std::string>& args);

std::string help_text();

}  // namespace koordlet::app
