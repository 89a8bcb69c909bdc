#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/eviction.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"

/// What past evictions forbid now: the memory of a plugin that must not storm.
namespace koordlet::policy {

/// Evictions are counted over this time, by owner and on the node.
inline constexpr std::chrono::minutes kEvictWindow{10};
/// Waits that double each time the same thing happens again.
inline constexpr std::chrono::seconds kMinHold{10};
inline constexpr std::chrono::seconds kMaxHold{300};
/// Of a pod or an owner whose eviction freed nothing.
inline constexpr std::chrono::seconds kFreedNothingHold{300};
/// Of an owner that lost its full number of pods; doubles up to the maximum.
inline constexpr std::chrono::seconds kOwnerHold{600};
inline constexpr std::chrono::seconds kMaxOwnerHold{4800};
/// A dry run names one victim a minute: the first stays where it is, so the next ones mean little.
inline constexpr std::chrono::seconds kDryRunHold{60};

struct EvictionLedger {
  /// Accepted by the API server and not gone yet.
  struct Victim {
    std::string owner;
    Bytes bytes;
    Bytes node_used;  ///< when it was chosen
    MonoTime accepted;
    friend bool operator==(const Victim&, const Victim&) = default;
  };
  struct Hold {
    MonoTime until;
    std::chrono::seconds length{0};
    std::string why;
    friend bool operator==(const Hold&, const Hold&) = default;
  };
  struct Owner {
    std::vector<MonoTime> evicted;  ///< within the window
    std::optional<Hold> hold;
    friend bool operator==(const Owner&, const Owner&) = default;
  };
  /// Gone; whether it helped shows in the next sample.
  struct Left {
    std::string owner;
    Bytes node_used;
    MonoTime at;
    friend bool operator==(const Left&, const Left&) = default;
  };
  std::map<std::string, Victim> victims;        ///< by uid
  std::map<std::string, MonoTime> terminating;  ///< by uid: when it was first seen so, any pod
  std::map<std::string, Hold> pods;             ///< by uid: not asked again before
  std::map<std::string, Owner> owners;
  std::vector<MonoTime> node;  ///< accepted evictions within the window
  std::optional<Hold> node_hold;
  std::vector<Left> left;
  friend bool operator==(const EvictionLedger&, const EvictionLedger&) = default;
};

/// "ReplicaSet jobs/sort-7d9", or "pod jobs/one" for a pod that nobody makes again.
std::string owner_text(const Pod& pod);

void note_outcome(EvictionLedger& ledger,
                  const EvictionOutcome& outcome,
                  const MemoryEvictConfig& config);
/// Looks who has left and who is on the way, and forgets what no longer matters. True: a victim has
/// left, so that samples from before it mean nothing.
bool note_pods(EvictionLedger& ledger,
               const NodeState& state,
               const MemoryEvictConfig& config,
               MonoTime now);
/// Once for each new sample. An owner whose victim left while the node's use did not fall at all is
/// passed over for a while: its memory is elsewhere, or came straight back.
void note_sample(EvictionLedger& ledger, const NodeSignals& signals, MonoTime now);

/// Memory that is on its way out: pods that terminate and accepted victims, each within its grace.
Bytes pending_release(const EvictionLedger& ledger,
                      const Snapshot& snap,
                      const MemoryEvictConfig& config);
/// Why nobody may be evicted now; "" when somebody may.
std::string node_bar(const EvictionLedger& ledger, const MemoryEvictConfig& config, MonoTime now);
/// Why this pod may not be asked now; "" when it may.
std::string pod_bar(const EvictionLedger& ledger, const Pod& pod, MonoTime now);

}  // namespace koordlet::policy
