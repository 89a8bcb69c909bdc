#include "app/simulate_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace koordlet::app {
namespace {

using sim::milliseconds;
using sim::Row;

constexpr int kRowsWanted = 40;
constexpr std::size_t kMostRows = 2000;

}  // namespace

std::string percent_text(double v) { return fmt::format("{:.2f} %", v); }
std::string slowdown_text(double v) { return fmt::format("{:+.1f} %", v); }

std::vector<const Row*> shown_rows(const SimulationReport& r) {
  const auto& scenario = r.scenario;
  const auto& rows = r.timeline.rows;
  auto every = scenario.table_every;
  if (every.count() == 0) every = scenario.duration / kRowsWanted;
  std::vector<const Row*> out;
  milliseconds due{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool level =
        i > 0 && (rows[i].level != rows[i - 1].level || rows[i].watched != rows[i - 1].watched ||
                  rows[i].use.disk.be_held != rows[i - 1].use.disk.be_held);
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
  add("BE slowdown", claims.be_slowdown_percent, row->be_slowdown_percent, true, slowdown_text);
  add("utilisation", claims.use_percent, row->use_percent, false, percent_text);
  return out;
}

}  // namespace koordlet::app
