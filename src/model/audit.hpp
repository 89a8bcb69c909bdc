#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup.hpp"
#include "base/clock.hpp"

namespace koordlet {

enum class AuditKind {
  kWritten,      ///< a control file got a value
  kRestored,     ///< a control file got its original value back
  kRefused,      ///< the kernel did not take a value
  kLevel,        ///< the pressure level changed
  kEviction,     ///< a pod was asked to leave, whatever came of it
  kReclaim,      ///< memory of a cgroup was reclaimed once, as far as it went
  kPolicy,       ///< the policy was switched on or off, or everything was given back
  kEffect,       ///< it was judged whether a cap helped
  kIneffective,  ///< a cap was found that does not bite
  kStarvation,   ///< a best-effort pod began or ended to starve
};
/// "written", "restored", "refused", "level", "eviction", "reclaim", "policy", "effect",
/// "ineffective", "starvation"
std::string_view to_string(AuditKind k);

/// One thing that koordlet did or decided, with its reason.
struct AuditEvent {
  std::uint64_t seq = 0;  ///< from 1 up, without gaps; given by the log
  MonoTime at;
  AuditKind kind{};
  std::optional<CgroupKey> key;  ///< of a control file
  std::string pod;               ///< uid; "" when it concerns no single pod
  std::string before, after;     ///< canonical values or levels; "" unknown or none
  std::string plugin;
  std::string reason;  ///< one line with the numbers
  std::string detail;  ///< what the kernel or the server said; "" nothing
};

/// The newest events, bounded: an older one makes room for a newer one. Loop thread.
class AuditLog {
 public:
  explicit AuditLog(std::size_t capacity) : capacity_{capacity == 0 ? 1 : capacity} {}

  /// Gives the event its number.
  void add(AuditEvent event);
  const std::deque<AuditEvent>& events() const { return events_; }  ///< oldest first
  std::uint64_t total() const { return last_; }                     ///< since start
  /// The newest `most` that `wanted` picks, newest first.
  std::vector<const AuditEvent*> newest(std::size_t most,
                                        const std::function<bool(const AuditEvent&)>& wanted) const;

 private:
  std::size_t capacity_;
  std::uint64_t last_ = 0;
  std::deque<AuditEvent> events_;
};

}  // namespace koordlet
