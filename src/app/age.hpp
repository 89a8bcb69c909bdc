#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"

namespace koordlet::app {

/// nullopt for MonoTime{}: it never was.
inline std::optional<std::chrono::milliseconds> age_of(MonoTime at, MonoTime now) {
  if (at == MonoTime{}) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - at);
}

}  // namespace koordlet::app
