#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "app/record_replay.hpp"
#include "app/text_table.hpp"
#include "sim/plot.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
using Align = TextTable::Align;
using std::chrono::milliseconds;

constexpr int kRowsWanted = 40;
constexpr std::size_t kMostRows = 2000;

std::string wall_text(WallTime t) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(t));
}

/// Every so much time, and where the level changes or the two begin to differ or to agree.
std::vector<const RecordingRow*> shown_rows(const std::vector<RecordingRow>& rows) {
  const auto every = std::max(rows.back().at / kRowsWanted, milliseconds{1000});
  std::vector<const RecordingRow*> out;
  milliseconds due{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& r = rows[i];
    const bool news = i > 0 && (r.recorded.level != rows[i - 1].recorded.level ||
                                r.replayed.level != rows[i - 1].replayed.level ||
                                r.same != rows[i - 1].same || r.gap);
    if (r.at < due && !news && i + 1 < rows.size()) continue;
    if (r.at >= due) due = r.at / every * every + every;
    if (out.size() < kMostRows || i + 1 == rows.size()) out.push_back(&r);
  }
  return out;
}

std::optional<double> use_percent(const RecordingRow& r) {
  if (!r.node_used || r.capacity.v <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(r.node_used->v) / static_cast<double>(r.capacity.v);
}

std::optional<std::int64_t> milli(const std::optional<MilliCpu>& v) {
  return v ? std::optional{v->v} : std::nullopt;
}

std::string verdict(const RecordingRow& r) {
  return fmt::format("{}{}", r.same ? "same" : "DIFFERS", r.gap ? ", after a gap" : "");
}

std::string table_text(const RecordingReport& report) {
  TextTable table{{{"TIME", Align::kRight},
                   {"NODE", Align::kRight},
                   {"LS USED", Align::kRight},
                   {"BE USED", Align::kRight},
                   {"BE CAP", Align::kRight},
                   {"LEVEL"},
                   {"FACTOR", Align::kRight},
                   {"FILES", Align::kRight},
                   {"REPLAYED"},
                   {"FACTOR", Align::kRight},
                   {"FILES", Align::kRight},
                   {"COMPARED"}}};
  for (const auto* r : shown_rows(report.rows)) {
    const auto percent = use_percent(*r);
    table.row({sim::time_text(r->at),
               percent ? fmt::format("{:.2f} %", *percent) : "-",
               cores_text(milli(r->ls_used)),
               cores_text(milli(r->be_used)),
               r->be_cap ? cores_text(r->be_cap->v) : "none",
               std::string{policy::to_string(r->recorded.level)},
               std::to_string(r->recorded.factor_permille),
               std::to_string(r->recorded.wishes),
               std::string{policy::to_string(r->replayed.level)},
               std::to_string(r->replayed.factor_permille),
               std::to_string(r->replayed.wishes),
               verdict(*r)});
  }
  return table.text();
}

json::value number(const std::optional<std::int64_t>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

json::object decision_json(const TickDecision& d) {
  json::array evictions;
  for (const auto& uid : d.evictions) evictions.emplace_back(terminal_text(uid));
  return {{"level", policy::to_string(d.level)},
          {"factor_permille", d.factor_permille},
          {"below_exit", d.below_exit},
          {"be_root_cap_milli", d.root_cap.v},
          {"files", d.wishes},
          {"evictions", std::move(evictions)}};
}

json::array lines_json(const std::vector<std::string>& lines) {
  json::array out;
  for (const auto& line : lines) out.emplace_back(terminal_text(line));
  return out;
}

}  // namespace

std::string recording_text(const RecordingReport& r) {
  const auto& rows = r.rows;
  std::string out = fmt::format("{}: node {}, koordlet {}, {} to {}\n",
                                terminal_text(r.source),
                                r.node.empty() ? "unknown" : terminal_text(r.node),
                                terminal_text(r.version),
                                wall_text(rows.front().wall),
                                wall_text(rows.back().wall));
  out += fmt::format(
      "{} ticks, {} segments, {} runs, {} gaps{}\n\n",
      rows.size(),
      r.segments,
      r.runs,
      r.gaps,
      r.torn_bytes > 0 ? fmt::format(", {} bytes of a torn frame passed over", r.torn_bytes) : "");
  out += table_text(r);
  out += fmt::format("\n{} of {} ticks differ; victims named: recorded {}, replayed {}\n",
                     r.different,
                     rows.size(),
                     r.recorded_evictions,
                     r.replayed_evictions);
  if (!r.first) return out;
  out += fmt::format("first at {} ({}):\n", sim::time_text(r.first->at), wall_text(r.first->wall));
  for (const auto& line : r.first->lines) out += fmt::format("  {}\n", terminal_text(line));
  return out;
}

std::string recording_json(const RecordingReport& r) {
  json::array rows;
  for (const auto* row : shown_rows(r.rows)) {
    rows.emplace_back(json::object{{"time", wall_text(row->wall)},
                                   {"at_ms", row->at.count()},
                                   {"node_used_milli", number(milli(row->node_used))},
                                   {"ls_used_milli", number(milli(row->ls_used))},
                                   {"be_used_milli", number(milli(row->be_used))},
                                   {"be_cap_milli", number(milli(row->be_cap))},
                                   {"recorded", decision_json(row->recorded)},
                                   {"replayed", decision_json(row->replayed)},
                                   {"same", row->same},
                                   {"gap", row->gap}});
  }
  json::object out{{"source", terminal_text(r.source)},
                   {"node", terminal_text(r.node)},
                   {"version", terminal_text(r.version)},
                   {"from", wall_text(r.rows.front().wall)},
                   {"to", wall_text(r.rows.back().wall)},
                   {"ticks", r.rows.size()},
                   {"different", r.different},
                   {"segments", r.segments},
                   {"runs", r.runs},
                   {"gaps", r.gaps},
                   {"torn_bytes", r.torn_bytes},
                   {"recorded_evictions", r.recorded_evictions},
                   {"replayed_evictions", r.replayed_evictions},
                   {"first_difference", nullptr},
                   {"rows", std::move(rows)}};
  if (r.first) {
    out["first_difference"] = json::object{{"time", wall_text(r.first->wall)},
                                           {"at_ms", r.first->at.count()},
                                           {"lines", lines_json(r.first->lines)}};
  }
  return json::serialize(out) + "\n";
}

std::string recording_svg(const RecordingReport& r) {
  const auto cores = [](const std::optional<MilliCpu>& v) {
    return static_cast<double>(v.value_or(MilliCpu{}).v) / 1000;
  };
  sim::Scenario scenario;
  scenario.node.cpus = 1;
  scenario.duration = std::max(r.rows.back().at, milliseconds{1000});
  sim::Timeline timeline;
  for (const auto& row : r.rows) {
    scenario.node.cpus =
        std::max(scenario.node.cpus, static_cast<int>((row.capacity.v + 999) / 1000));
    if (!timeline.rows.empty()) timeline.rows.back().length = row.at - timeline.rows.back().at;
    sim::Row out;
    out.at = row.at;
    out.watched = row.known;
    out.level = row.replayed.level;
    out.use.ls_used = cores(row.ls_used);
    out.use.be_used = cores(row.be_used);
    if (row.be_cap) out.use.be_cap = cores(row.be_cap);
    timeline.rows.push_back(std::move(out));
  }
  return sim::plot_svg(scenario, timeline, fmt::format("{}: levels as replayed", r.source), true);
}

}  // namespace koordlet::app
