#pragma once

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup.hpp"
#include "base/clock.hpp"

namespace koordlet {

/// How a proposal joins the others for the same file: result = min(all CAPs, BOOST if any, else
/// BASE).
enum class Role { kBase, kBoost, kCap };
std::string_view to_string(Role r);  ///< "base", "boost", "cap"

struct Proposal {
  CgroupKey key;
  CgroupValue value;
  Role role = Role::kCap;
  std::string plugin;  ///< "cpu_suppress", ...
  std::string reason;  ///< one line with the numbers: "level HIGH (83.1 % >= 80 %): request 4000m x
                       ///< 300 permille"
  bool steady = false;  ///< follows from the pod alone: looked at in turn where there are many
  friend bool operator==(const Proposal&, const Proposal&) = default;
};

/// The arbiter's answer for one file.
struct Desired {
  CgroupValue value;
  Role role = Role::kCap;
  std::string plugin;  ///< who won
  std::string reason;
  MonoTime since;                ///< when this value became the wish
  std::vector<Proposal> losers;  ///< what else was proposed for the file
  bool steady = false;           ///< nothing but a steady proposal stands behind it
  int order = 0;  ///< lower is written first where the kernel leaves the choice (0 = the BE root)
};
/// One desired value per file. A file that is not in it belongs to somebody else, and gets its
/// original back.
using DesiredTable = std::map<CgroupKey, Desired>;

enum class OutcomeKind {
  kUnchanged,  ///< the kernel already had the value
  kWritten,
  kGone,         ///< the cgroup went away: normal
  kRefused,      ///< EINVAL and friends; error says file, value, errno
  kUnsupported,  ///< this kernel has no such file
  kPending,      ///< waits for a helper thread or a retry
  kDryRun,       ///< would have been written
};
std::string_view to_string(OutcomeKind k);  ///< "unchanged", "written", "gone", "refused",
                                            ///< "unsupported", "pending", "dry-run"

/// What became of one file in one batch.
struct Outcome {
  CgroupKey key;
  OutcomeKind kind{};
  std::string value;      ///< what was wanted, canonical
  std::string error;      ///< empty unless kRefused, kUnsupported, kPending
  std::string before{};   ///< what stood there, of a kWritten; canonical
  bool restored = false;  ///< the original went back: nobody wants the file any more
};

}  // namespace koordlet
