#pragma once

#include <string>
#include <vector>

#include "app/config.hpp"
#include "sim/timeline.hpp"

namespace koordlet::app {

/// A scenario (docs/simulate.md names every key) and the daemon's configuration it runs with:
/// built-in values, the sections [qos...], [collect] and [executor] of the file, the command line.
struct ScenarioReading {
  sim::Scenario scenario;
  Config config;
  std::vector<ConfigFault> faults;  ///< all of them; the rest is only good when there are none
};

ScenarioReading load_scenario(const std::string& file, const Overrides& overrides);
/// `name` stands for the file in faults.
ScenarioReading load_scenario_text(const std::string& text,
                                   const std::string& name,
                                   const Overrides& overrides);

}  // namespace koordlet::app
