#pragma once

#include <cstdio>

#include <doctest/doctest.h>

/// Ends the current test case when the machine lacks what it needs. The line is counted and printed
/// by scripts/run-tests, so that a skipped test is never taken for a passed one.
#define KOORDLET_SKIP_UNLESS(condition, reason)                                              \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::printf(                                                                           \
          "SKIPPED: %s: %s\n", ::doctest::getContextOptions()->currentTest->m_name, reason); \
      std::fflush(stdout);                                                                   \
      return;                                                                                \
    }                                                                                        \
  } while (false)
