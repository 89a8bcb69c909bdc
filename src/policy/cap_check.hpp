#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/proposal.hpp"
#include "model/snapshot.hpp"

/// Finds CPU caps that do not bite: use stays above the cap although the cap is in force. Pure; the
/// caller gives the evidence by which the cause is named.
namespace koordlet::policy {

/// In the order in which they are looked for.
enum class CapCause {
  kContested,       ///< another writer keeps changing the file
  kRights,          ///< the kernel refused the write: not permitted, read-only
  kInvalid,         ///< the kernel refused the value
  kNotWritten,      ///< waits, or failed otherwise: the file does not hold the value
  kOtherHierarchy,  ///< no such file at the path: the CPU controller is in the other hierarchy
  kWrongPath,       ///< no task below the path: the use is counted elsewhere
  kBurst,           ///< the quota may be exceeded by an allowed burst
  kUnknown,
};
inline constexpr std::size_t kCapCauses = 8;
/// "contested", "rights", "invalid", "not_written", "other_hierarchy", "wrong_path", "burst",
/// "unknown".
std::string_view to_string(CapCause c);

/// A cap is judged by samples that begin this long after it became the wish.
inline constexpr std::chrono::seconds kCapInForce{5};
/// So many samples in a row above the cap make it ineffective.
inline constexpr int kCapSamples = 2;

/// True: more than 10 % and more than 50 milli-cores above it.
bool exceeds(MilliCpu used, MilliCpu cap);

/// One cap that use exceeds.
struct CapOver {
  CgroupKey key;
  std::string uid;  ///< of the pod; "" the BE root
  MilliCpu cap, used;
  MonoTime since;  ///< the cap's
};

struct CapTracks {
  struct Track {
    MonoTime since;   ///< of the cap that is watched; another cap starts anew
    MonoTime sample;  ///< newest one looked at
    int over = 0;     ///< samples in a row above it
    MilliCpu used;    ///< of the newest one
  };
  std::map<CgroupKey, Track> tracks;
  /// The BE root is sampled each tick, some samples over a few milliseconds: a mean of 2 s counts.
  std::uint64_t root_seq = 0;
  std::int64_t root_sum = 0, root_count = 0;
  std::optional<MonoTime> root_from;
};
/// One step: caps (role CAP on cpu.max) of BE pods and of the BE root that are ineffective now.
std::vector<CapOver> observe_caps(const Snapshot& snap,
                                  const DesiredTable& desired,
                                  CapTracks& tracks);

/// What is known about the file. Unknown members say nothing.
struct CapFacts {
  std::string wanted, kernel;  ///< canonical; kernel "": not readable
  bool held = false;           ///< the executor knows the file
  bool contested = false;
  std::optional<OutcomeKind> last;
  std::string error;              ///< of the last outcome
  std::optional<bool> has_tasks;  ///< at or below the path
  std::optional<std::int64_t> burst_us;
};
struct CapFinding {
  CapCause cause = CapCause::kUnknown;
  std::string detail;  ///< one line
  friend bool operator==(const CapFinding&, const CapFinding&) = default;
};
CapFinding find_cause(const CapFacts& facts);

/// A cap that does not bite, as shown.
struct CapFault {
  CapOver over;
  CapFinding finding;
};

}  // namespace koordlet::policy
