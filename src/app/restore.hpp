#pragma once

#include "app/client.hpp"

namespace koordlet::app {

/// `koordlet restore`: a daemon that answers does it itself; without one the journal of the state
/// environment is undone here. One line a file; exit code 1 when a file could not be put back.
CommandOutput run_restore(const Config& config, bool dry_run, const Ask& ask);

}  // namespace koordlet::app
