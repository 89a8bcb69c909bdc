#include "app/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "app/doctor.hpp"
#include "app/predict_command.hpp"
#include "app/query_command.hpp"
#include "app/restore.hpp"
#include "app/simulate_command.hpp"

namespace koordlet::app {
namespace {

CommandOutput check_config(const CommandLine& command) {
  const ConfigReading reading = read_config(command);
  CommandOutput out;
  if (!reading.ok()) {
    out.exit_code = fault_exit_code(reading.faults);
    out.err = fault_lines(reading.faults);
    return out;
  }
  const std::string& file = reading.loaded.file;
  out.out = fmt::format("{}: ok\n", file.empty() ? "built-in configuration" : file);
  return out;
}

CommandOutput doctor(const CommandLine& command, const Config& config) {
  const auto checks = examine_host(config);
  CommandOutput out;
  out.out = command.json ? doctor_json(checks) : doctor_text(checks);
  out.exit_code = fit_to_run(checks) ? kExitOk : kExitFailed;
  return out;
}

/// A fault of the file as a whole has no key.
bool is_unread_file(const ConfigFault& fault) { return !fault.file.empty() && fault.key.empty(); }

CommandOutput dispatch(const CommandLine& command, const Config& config) {
  const Ask ask = ask_socket(config.status.socket);
  switch (command.verb) {
    case Verb::kDoctor:
      return doctor(command, config);
    case Verb::kRestore:
      return run_restore(config, command.dry_run, ask);
    case Verb::kQuery:
      return command.query.format.empty() ? run_query(command, config.status.socket, ask)
                                          : run_export_to(command, config.status.socket, ask);
    default:
      return run_client(command, config.status.socket, ask);
  }
}

}  // namespace

ConfigReading read_config(const CommandLine& command) {
  std::string file = command.config_file;
  if (file.empty() && ::access(kDefaultConfigFile, F_OK) == 0) file = kDefaultConfigFile;
  return load_config(file, command.overrides);
}

std::string fault_lines(const std::vector<ConfigFault>& faults) {
  std::string out;
  for (const auto& fault : faults) out += to_string(fault) + '\n';
  return out;
}

int fault_exit_code(const std::vector<ConfigFault>& faults) {
  const bool in_file = std::any_of(
      faults.begin(), faults.end(), [](const ConfigFault& f) { return !f.file.empty(); });
  if (faults.empty()) return kExitOk;
  return in_file ? kExitFailed : kExitUsage;
}

CommandOutput run_command(const CommandLine& command) {
  CommandOutput out;
  switch (command.verb) {
    case Verb::kHelp:
      out.out = help_text();
      return out;
    case Verb::kVersion:
      out.out = fmt::format("koordlet {}\n", KOORDLET_VERSION);
      return out;
    case Verb::kCheckConfig:
      return check_config(command);
    case Verb::kPredict:
      return run_replay(
          command.replay_file, command.replay, command.json, [](const std::string& line) {
            std::fputs(line.c_str(), stderr);
          });
    case Verb::kSimulate:
      return run_simulate(command,
                          [](const std::string& line) { std::fputs(line.c_str(), stderr); });
    default:
      break;
  }
  const ConfigReading reading = read_config(command);
  const bool unread = std::any_of(reading.faults.begin(), reading.faults.end(), is_unread_file);
  if (unread || fault_exit_code(reading.faults) == kExitUsage) {
    out.exit_code = fault_exit_code(reading.faults);
    out.err = fault_lines(reading.faults);
    return out;
  }
  out = dispatch(command, reading.loaded.config);
  // A faulty file must not keep people from looking at, or undoing, what the daemon did. But a
  // restore may then have looked in the wrong place: that is no success.
  if (!reading.ok()) {
    out.err = fmt::format("{}: {} faults, see `koordlet check-config`; ignoring\n",
                          reading.loaded.file,
                          reading.faults.size()) +
              out.err;
    if (command.verb == Verb::kRestore) out.exit_code = kExitFailed;
  }
  return out;
}

}  // namespace koordlet::app
