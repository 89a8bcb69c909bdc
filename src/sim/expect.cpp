#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/timeline.hpp"

namespace koordlet::sim {
namespace {

constexpr double kTolerance = 0.01;
constexpr double kMib = 1 << 20;

/// Collects what does not hold, in one form.
class Faults {
 public:
  explicit Faults(std::string where) : where_{std::move(where)} {}

  void near(std::string_view name, std::optional<double> want, std::optional<double> got) {
    if (!want || (got && std::abs(*got - *want) <= kTolerance)) return;
    add(name, got ? number(*got) : "unlimited", number(*want));
  }
  void same(std::string_view name, std::optional<int> want, int got) {
    if (want && got != *want) add(name, std::to_string(got), std::to_string(*want));
  }
  void at_most(std::string_view name, std::optional<double> most, double got) {
    if (most && got > *most) add(name, number(got), "at most " + number(*most));
  }
  void at_least(std::string_view name, std::optional<double> least, double got) {
    if (least && got < *least) add(name, number(got), "at least " + number(*least));
  }
  /// `what`: of the figure when there is none.
  void within(std::string_view name,
              std::optional<milliseconds> most,
              std::optional<milliseconds> got,
              const std::string& what) {
    if (!most || (got && *got <= *most)) return;
    if (got) {
      add(name, time_text(*got), "at most " + time_text(*most));
    } else {
      add(name, "no " + what, "one within " + time_text(*most));
    }
  }
  void add(std::string_view name, const std::string& got, const std::string& want) {
    lines.push_back(fmt::format("{}: {}: {}: expected {}", where_, name, got, want));
  }
  std::vector<std::string> lines;

 private:
  static std::string number(double v) { return fmt::format("{:.7g}", v); }
  std::string where_;
};

void check_moment(const Expectation& want,
                  const Timeline& timeline,
                  std::vector<std::string>& out) {
  Faults faults{"at " + time_text(want.at)};
  const auto row = std::find_if(
      timeline.rows.begin(), timeline.rows.end(), [&](const Row& r) { return r.at == want.at; });
  if (row == timeline.rows.end()) {
    faults.add("row", "none", "one that ends then");
  } else {
    if (want.level && (!row->watched || row->level != *want.level)) {
      faults.add("level",
                 std::string{row->watched ? policy::to_string(row->level) : "none yet"},
                 std::string{policy::to_string(*want.level)});
    }
    faults.same("below_exit", want.below_exit, row->below_exit);
    faults.same("factor_permille", want.factor_permille, row->factor_permille);
    faults.near("use_percent", want.use_percent, row->use_percent);
    faults.near("ls_used", want.ls_used, row->use.ls_used);
    faults.near("be_used", want.be_used, row->use.be_used);
    faults.near("be_cap", want.be_cap, row->be_cap_after);
    faults.near("ls_p99_ms", want.ls_p99_ms, row->use.ls_p99_ms);
    faults.near("be_slowdown_percent", want.be_slowdown_percent, row->be_slowdown_percent);
    const DiskUse& disk = row->use.disk;
    faults.near("ls_read_p99_ms", want.ls_read_p99_ms, disk.ls_read_p99_ms);
    faults.near("be_disk_mib", want.be_disk_mib, disk.be_bytes / kMib);
    faults.near("disk_busy_percent", want.disk_busy_percent, disk.busy_percent);
  }
  out.insert(out.end(), faults.lines.begin(), faults.lines.end());
}

}  // namespace

std::vector<std::string> broken(const Scenario& scenario,
                                const Timeline& timeline,
                                const Summary& summary) {
  std::vector<std::string> out;
  for (const auto& want : scenario.expectations) check_moment(want, timeline, out);
  const Limits& limits = scenario.limits;
  Faults faults{limits.from.count() == 0 ? "whole run" : "from " + time_text(limits.from)};
  faults.at_most("flips_per_hour", limits.max_flips_per_hour, summary.flips_per_hour);
  faults.at_most("cuts_per_hour", limits.max_cuts_per_hour, summary.cuts_per_hour);
  faults.at_most("percent_over_high", limits.max_percent_over_high, summary.percent_over_high);
  faults.at_most("ls_p99_ms", limits.max_ls_p99_ms, summary.max_ls_p99_ms);
  faults.at_least("mean_use_percent", limits.min_mean_use_percent, summary.mean_use_percent);
  faults.at_most("mean_use_percent", limits.max_mean_use_percent, summary.mean_use_percent);
  faults.at_least("mean_be_used", limits.min_mean_be_used, summary.mean_be_used);
  faults.at_most("memory_percent", limits.max_memory_percent, summary.max_memory_percent);
  faults.within("step_to_cap", limits.max_step_to_cap, summary.step_to_cap, "cap");
  const DiskSummary& disk = summary.disk;
  faults.at_most("ls_read_p99_ms", limits.max_ls_read_p99_ms, disk.worst_read_p99_ms);
  faults.at_most(
      "held_ls_read_p99_ms", limits.max_held_ls_read_p99_ms, disk.held.worst_read_p99_ms);
  faults.at_least("held_be_disk_mib", limits.min_held_be_disk_mib, disk.held.mean_be_bytes / kMib);
  faults.within("disk_step_to_cap", limits.max_disk_step_to_cap, disk.step_to_cap, "limit");
  faults.same("evictions", limits.evictions, static_cast<int>(timeline.evictions.size()));
  faults.at_most(
      "refused_writes",
      limits.max_refused_writes ? std::optional<double>{*limits.max_refused_writes} : std::nullopt,
      static_cast<double>(timeline.refused_writes));
  out.insert(out.end(), faults.lines.begin(), faults.lines.end());
  return out;
}

}  // namespace koordlet::sim
