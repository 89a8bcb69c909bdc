#pragma once

#include <string>
#include <unistd.h>

/// The program that this build made, for tests that run it as a process.
namespace koordlet::test {

#ifdef KOORDLET_BINARY
inline const std::string kBinary = KOORDLET_BINARY;
#else
inline const std::string kBinary;
#endif

inline bool built() { return !kBinary.empty() && ::access(kBinary.c_str(), X_OK) == 0; }

}  // namespace koordlet::test
