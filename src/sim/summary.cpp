#include <algorithm>

#include <fmt/format.h>

#include "sim/timeline.hpp"

namespace koordlet::sim {
namespace {

double seconds_of(milliseconds t) { return static_cast<double>(t.count()) / 1000; }

/// Changes of the level, rises after a fall, and cuts.
void count_moves(Summary& out, const Row& before, const Row& row, bool& fell) {
  if (row.level != before.level) {
    ++out.level_changes;
    const bool rose = row.level > before.level;
    if (rose && fell) ++out.flips;
    fell = !rose;
  }
  const bool root_fell =
      before.root_cap.v > 0 && row.root_cap.v > 0 && row.root_cap < before.root_cap;
  if (row.factor_permille < before.factor_permille || root_fell) ++out.cuts;
}

/// Follows one overload from the step it begins in to the step at whose end its cap stands.
class StepToCap {
 public:
  StepToCap(int high_percent, int high_factor) : percent_{high_percent}, factor_{high_factor} {}

  /// `counts`: an overload may begin with this row.
  void see(const Row& row, bool counts) {
    const bool capped = row.watched && row.factor_permille <= factor_;
    const bool over = row.use_percent >= percent_ && row.use.be_used > 0;
    if (!over && !capped) begun_ = false;
    if (counts && over && !begun_ && !was_capped_) {
      begun_ = true;
      begin_ = row.at - row.length;
    }
    if (begun_ && capped) {
      longest_ = std::max(longest_.value_or(milliseconds{0}), row.at - begin_);
      begun_ = false;
    }
    was_capped_ = capped;
  }
  std::optional<milliseconds> longest() const { return longest_; }

 private:
  int percent_, factor_;
  bool was_capped_ = false;
  bool begun_ = false;
  milliseconds begin_{0};  ///< while `begun_`
  std::optional<milliseconds> longest_;
};

}  // namespace

Summary summarize(const Scenario& scenario,
                  const Timeline& timeline,
                  int high_percent,
                  int high_factor) {
  Summary out;
  const milliseconds from = scenario.limits.from;
  StepToCap step{high_percent, high_factor};
  const Row fresh;
  const Row* before = &fresh;  // koordlet begins at level NONE, without a cap
  bool fell = false;
  double over = 0;
  for (const auto& row : timeline.rows) {
    step.see(row, row.at > std::max(from, scenario.koordlet_from));
    if (!row.watched) continue;
    if (row.at <= from) {
      before = &row;
      continue;
    }
    const double s = seconds_of(row.length);
    out.length += row.length;
    count_moves(out, *before, row, fell);
    if (row.use_percent >= high_percent) over += s;
    out.mean_use_percent += row.use_percent * s;
    out.mean_ls_used += row.use.ls_used * s;
    out.mean_be_used += row.use.be_used * s;
    out.mean_ls_p99_ms += row.use.ls_p99_ms * s;
    out.mean_be_slowdown_percent += row.be_slowdown_percent * s;
    out.max_ls_p99_ms = std::max(out.max_ls_p99_ms, row.use.ls_p99_ms);
    out.max_memory_percent = std::max(out.max_memory_percent, row.memory_percent);
    if (row.memory_percent >= 100) out.out_of_memory += row.length;
    before = &row;
  }
  out.step_to_cap = step.longest();
  out.disk = summarize_disks(scenario, timeline);
  const double length = seconds_of(out.length);
  if (length <= 0) return out;
  for (double* mean : {&out.mean_use_percent,
                       &out.mean_ls_used,
                       &out.mean_be_used,
                       &out.mean_ls_p99_ms,
                       &out.mean_be_slowdown_percent}) {
    *mean /= length;
  }
  out.percent_over_high = 100 * over / length;
  out.flips_per_hour = out.flips * 3600 / length;
  out.cuts_per_hour = out.cuts * 3600 / length;
  return out;
}

std::string time_text(milliseconds t) {
  const auto ms = t.count();
  if (ms < 3'600'000 || ms % 60'000 != 0) return fmt::format("{:.6g} s", seconds_of(t));
  const auto minutes = ms / 60'000;
  return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                           : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace koordlet::sim
