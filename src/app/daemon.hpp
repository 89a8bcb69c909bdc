#pragma once

#include "app/config.hpp"

namespace koordlet::app {

/// Runs the daemon until SIGTERM or SIGINT, or until a module fails. Returns the exit code: 0 a
/// clean stop, 1 a failure that was logged.
int run_daemon(const LoadedConfig& config);

}  // namespace koordlet::app
