#pragma once

#include <optional>
#include <vector>

#include "policy/be_progress.hpp"
#include "policy/cpu_burst.hpp"
#include "policy/evict.hpp"
#include "policy/idle_buffer.hpp"
#include "policy/memory_soften.hpp"
#include "policy/pressure.hpp"
#include "policy/suppress.hpp"

namespace koordlet::policy {

/// What decisions depend on beside snapshot and configuration: with it a replay begins in the
/// middle. States that only people look at are left out.
struct PluginStates {
  /// Caps of an earlier run that the first step will take over.
  struct Adopted {
    std::vector<Pressure::AdoptedPod> pods;
    std::optional<MilliCpu> root_cap;
    MonoTime at;
  };
  std::optional<Adopted> adopted;
  bool ready = false;
  Pressure::State pressure;
  Suppress::State suppress;
  IdleBuffer::State idle_buffer;
  Evict::State evict;
  CpuBurst::State burst;
  MemorySoften::State memory_soften;
  StarvationState starvation;
};

}  // namespace koordlet::policy
