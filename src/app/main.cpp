#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/daemon.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::app;

int print(const CommandOutput& output) {
  std::fwrite(output.out.data(), 1, output.out.size(), stdout);
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  std::fwrite(output.err.data(), 1, output.err.size(), stderr);
  return written || output.exit_code != kExitOk ? output.exit_code : kExitFailed;
}

int run(const CommandLine& command) {
  const ConfigReading reading = read_config(command);
  if (!reading.ok())
    return print({fault_exit_code(reading.faults), "", fault_lines(reading.faults)});
  return run_daemon(reading.loaded);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto command = parse_command_line(args);
  if (!command) {
    return print({kExitUsage, "", fmt::format("koordlet: {}\n", command.error().context)});
  }
  if (command->verb == Verb::kCriProxy) {
    const auto ran = run_cri_proxy(command->proxy);
    return ran ? kExitOk
               : print({kExitFailed, "", fmt::format("koordlet: {}\n", ran.error().context)});
  }
  return command->verb == Verb::kRun ? run(*command) : print(run_command(*command));
}
