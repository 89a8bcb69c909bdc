#pragma once

#include <string>

#include "policy/evict_rules.hpp"
#include "policy/evict_window.hpp"

namespace koordlet::policy {

/// What one rule says of this moment: the same input gives the same task, whichever rules were
/// asked before.
struct EvictTask {
  enum class Verdict {
    kOff,
    kBlind,  ///< an input is missing: `why`
    kIdle,
    kOver,  ///< something has to go: `why`, `need`, `rescue`
  };
  EvictPlugin plugin{};
  Verdict verdict = Verdict::kOff;
  std::string why;        ///< "node memory 75.00 % >= 70 %"
  std::string to_mark;    ///< what the need leads to: "over the lower mark 68 %"
  EvictAmounts need;      ///< 0: not needed
  EvictAmounts rescue;    ///< least that ends the trouble, of each that is needed
  int use_permyriad = 0;  ///< what the threshold is compared with, 1/100 %; 0 when not known
};

/// `signals` are fresh, the pods known. `window` holds the sample of `signals` already.
EvictTask judge(EvictPlugin plugin,
                const Snapshot& snap,
                const EffectiveConfig& config,
                const CpuWindow& window);

/// The BE part of a sample; nullopt when one of the three is unknown.
std::optional<BeCpuLoad> be_load(const Snapshot& snap, const EffectiveConfig& config);

/// "12.0 GiB", "512.0 MiB", "100 B": cut off, not rounded.
std::string bytes_text(Bytes bytes);
/// Of the resources that `which` has: "7.0 GiB" for memory in use, else with the name, as in
/// "4000 m batch-cpu, 10 m mid-cpu".
std::string amounts_text(const EvictAmounts& amounts, const EvictAmounts& which);

}  // namespace koordlet::policy
