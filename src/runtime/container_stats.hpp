#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace koordlet::runtime {

/// What a container runtime says of one container or pod sandbox. nullopt: it did not say.
struct ContainerStats {
  std::string id;       ///< as the runtime spells it, without "containerd://"
  std::string name;     ///< of the container in its pod; "" for a sandbox
  std::string pod_uid;  ///< label io.kubernetes.pod.uid or the sandbox's metadata; "" unknown
  WallTime at;          ///< of the CPU counter, by the runtime's clock
  std::optional<std::chrono::nanoseconds> cpu_usage;  ///< since the container was made
  std::optional<Bytes> memory_working_set;            ///< usage less inactive file pages
  std::optional<Bytes> memory_usage;
  std::optional<Bytes> memory_rss;
};

}  // namespace koordlet::runtime
