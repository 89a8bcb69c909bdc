#pragma once

#include <functional>

#include "app/config.hpp"
#include "model/snapshot.hpp"
#include "modules/qos_manager/qos_manager.hpp"
#include "sim/timeline.hpp"

namespace koordlet::app {

/// Hears every decision, as the daemon's flight recorder does.
struct SimulationObserver {
  std::function<void(const QosManager&)> before_step;
  std::function<void(const Snapshot&,
                     const QosManager&,
                     const policy::EvictInput&,
                     const std::vector<EvictionWish>&)>
      after_step;
};

/// Runs the daemon's own QosManager and ResourceExecutor over a modelled node, on a virtual clock:
/// the wiring of daemon_tick.cpp with everything around it replaced. Each step the pods use CPU
/// under what stands in the modelled cgroup tree, then koordlet reads, decides and writes.
/// `progress` hears the simulated time now and then; may be empty.
sim::Timeline simulate(const sim::Scenario& scenario,
                       const Config& config,
                       const std::function<void(sim::milliseconds)>& progress = {},
                       const SimulationObserver& observer = {});

}  // namespace koordlet::app
