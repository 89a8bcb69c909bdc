#pragma once

#include <string>
#include <vector>

#include "app/simulate_command.hpp"

/// What a report of a run shows, as text and as JSON alike.
namespace koordlet::app {

/// Rows each Scenario::table_every, and where something happens; at most 2000. Into `report`.
std::vector<const sim::Row*> shown_rows(const SimulationReport& report);

/// One claim beside what came out.
struct Verdict {
  std::string what, claimed, simulated, verdict;
};

/// A claim is met when the figure is as good or better.
std::vector<Verdict> verdicts(const SimulationReport& report);

std::string percent_text(double v);   ///< "12.34 %"
std::string slowdown_text(double v);  ///< "+12.3 %"

}  // namespace koordlet::app
