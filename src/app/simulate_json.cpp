#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/simulate_rows.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
using sim::milliseconds;
using sim::Row;

/// A braced json::value would be an array.
template <class T>
json::value known(bool is, T v) {
  return is ? json::value(v) : json::value(nullptr);
}

double seconds(milliseconds t) { return static_cast<double>(t.count()) / 1000; }

json::object row_json(const Row& row) {
  json::object out{{"at_s", seconds(row.at)},
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

void add_disks(const Row& row, json::object& out) {
  const auto& disk = row.use.disk;
  out["ls_read_p99_ms"] = disk.ls_read_p99_ms;
  out["ls_disk_bytes_per_second"] = disk.ls_bytes;
  out["be_disk_bytes_per_second"] = disk.be_bytes;
  out["disk_busy_percent"] = disk.busy_percent;
  out["be_disk_held"] = disk.be_held;
}

/// null: there was no such time.
json::value part_json(const sim::DiskSummary::Part& part) {
  if (part.length.count() == 0) return nullptr;
  return json::object{{"length_s", seconds(part.length)},
                      {"worst_ls_read_p99_ms", part.worst_read_p99_ms},
                      {"mean_be_bytes_per_second", part.mean_be_bytes},
                      {"mean_busy_percent", part.mean_busy_percent}};
}

json::object disk_json(const sim::DiskSummary& disk) {
  json::object out{{"worst_ls_read_p99_ms", disk.worst_read_p99_ms}};
  out["free"] = part_json(disk.free);
  out["held"] = part_json(disk.held);
  out["step_to_cap_s"] =
      known(disk.step_to_cap.has_value(), seconds(disk.step_to_cap.value_or(milliseconds{0})));
  return out;
}

json::object summary_json(const SimulationReport& r) {
  const auto& s = r.summary;
  json::object out{{"watched_s", seconds(s.length)},
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
                   {"out_of_memory_s", seconds(s.out_of_memory)},
                   {"reclaims", r.timeline.reclaims},
                   {"reclaimed_bytes", r.timeline.reclaimed.v},
                   {"writes", r.timeline.writes},
                   {"refused_writes", r.timeline.refused_writes}};
  const auto step = s.step_to_cap.value_or(milliseconds{0});
  out["step_to_cap_s"] = known(s.step_to_cap.has_value(), seconds(step));
  if (!r.scenario.disks.empty()) out["disk"] = disk_json(s.disk);
  return out;
}

}  // namespace

std::string simulation_json(const SimulationReport& r) {
  json::array rows, evictions, claims, refusals, broken;
  for (const Row* row : shown_rows(r)) {
    auto object = row_json(*row);
    if (!r.scenario.disks.empty()) add_disks(*row, object);
    rows.push_back(std::move(object));
  }
  for (const auto& e : r.timeline.evictions) {
    evictions.push_back(
        json::object{{"at_s", seconds(e.at)}, {"pod", e.pod}, {"reason", e.reason}});
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
