#include <algorithm>

#include "sim/timeline.hpp"

namespace koordlet::sim {
namespace {

/// Adds one step; the means are sums until finish().
void add(DiskSummary::Part& part, const Row& row) {
  const DiskUse& disk = row.use.disk;
  const auto ms = static_cast<double>(row.length.count());
  part.length += row.length;
  part.worst_read_p99_ms = std::max(part.worst_read_p99_ms, disk.ls_read_p99_ms);
  part.mean_be_bytes += disk.be_bytes * ms;
  part.mean_busy_percent += disk.busy_percent * ms;
}

void finish(DiskSummary::Part& part) {
  const auto ms = static_cast<double>(part.length.count());
  if (ms <= 0) return;
  part.mean_be_bytes /= ms;
  part.mean_busy_percent /= ms;
}

}  // namespace

DiskSummary summarize_disks(const Scenario& scenario, const Timeline& timeline) {
  DiskSummary out;
  const milliseconds from = scenario.limits.from;
  std::optional<milliseconds> begin;  // of an overload that nothing holds yet
  for (const auto& row : timeline.rows) {
    if (!row.watched || row.at <= from) continue;
    const DiskUse& disk = row.use.disk;
    out.worst_read_p99_ms = std::max(out.worst_read_p99_ms, disk.ls_read_p99_ms);
    if (!disk.be_wants) {
      begin.reset();
      continue;
    }
    add(disk.be_held ? out.held : out.free, row);
    if (!disk.be_held && disk.busy_percent >= 100 && !begin) begin = row.at - row.length;
    if (begin && row.be_held_after) {
      out.step_to_cap = std::max(out.step_to_cap.value_or(milliseconds{0}), row.at - *begin);
      begin.reset();
    }
  }
  finish(out.free);
  finish(out.held);
  return out;
}

}  // namespace koordlet::sim
