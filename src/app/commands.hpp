#pragma once

#include "app/client.hpp"
#include "app/command_line.hpp"

namespace koordlet::app {

/// The configuration of a command line: its file (or the default one, if it exists) and overrides.
ConfigReading read_config(const CommandLine& command);

/// One line a fault, each ended; and the exit code they mean: 2 when only the command line is at
/// fault, else 1.
std::string fault_lines(const std::vector<ConfigFault>& faults);
int fault_exit_code(const std::vector<ConfigFault>& faults);

/// Every command but `run`.
CommandOutput run_command(const CommandLine& command);

}  // namespace koordlet::app
