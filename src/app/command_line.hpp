#pragma once

#include <string>
#include <vector>

#include "app/config.hpp"
#include "app/cri_proxy_command.hpp"
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
  kQuery,
  kRestore,
  kPredict,
  kSimulate,
  kCriProxy,
  kVersion,
  kHelp
};

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

inline constexpr const char* kDefaultConfigFile = "/etc/koordlet/koordlet.toml";

/// What `koordlet query` was asked for. Everything but the metric's name is checked.
struct QueryOptions {
  std::string metric;               ///< a name or a selector; empty: list the metrics
  std::vector<std::string> labels;  ///< "pod_uid=4f6f...", each
  std::string window = "1h";
  std::string functions;  ///< empty: those of the table
  std::string step;       ///< empty: by the width of the table
  std::string format;     ///< of --export: "openmetrics" or "csv"; empty: no export
  std::string output;     ///< file of --export; empty: stdout
};

struct CommandLine {
  Verb verb = Verb::kRun;
  /// --config, or the FILE of check-config; empty: the default file, if there is one.
  std::string config_file;
  std::string pod;          ///< explain: a uid or namespace/name
  std::string replay_file;  ///< predict: not empty
  ReplayOptions replay;
  QueryOptions query;
  std::string scenario_file;  ///< simulate: not empty
  std::string recording;      ///< simulate --from: a file or folder; empty: a scenario is run
  std::int64_t since_ms = 0;  ///< simulate --from: so much before its end; 0: all of it
  std::string plot_file;      ///< simulate: where the drawing goes; empty: none
  CriProxyOptions proxy;      ///< cri-proxy
  bool json = false;
  bool dry_run = false;
  Overrides overrides;  ///< --set, --socket and the flags of keys, in the order of precedence
};

/// `args` without the program's name. kParse with one line for people: unknown command or flag, a
/// flag that the command does not take, a missing or surplus argument.
Result<CommandLine> parse_command_line(const std::vector<std::string>& args);

std::string help_text();

}  // namespace koordlet::app
