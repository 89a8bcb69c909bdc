#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/scenario.hpp"

namespace koordlet::sim {

/// What the disks did over one step. Bytes are a second, read and written together.
struct DiskUse {
  double ls_read_p99_ms = 0;  ///< of the LS group that is worst off; 0: none reads
  double busy_percent = 0;    ///< asked of the disk that is asked most; above 100: more than it can
  double ls_bytes = 0, be_bytes = 0;
  bool be_wants = false;  ///< BE asks for anything
  bool be_held = false;   ///< limits of cgroups hold BE back
};

/// What the node did over one step. Cores.
struct StepUse {
  double ls_demand = 0, ls_used = 0, be_demand = 0, be_used = 0, system = 0;
  double ls_p99_ms = 0;          ///< of the LS group that is worst off
  std::optional<double> be_cap;  ///< most that BE may use by its cgroups; nullopt: unlimited
  Bytes memory;                  ///< in use at the end of the step
  int be_pods = 0;
  DiskUse disk;
  double used() const { return ls_used + be_used + system; }
};

/// One step, and what was decided at its end.
struct Row {
  milliseconds at{0};  ///< end of the step
  milliseconds length{0};
  StepUse use;
  double use_percent = 0;  ///< of the node's CPUs
  double memory_percent = 0;
  double be_slowdown_percent = 0;
  bool watched = false;  ///< koordlet had a sample by then; false: the rest says nothing
  bool sampled = false;  ///< a new sample came in at the end of this step
  policy::Level level = policy::Level::kNone;
  int factor_permille = 1000;
  int below_exit = 0;
  MilliCpu root_cap;                   ///< of the BE root for pods without a request, 0: none
  std::optional<double> be_cap_after;  ///< most that BE may use after the writes
  bool be_held_after = false;          ///< DiskUse::be_held after the writes
};

struct Evicted {
  milliseconds at{0};
  std::string pod;
  std::string reason;
};

/// All that came out of a run.
struct Timeline {
  std::vector<Row> rows;
  std::vector<Evicted> evictions;
  std::uint64_t writes = 0, refused_writes = 0;
  std::vector<std::string> refusals;  ///< the first ten
  std::uint64_t reclaims = 0;         ///< memory.reclaim asked for
  Bytes reclaimed;                    ///< what that put into swap
};

/// Steps in which BE uses a disk, some of them with limits that hold it back.
struct DiskSummary {
  struct Part {
    milliseconds length{0};
    double worst_read_p99_ms = 0;  ///< LS
    double mean_be_bytes = 0, mean_busy_percent = 0;
  };
  Part free, held;
  double worst_read_p99_ms = 0;  ///< LS, of the whole run
  /// Longest time from the start of a step in which a disk was asked for more than it can do, BE
  /// among those who asked, until limits that hold BE back were in the kernel; nullopt: never.
  std::optional<milliseconds> step_to_cap;
};

/// Figures of the rows that end after Limits::from and that koordlet watched.
struct Summary {
  milliseconds length{0};
  int level_changes = 0;
  int flips = 0;  ///< the level rose again after it had fallen
  int cuts = 0;   ///< the factor fell, or the cap of the BE root did
  double flips_per_hour = 0, cuts_per_hour = 0;
  double percent_over_high = 0;  ///< of the time
  /// Longest time from the start of a step with use at or over the HIGH threshold, BE running,
  /// until the level's factor was in the kernel; nullopt: never came to it.
  std::optional<milliseconds> step_to_cap;
  double mean_use_percent = 0, mean_ls_used = 0, mean_be_used = 0;
  double max_ls_p99_ms = 0, mean_ls_p99_ms = 0, mean_be_slowdown_percent = 0;
  double max_memory_percent = 0;
  milliseconds out_of_memory{0};  ///< memory use stood at the node's size
  DiskSummary disk;
};
/// `high_percent` and `high_factor`: of the level HIGH.
Summary summarize(const Scenario& scenario,
                  const Timeline& timeline,
                  int high_percent,
                  int high_factor);

DiskSummary summarize_disks(const Scenario& scenario, const Timeline& timeline);

/// One line for each expectation and limit that does not hold: "at 30 s: be_used: 400: expected
/// 240".
std::vector<std::string> broken(const Scenario& scenario,
                                const Timeline& timeline,
                                const Summary& summary);

/// "90 s", "1.5 s", "2 h 5 min".
std::string time_text(milliseconds t);

}  // namespace koordlet::sim
