#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

/// Core scheduling (prctl PR_SCHED_CORE, kernel 5.14): tasks with one cookie share a physical core
/// with each other and with nobody else. Giving a cookie to another task changes the caller's own,
/// so each order below runs on a thread of its own that ends with it.
namespace koordlet::kernel {

/// Whether this kernel and machine do it. kNotSupported: built without it, or no SMT.
Result<void> probe_core_sched();

/// 0: no cookie. kNotFound: no such task.
Result<std::uint64_t> core_cookie(int task);

/// What became of a list of tasks; one that ended meanwhile is counted nowhere.
struct CookieOutcome {
  std::size_t given = 0;
  std::size_t refused = 0;
  std::string error;  ///< of the first refusal
};
/// Gives `task` a new cookie. kDenied: no ptrace rights over it.
Result<std::uint64_t> make_core_cookie(int task);
/// Gives the cookie of `from` to all of `to`. kNotFound: `from` ended.
Result<CookieOutcome> share_core_cookie(int from, const std::vector<int>& to);
/// Takes the cookie away.
Result<CookieOutcome> clear_core_cookie(const std::vector<int>& tasks);

}  // namespace koordlet::kernel
