#pragma once

#include <cstdint>
#include <optional>

#include "model/snapshot.hpp"

namespace koordlet::status_api {

/// Node CPU use by whom, in milli-cores. The parts add up to the node's use as far as they are
/// known; a part below zero (readings a few microseconds apart) is 0.
struct UseSplit {
  std::optional<std::int64_t> node;
  std::optional<std::int64_t> be;      ///< BE root and BE-labelled pods outside it
  std::optional<std::int64_t> ls;      ///< all other pods
  std::optional<std::int64_t> system;  ///< neither pod nor host application
  std::optional<std::int64_t> host_apps;
};
UseSplit use_split(const std::optional<NodeSignals>& signals);

}  // namespace koordlet::status_api
