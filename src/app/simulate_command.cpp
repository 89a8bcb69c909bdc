#include "app/simulate_command.hpp"

#include <chrono>

#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/record_replay.hpp"
#include "app/simulation.hpp"
#include "app/text_table.hpp"
#include "app/whole_file.hpp"
#include "sim/plot.hpp"

namespace koordlet::app {
namespace {

constexpr std::chrono::seconds kProgressEach{2};

/// A line on stderr now and then, in real time.
std::function<void(sim::milliseconds)> progress_lines(
    const std::string& file,
    const sim::Scenario& scenario,
    const std::function<void(const std::string&)>& progress) {
  return [&, shown = std::chrono::steady_clock::now()](sim::milliseconds at) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown < kProgressEach || at >= scenario.duration) return;
    shown = now;
    progress(fmt::format("{}: {} of {}\n",
                         terminal_text(file),
                         sim::time_text(at),
                         sim::time_text(scenario.duration)));
  };
}

Result<void> draw(const SimulationReport& report, const std::string& path) {
  const std::string& about = report.scenario.about;
  const auto title = about.empty() ? report.file : about.substr(0, about.find('\n'));
  WholeFile file{path};
  auto done = file.open();
  if (done) done = file.write(sim::plot_svg(report.scenario, report.timeline, title));
  if (done) done = file.keep();
  return done;
}

}  // namespace

SimulationReport make_report(const std::string& file,
                             const ScenarioReading& reading,
                             const std::function<void(sim::milliseconds)>& progress) {
  SimulationReport out;
  out.file = file;
  out.scenario = reading.scenario;
  const auto& pressure = reading.config.qos.policy.pressure;
  out.high_percent = pressure.high_percent;
  out.timeline = simulate(reading.scenario, reading.config, progress);
  out.summary = sim::summarize(
      reading.scenario, out.timeline, pressure.high_percent, pressure.factor_high_permille);
  out.broken = sim::broken(reading.scenario, out.timeline, out.summary);
  return out;
}

CommandOutput run_simulate(const CommandLine& command,
                           const std::function<void(const std::string&)>& progress) {
  if (!command.recording.empty()) return run_recording(command);
  CommandOutput out;
  const auto reading = load_scenario(command.scenario_file, command.overrides);
  if (!reading.faults.empty()) {
    out.exit_code = fault_exit_code(reading.faults);
    out.err = fault_lines(reading.faults);
    return out;
  }
  const auto report =
      make_report(command.scenario_file,
                  reading,
                  progress_lines(command.scenario_file, reading.scenario, progress));
  out.out = command.json ? simulation_json(report) : simulation_text(report);
  for (const auto& line : report.broken) {
    out.err += fmt::format("{}: {}\n", terminal_text(command.scenario_file), line);
  }
  if (!report.broken.empty()) out.exit_code = kExitFailed;
  if (command.plot_file.empty()) return out;
  if (const auto drawn = draw(report, command.plot_file); !drawn) {
    out.exit_code = kExitFailed;
    out.err += terminal_text(drawn.error().context) + "\n";
  }
  return out;
}

}  // namespace koordlet::app
