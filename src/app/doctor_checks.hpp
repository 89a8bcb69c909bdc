#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/doctor.hpp"

namespace koordlet::app {

inline Check yes(std::string name, std::string detail) {
  return {std::move(name), Answer::kYes, std::move(detail), "", false};
}
inline Check no(std::string name, std::string detail, std::string advice) {
  return {std::move(name), Answer::kNo, std::move(detail), std::move(advice), false};
}
/// What this machine cannot have: nothing to do about it.
inline Check not_applicable(std::string name, std::string detail) {
  return {std::move(name), Answer::kNotApplicable, std::move(detail), "", false};
}
inline Check required(Check check) {
  check.required = true;
  return check;
}
inline Check yes_or_no(std::string name, bool ok, std::string detail, std::string advice) {
  return ok ? yes(std::move(name), std::move(detail))
            : no(std::move(name), std::move(detail), std::move(advice));
}

/// What signals are measured with: PSI, BPF, perf, resctrl, kidled, the runtimes' sockets. Each one
/// that is missing says what is done instead; none is required.
void check_signals(const Config& config, std::vector<Check>& out);

/// Whether systemd can be told the values of its units.
Check check_systemd(const Config& config);

}  // namespace koordlet::app
