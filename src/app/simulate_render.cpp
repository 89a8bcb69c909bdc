#include <fmt/format.h>

#include "app/simulate_rows.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

using Align = TextTable::Align;
using sim::Row;

constexpr double kMib = 1 << 20;

std::string cores(double v) { return fmt::format("{:.1f}", v); }
std::string limit(std::optional<double> v) { return v ? cores(*v) : "none"; }

std::string mib(double bytes) { return fmt::format("{:.1f} MiB/s", bytes / kMib); }

std::string timeline_table(const SimulationReport& r) {
  std::vector<TextTable::Column> columns{{"TIME", Align::kRight},
                                         {"LS DEMAND", Align::kRight},
                                         {"LS USED", Align::kRight},
                                         {"BE USED", Align::kRight},
                                         {"NODE", Align::kRight},
                                         {"LEVEL"},
                                         {"EXIT", Align::kRight},
                                         {"FACTOR", Align::kRight},
                                         {"BE CAP", Align::kRight},
                                         {"LS P99", Align::kRight},
                                         {"BE SLOWER", Align::kRight},
                                         {"MEMORY", Align::kRight}};
  const bool disks = !r.scenario.disks.empty();
  if (disks) {
    columns.push_back({"BE DISK", Align::kRight});
    columns.push_back({"DISK", Align::kRight});
    columns.push_back({"READ P99", Align::kRight});
  }
  TextTable table{std::move(columns)};
  for (const Row* row : shown_rows(r)) {
    std::vector<std::string> cells{sim::time_text(row->at),
                                   cores(row->use.ls_demand),
                                   cores(row->use.ls_used),
                                   cores(row->use.be_used),
                                   percent_text(row->use_percent),
                                   row->watched ? std::string{policy::to_string(row->level)} : "-",
                                   row->watched ? std::to_string(row->below_exit) : "-",
                                   row->watched ? std::to_string(row->factor_permille) : "-",
                                   limit(row->be_cap_after),
                                   fmt::format("{:.1f} ms", row->use.ls_p99_ms),
                                   slowdown_text(row->be_slowdown_percent),
                                   fmt::format("{:.1f} %", row->memory_percent)};
    if (disks) {
      const auto& disk = row->use.disk;
      cells.push_back(mib(disk.be_bytes) + (disk.be_held ? " held" : ""));
      cells.push_back(percent_text(disk.busy_percent));
      cells.push_back(fmt::format("{:.2f} ms", disk.ls_read_p99_ms));
    }
    table.row(std::move(cells));
  }
  return table.text();
}

std::string claims_table(const SimulationReport& r) {
  const auto rows = verdicts(r);
  if (rows.empty()) return "";
  TextTable table{{{fmt::format("AT {}", sim::time_text(r.scenario.claims->at))},
                   {terminal_text(r.scenario.claims->by), Align::kRight},
                   {"simulated", Align::kRight},
                   {"verdict"}}};
  for (const auto& v : rows) table.row({v.what, v.claimed, v.simulated, v.verdict});
  return "\n" + table.text();
}

void add_disks(const sim::DiskSummary& disk, TextTable& table) {
  const auto part = [&](const char* name, const sim::DiskSummary::Part& p) {
    const auto line = fmt::format("{} in {}: LS read p99 {:.2f} ms at worst, disk {} asked for",
                                  mib(p.mean_be_bytes),
                                  sim::time_text(p.length),
                                  p.worst_read_p99_ms,
                                  percent_text(p.mean_busy_percent));
    table.row({name, p.length.count() > 0 ? line : "-"});
  };
  part("BE on disk before a limit", disk.free);
  part("BE on disk under a limit", disk.held);
  table.row({"disk, longest from step to cap",
             disk.step_to_cap ? sim::time_text(*disk.step_to_cap) : "-"});
}

std::string summary_text(const SimulationReport& r) {
  const auto& s = r.summary;
  TextTable table{{{"SUMMARY"}, {fmt::format("{} watched", sim::time_text(s.length))}}};
  const auto counted = [](int n, double hourly) {
    return fmt::format("{}, {:.1f} an hour", n, hourly);
  };
  table.row({"flips of the level", counted(s.flips, s.flips_per_hour)});
  table.row({"changes of the level", std::to_string(s.level_changes)});
  table.row({"cuts", counted(s.cuts, s.cuts_per_hour)});
  table.row(
      {fmt::format("time at or over {} %", r.high_percent), percent_text(s.percent_over_high)});
  table.row({"longest from step to cap", s.step_to_cap ? sim::time_text(*s.step_to_cap) : "-"});
  table.row({"mean use", percent_text(s.mean_use_percent)});
  table.row({"mean LS, BE use",
             fmt::format("{}, {} cores", cores(s.mean_ls_used), cores(s.mean_be_used))});
  table.row({"LS p99",
             fmt::format("mean {:.1f} ms, worst {:.1f} ms", s.mean_ls_p99_ms, s.max_ls_p99_ms)});
  table.row({"BE slower, mean", slowdown_text(s.mean_be_slowdown_percent)});
  table.row({"most memory in use", percent_text(s.max_memory_percent)});
  if (s.out_of_memory.count() > 0) table.row({"out of memory", sim::time_text(s.out_of_memory)});
  if (!r.scenario.disks.empty()) add_disks(s.disk, table);
  if (r.timeline.reclaims > 0) {
    table.row({"memory.reclaim",
               fmt::format("{} times, {:.1f} MiB taken",
                           r.timeline.reclaims,
                           static_cast<double>(r.timeline.reclaimed.v) / kMib)});
  }
  table.row({"cgroup writes",
             fmt::format("{}, refused {}", r.timeline.writes, r.timeline.refused_writes)});
  table.row({"evictions", std::to_string(r.timeline.evictions.size())});
  return table.text();
}

}  // namespace

std::string simulation_text(const SimulationReport& r) {
  std::string out = terminal_text(r.file);
  if (!r.scenario.about.empty()) out += ": " + terminal_text(r.scenario.about);
  out += "\n\n" + timeline_table(r) + "\n" + summary_text(r) + claims_table(r);
  for (const auto& e : r.timeline.evictions) {
    out += fmt::format("\nat {}: evicted {}: {}\n",
                       sim::time_text(e.at),
                       terminal_text(e.pod),
                       terminal_text(e.reason));
  }
  for (const auto& line : r.timeline.refusals) {
    out += fmt::format("\nrefused: {}\n", terminal_text(line));
  }
  const auto holding = r.scenario.expectations.size();
  out += r.broken.empty()
             ? fmt::format("\nevery expectation and limit holds ({} moments)\n", holding)
             : fmt::format("\n{} expectations or limits do not hold\n", r.broken.size());
  return out;
}

}  // namespace koordlet::app
