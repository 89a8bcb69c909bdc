#pragma once

#include "options.hpp"

namespace koordlet::demo {

/// The interference degree of the LS pod in three phases: alone, beside best effort that nothing
/// holds back (koordlet in dry run), and beside best effort that koordlet caps. Prints the degrees
/// and the run-queue wait; the exit code is 0 when they are below 10, above 50 and below 20.
int run_interference(Options options);

}  // namespace koordlet::demo
