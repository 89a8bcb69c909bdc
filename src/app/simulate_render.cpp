#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/simulate_command.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
using Align = TextTable::Align;
using sim::milliseconds;
using sim::Row;

constexpr int kRowsWanted = 40;
constexpr std::size_t kMostRows = 2000;

/// Every so much time, and where something happens.
std::vector<const Row*> shown_rows(const SimulationReport& r) {
  const auto& scenario = r.scenario;
  const auto& rows = r.timeline.rows;
  auto every = scenario.table_every;
  if (every.count() == 0) every = scenario.duration / kRowsWanted;
  std::vector<const Row*> out;
  milliseconds due{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool level =
        i > 0 && (rows[i].level != rows[i - 1].level || rows[i].watched != rows[i - 1].watched);
    const auto at = rows[i].at;
    const bool looked_at = (scenario.claims && scenario.claims->at == at) ||
                           std::any_of(scenario.expectations.begin(),
                                       scenario.expectations.end(),
                                       [&](const auto& e) { return e.at == at; }) ||
                           std::any_of(r.timeline.evictions.begin(),
                                       r.timeline.evictions.end(),
                                       [&](const auto& e) { return e.at == at; });
    if (at < due && !level && !looked_at && i + 1 < rows.size()) continue;
    if (at >= due) due = at / every * every + every;
    if (out.size() < kMostRows || i + 1 == rows.size()) out.push_back(&rows[i]);
  }
  return out;
}

std::string cores(double v) { return fmt::format("{:.1f}", v); }
std::string percent(double v) { return fmt::format("{:.2f} %", v); }
std::string limit(std::optional<double> v) { return v ? cores(*v) : "none"; }

std::string slowdown(double v) { return fmt::format("{:+.1f} %", v); }

std::string timeline_table(const SimulationReport& r) {
  TextTable table{{{"TIME", Align::kRight},
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
                   {"MEMORY", Align::kRight}}};
  for (const Row* row : shown_rows(r)) {
    table.row({sim::time_text(row->at),
               cores(row->use.ls_demand),
               cores(row->use.ls_used),
               cores(row->use.be_used),
               percent(row->use_percent),
               row->watched ? std::string{policy::to_string(row->level)} : "-",
               row->watched ? std::to_string(row->below_exit) : "-",
               row->watched ? std::to_string(row->factor_permille) : "-",
               limit(row->be_cap_after),
               fmt::format("{:.1f} ms", row->use.ls_p99_ms),
               slowdown(row->be_slowdown_percent),
               fmt::format("{:.1f} %", row->memory_percent)});
  }
  return table.text();
}

struct Verdict {
  std::string what, claimed, simulated, verdict;
};

/// What somebody said of one moment beside what came out. A claim is met when the figure is as good
/// or better.
std::vector<Verdict> verdicts(const SimulationReport& r) {
  std::vector<Verdict> out;
  if (!r.scenario.claims) return out;
  const auto& claims = *r.scenario.claims;
  const auto row = std::find_if(r.timeline.rows.begin(), r.timeline.rows.end(), [&](const Row& x) {
    return x.at == claims.at;
  });
  if (row == r.timeline.rows.end()) return out;
  const auto add = [&](std::string what,
                       std::optional<double> claimed,
                       double got,
                       bool less_is_good,
                       auto text) {
    if (!claimed) return;
    const bool met = less_is_good ? got <= *claimed + 0.05 : got >= *claimed - 0.05;
    out.push_back({std::move(what),
                   text(*claimed),
                   text(got),
                   met ? "met" : fmt::format("not met: the rule gives {}", text(got))});
  };
  const auto ms = [](double v) { return fmt::format("{:.1f} ms", v); };
  add("LS p99", claims.ls_p99_ms, row->use.ls_p99_ms, true, ms);
  add("BE slowdown", claims.be_slowdown_percent, row->be_slowdown_percent, true, slowdown);
  add("utilisation", claims.use_percent, row->use_percent, false, percent);
  return out;
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

std::string summary_text(const SimulationReport& r) {
  const auto& s = r.summary;
  TextTable table{{{"SUMMARY"}, {fmt::format("{} watched", sim::time_text(s.length))}}};
  const auto counted = [](int n, double hourly) {
    return fmt::format("{}, {:.1f} an hour", n, hourly);
  };
  table.row({"flips of the level", counted(s.flips, s.flips_per_hour)});
  table.row({"changes of the level", std::to_string(s.level_changes)});
  table.row({"cuts", counted(s.cuts, s.cuts_per_hour)});
  table.row({fmt::format("time at or over {} %", r.high_percent), percent(s.percent_over_high)});
  table.row({"longest from step to cap", s.step_to_cap ? sim::time_text(*s.step_to_cap) : "-"});
  table.row({"mean use", percent(s.mean_use_percent)});
  table.row({"mean LS, BE use",
             fmt::format("{}, {} cores", cores(s.mean_ls_used), cores(s.mean_be_used))});
  table.row({"LS p99",
             fmt::format("mean {:.1f} ms, worst {:.1f} ms", s.mean_ls_p99_ms, s.max_ls_p99_ms)});
  table.row({"BE slower, mean", slowdown(s.mean_be_slowdown_percent)});
  table.row({"most memory in use", percent(s.max_memory_percent)});
  if (s.out_of_memory.count() > 0) table.row({"out of memory", sim::time_text(s.out_of_memory)});
  table.row({"cgroup writes",
             fmt::format("{}, refused {}", r.timeline.writes, r.timeline.refused_writes)});
  table.row({"evictions", std::to_string(r.timeline.evictions.size())});
  return table.text();
}

/// A braced json::value would be an array.
template <class T>
json::value known(bool is, T v) {
  return is ? json::value(v) : json::value(nullptr);
}

json::object row_json(const Row& row) {
  json::object out{{"at_s", static_cast<double>(row.at.count()) / 1000},
                   {"ls_demand", row.use.ls_demand},
                   {"ls_used", row.use.ls_used},
                   {"be_demand", row.use.be_demand},
                   {"be_used", row.use.be_used},
                   {"system", row.use.system},
                   {"use_percent", row.use_percent},
                   {"memory_percent", row.memory_percent},
                   {"ls_p99_ms", row.use.ls_p99_ms},
                   {"be_slowdown_percent", row.be_slowdown_percent},
                   {"be_pods", row.use.be_pods}};
  out["be_cap"] = known(row.be_cap_after.has_value(), row.be_cap_after.value_or(0));
  out["level"] = known(row.watched, policy::to_string(row.level));
  out["factor_permille"] = known(row.watched, row.factor_permille);
  out["below_exit"] = known(row.watched, row.below_exit);
  return out;
}

json::object summary_json(const SimulationReport& r) {
  const auto& s = r.summary;
  json::object out{{"watched_s", static_cast<double>(s.length.count()) / 1000},
                   {"flips", s.flips},
                   {"flips_per_hour", s.flips_per_hour},
                   {"level_changes", s.level_changes},
                   {"cuts", s.cuts},
                   {"cuts_per_hour", s.cuts_per_hour},
                   {"percent_over_high", s.percent_over_high},
                   {"mean_use_percent", s.mean_use_percent},
                   {"mean_ls_used", s.mean_ls_used},
                   {"mean_be_used", s.mean_be_used},
                   {"mean_ls_p99_ms", s.mean_ls_p99_ms},
                   {"max_ls_p99_ms", s.max_ls_p99_ms},
                   {"mean_be_slowdown_percent", s.mean_be_slowdown_percent},
                   {"max_memory_percent", s.max_memory_percent},
                   {"out_of_memory_s", static_cast<double>(s.out_of_memory.count()) / 1000},
                   {"writes", r.timeline.writes},
                   {"refused_writes", r.timeline.refused_writes}};
  const auto step = s.step_to_cap.value_or(milliseconds{0});
  out["step_to_cap_s"] = known(s.step_to_cap.has_value(), static_cast<double>(step.count()) / 1000);
  return out;
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

std::string simulation_json(const SimulationReport& r) {
  json::array rows, evictions, claims, refusals, broken;
  for (const Row* row : shown_rows(r)) rows.push_back(row_json(*row));
  for (const auto& e : r.timeline.evictions) {
    evictions.push_back(json::object{
        {"at_s", static_cast<double>(e.at.count()) / 1000}, {"pod", e.pod}, {"reason", e.reason}});
  }
  for (const auto& v : verdicts(r)) {
    claims.push_back(json::object{{"what", v.what},
                                  {"claimed", v.claimed},
                                  {"simulated", v.simulated},
                                  {"verdict", v.verdict}});
  }
  for (const auto& line : r.timeline.refusals) refusals.emplace_back(line);
  for (const auto& line : r.broken) broken.emplace_back(line);
  json::object out{{"file", terminal_text(r.file)},
                   {"about", terminal_text(r.scenario.about)},
                   {"ok", r.broken.empty()},
                   {"broken", std::move(broken)},
                   {"summary", summary_json(r)},
                   {"claims", std::move(claims)},
                   {"evictions", std::move(evictions)},
                   {"refusals", std::move(refusals)},
                   {"rows", std::move(rows)}};
  return json::serialize(out) + "\n";
}

}  // namespace koordlet::app
