#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/eviction.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"

/// What past evictions forbid now: the memory of rules that must not storm. One for all of them, so
/// that a victim of one counts for the others.
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
    EvictAmounts frees;        ///< as expected when it was chosen
    EvictResource resource{};  ///< for which it was chosen
    Bytes node_used;           ///< when it was chosen
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
  /// Gone from the API, chosen for memory in use. Its processes may end, and its pages come back,
  /// seconds later (grace period 0, a forced deletion, a busy node): until the node's use shows it,
  /// the memory still counts as on its way out.
  struct Left {
    std::string owner;
    Bytes node_used;  ///< when it was chosen
    Bytes frees;      ///< as expected then
    MonoTime at;
    friend bool operator==(const Left&, const Left&) = default;
  };
  std::map<std::string, Victim> victims;        ///< by uid
  std::map<std::string, MonoTime> terminating;  ///< by uid: when it was first seen so, any pod
  std::map<std::string, Hold> pods;             ///< by uid: not asked again before
  std::map<std::string, Owner> owners;
  std::vector<MonoTime> node;                     ///< accepted evictions within the window
  std::optional<MonoTime> last_cpu, last_memory;  ///< last victim of a CPU and of a memory rule
  std::optional<Hold> node_hold;
  std::vector<Left> left;
  friend bool operator==(const EvictionLedger&, const EvictionLedger&) = default;
};

/// "ReplicaSet jobs/sort-7d9", or "pod jobs/one" for a pod that nobody makes again.
std::string owner_text(const Pod& pod);

void note_outcome(EvictionLedger& ledger,
                  const EvictionOutcome& outcome,
                  const EvictConfig& config);
/// Looks who has left and who is on the way, and forgets what no longer matters. True: a victim has
/// left, so that samples from before it mean nothing.
bool note_pods(EvictionLedger& ledger,
               const NodeState& state,
               const EvictConfig& config,
               MonoTime now);
/// Once for each new sample. A victim that left for memory has helped as soon as the node's use is
/// lower by half of what it held. An owner whose victim left 10 s ago while the use did not fall at
/// all is passed over for a while: its memory is elsewhere, or came straight back.
void note_sample(EvictionLedger& ledger, const NodeSignals& signals, MonoTime now);

/// What is on its way out: pods that terminate and accepted victims, each within its grace, and
/// memory of victims that left but does not show yet.
EvictAmounts pending_release(const EvictionLedger& ledger,
                             const Snapshot& snap,
                             const EvictConfig& config);
/// Why nobody may be evicted now; "" when somebody may.
std::string node_bar(const EvictionLedger& ledger, const EvictConfig& config, MonoTime now);
/// Whether a victim on its way out must have left, and its memory must show, before a rule that
/// lacks `resource` names the next one. Any one, but memory in use does not wait for victims of
/// other rules: what they hold of it is pending anyway.
bool waits_for_release(const EvictionLedger& ledger, EvictResource resource);
/// Since when a rule of this kind may act again; reference 3: after the start and after a victim.
MonoTime cool_at(const EvictionLedger& ledger,
                 const EvictConfig& config,
                 bool memory,
                 MonoTime started);
/// Why this pod may not be asked now; "" when it may.
std::string pod_bar(const EvictionLedger& ledger, const Pod& pod, MonoTime now);

}  // namespace koordlet::policy
