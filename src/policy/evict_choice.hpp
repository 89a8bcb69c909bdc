#pragma once

#include "policy/evict.hpp"

/// The part of the eviction engine that picks a victim; used by evict.cpp only.
namespace koordlet::policy {

/// Samples in a row that have to agree.
inline constexpr int kEvictSamples = 2;
inline constexpr const char* kNoApi = "the API server does not answer";

/// What the rules of one tick share.
struct EvictScene {
  const Snapshot& snap;
  const EffectiveConfig& config;
  EvictAmounts pending;  ///< on its way out, of all resources
  bool api_ok = false;
  bool softening = false;  ///< as EvictInput says
};

/// The task is over its threshold and its sample is counted: sets the rule's phase, and names a
/// victim when the samples agree and nothing stands against it. A wish that the rule had and that
/// does not hold any more is dropped.
void choose_victim(Evict::Answer& out, const EvictTask& task, const EvictScene& scene);

}  // namespace koordlet::policy
