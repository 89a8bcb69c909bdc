#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/client.hpp"
#include "app/scenario_file.hpp"
#include "sim/timeline.hpp"

namespace koordlet::app {

/// A run and what to think of it.
struct SimulationReport {
  std::string file;
  sim::Scenario scenario;
  int high_percent = 80;
  sim::Timeline timeline;
  sim::Summary summary;
  std::vector<std::string> broken;  ///< expectations and limits that do not hold
};

/// `reading` must be without faults.
SimulationReport make_report(const std::string& file,
                             const ScenarioReading& reading,
                             const std::function<void(sim::milliseconds)>& progress = {});

std::string simulation_text(const SimulationReport& report);
std::string simulation_json(const SimulationReport& report);

/// `koordlet simulate FILE`: exit 1 when the file is faulty or something in it does not hold.
/// `progress` gets lines for stderr while it runs.
CommandOutput run_simulate(const CommandLine& command,
                           const std::function<void(const std::string&)>& progress);

}  // namespace koordlet::app
