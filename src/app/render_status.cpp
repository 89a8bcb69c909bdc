#include <fmt/format.h>

#include "app/json_path.hpp"
#include "app/render.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;

std::string count(const json::value& root, std::string_view path) { return json_text(root, path); }

std::string yes_no(std::optional<bool> b) { return !b ? "-" : *b ? "yes" : "no"; }

class Lines {
 public:
  void add(std::string_view name, std::string_view text) {
    out_ += fmt::format("{:<13} {}\n", name, text);
  }
  void list(std::string_view name, const json::array& items) {
    if (items.empty()) return;
    out_ += fmt::format("{}:\n", name);
    for (const auto& item : items) out_ += fmt::format("  {}\n", json_text(item, ""));
  }
  void table(std::string_view name, const TextTable& table) {
    if (!table.empty()) out_ += fmt::format("{}:\n{}", name, table.text("  "));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string level_line(const json::value& s) {
  if (json_bool(s, "qos.off").value_or(false)) {
    return "off: nothing is limited (NodeSLO enable = false, or no NodeSLO and without_nodeslo = "
           "\"off\")";
  }
  return fmt::format("{} for {}; node use {}; factor {}",
                     json_text(s, "qos.level"),
                     age_text(json_integer(s, "qos.level_age_ms")),
                     percent_text(json_number(s, "qos.node_use_percent")),
                     permille_text(json_integer(s, "qos.factor_permille")));
}

void add_cpu(const json::value& s, Lines& out) {
  const auto cores = [&](std::string_view name) {
    return cores_text(json_integer(s, fmt::format("cpu_milli.{}", name)));
  };
  out.add("cpu",
          fmt::format("{} of {} cores used: LS {}, BE {}, system {}, host applications {}",
                      cores("node_used"),
                      cores("capacity"),
                      cores("ls_used"),
                      cores("be_used"),
                      cores("system_used"),
                      cores("host_apps_used")));
  out.add("BE-root cap",
          fmt::format("{} cores", cores_text(json_integer(s, "qos.be_root_cap_milli"))));
  out.add("memory",
          fmt::format("{} of {} used",
                      bytes_text(json_integer(s, "memory_bytes.used")),
                      bytes_text(json_integer(s, "memory_bytes.total"))));
}

/// Whether the last cut helped, which caps do not bite, and who starves.
void add_caps(const json::value& s, Lines& out) {
  if (const auto* e = json_at(s, "effect"); e != nullptr && e->is_object()) {
    out.add("effect",
            fmt::format("{}, {} ago: {}{}",
                        json_text(*e, "trigger"),
                        age_text(json_integer(*e, "age_ms")),
                        json_text(*e, "verdict", "not judged yet"),
                        json_text(*e, "why", "").empty() ? "" : "; " + json_text(*e, "why")));
  }
  for (const auto& f : json_array(s, "cap_ineffective")) {
    out.add("cap no bite",
            fmt::format("{}: {} cores used, cap {}: {}: {}",
                        json_text(f, "cgroup"),
                        cores_text(json_integer(f, "used_milli")),
                        cores_text(json_integer(f, "cap_milli")),
                        json_text(f, "cause"),
                        json_text(f, "detail")));
  }
  const auto why = json_text(s, "starvation.why", "");
  if (!why.empty()) out.add("starvation", why);
}

void add_interference(const json::value& s, Lines& out) {
  if (!json_bool(s, "interference.enabled").value_or(false)) return;
  const auto* node = json_at(s, "interference.node");
  if (node == nullptr || !node->is_object()) {
    out.add("interference", "no window yet");
  } else {
    out.add("interference",
            fmt::format("degree {}, {} of it by best effort; worst pod {}, most by {}{}",
                        json_text(*node, "degree"),
                        json_text(*node, "be_degree"),
                        json_text(*node, "pod"),
                        json_text(*node, "top"),
                        json_bool(*node, "interfered").value_or(false) ? "; interfered" : ""));
  }
  const auto source = [&](std::string_view name) {
    const auto why = json_text(s, fmt::format("interference.{}.why_not_better", name), "");
    return json_text(s, fmt::format("interference.{}.source", name)) +
           (why.empty() ? "" : fmt::format(" ({})", why));
  };
  out.add("run queue", source("run_queue"));
  out.add("counters", source("counters"));
  const auto perf = json_text(s, "interference.perf.why_not", "");
  out.add("cpi", perf.empty() ? "measured" : "not measured: " + perf);
}

void add_counts(const json::value& s, Lines& out) {
  out.add("pods",
          fmt::format("{} known, {} active, {} best effort",
                      count(s, "pods.total"),
                      count(s, "pods.active"),
                      count(s, "pods.best_effort")));
  const bool dry_run = json_bool(s, "qos.dry_run").value_or(false);
  const auto held = count(s, "files.held");
  out.add("files",
          fmt::format("{}, {} contested, {} refused; since start {} refused, {} foreign writes",
                      dry_run ? fmt::format("would hold {}", held) : fmt::format("{} held", held),
                      count(s, "files.contested"),
                      count(s, "files.refused"),
                      count(s, "files.refused_total"),
                      count(s, "files.foreign_writes_total")));
  out.add("decisions",
          fmt::format("{} ticks, {} level changes, {} missed",
                      count(s, "qos.ticks"),
                      count(s, "qos.level_changes"),
                      count(s, "loop.missed_ticks")));
}

/// The rules that are on; whoever lacks nothing has no reason.
TextTable eviction_table(const json::value& s) {
  TextTable table({{"rule"}, {"phase"}, {"candidates", TextTable::Align::kRight}, {"why"}});
  for (const auto& r : json_array(s, "eviction.rules")) {
    const auto phase = json_text(r, "phase");
    if (phase == "off") continue;
    table.row({json_text(r, "plugin"),
               phase,
               fmt::format("{}", json_integer(r, "candidates").value_or(0)),
               json_text(r, "why")});
  }
  return table;
}

void add_history(const json::value& s, Lines& out) {
  const auto* history = json_at(s, "history");
  if (history == nullptr || !history->is_object()) {
    out.add("history", "-");
    return;
  }
  const auto& h = *history;
  out.add("history",
          fmt::format("{} series: {} rows, {} seals of {} samples, {} minutes rolled up; {} of {}",
                      count(h, "series"),
                      count(h, "rows"),
                      count(h, "seals"),
                      count(h, "sealed_samples"),
                      count(h, "rolled_minutes"),
                      bytes_text(json_integer(h, "used_bytes")),
                      bytes_text(json_integer(h, "map_bytes"))));
  out.add("history lost",
          fmt::format("{} rows of a full store, {} batches of a full queue, {} damaged, {} samples "
                      "of names too long",
                      count(h, "dropped_rows"),
                      count(h, "dropped_batches"),
                      count(h, "damaged_rows"),
                      count(h, "refused_samples")));
}

void add_recorder(const json::value& s, Lines& out) {
  const auto* recorder = json_at(s, "recorder");
  if (recorder == nullptr || !recorder->is_object()) return out.add("recorder", "off");
  const auto fault = json_text(*recorder, "fault", "");
  out.add("recorder",
          fmt::format("{} of {} since {}, {} ticks dropped{}{}",
                      bytes_text(json_integer(*recorder, "bytes")),
                      bytes_text(json_integer(*recorder, "size_bytes")),
                      json_text(*recorder, "oldest"),
                      count(*recorder, "dropped_ticks"),
                      fault.empty() ? "" : "; fails: ",
                      fault));
}

void add_hooks(const json::value& s, Lines& out) {
  const auto* hooks = json_at(s, "hooks");
  if (hooks == nullptr || !hooks->is_object()) return out.add("hooks", "off");
  const auto why = json_text(*hooks, "why", "");
  const auto failure = json_text(*hooks, "last_failure", "");
  out.add("hooks",
          fmt::format("NRI {}{}{}: {} containers given values, {} repaired, {} failures{}{}",
                      json_text(*hooks, "state"),
                      why.empty() ? "" : ", ",
                      why,
                      count(*hooks, "created"),
                      count(*hooks, "repaired"),
                      count(*hooks, "failures"),
                      failure.empty() ? "" : "; last: ",
                      failure));
}

TextTable input_table(const json::value& s) {
  TextTable table({{"input"}, {"age", TextTable::Align::kRight}, {"stale"}});
  for (const auto& i : json_array(s, "inputs")) {
    table.row(
        {json_text(i, "name"), age_text(json_integer(i, "age_ms")), yes_no(json_bool(i, "stale"))});
  }
  return table;
}

/// "unsupported: why" or "failed: why"; a page of an older daemon has no state.
std::string why_not(const json::value& source) {
  const auto fault = json_text(source, "fault", "");
  if (fault.empty()) return "-";
  return fmt::format("{}: {}", json_text(source, "state", "failed"), fault);
}

TextTable source_table(const json::value& s) {
  TextTable table({{"source"}, {"ok"}, {"last ok", TextTable::Align::kRight}, {"why not"}});
  for (const auto& i : json_array(s, "sources")) {
    table.row({json_text(i, "name"),
               yes_no(json_bool(i, "ok")),
               age_text(json_integer(i, "last_ok_age_ms")),
               why_not(i)});
  }
  return table;
}

}  // namespace

std::string render_status(const json::value& s) {
  Lines out;
  out.add("koordlet",
          fmt::format("{} on {}, up {}, cgroup {} ({})",
                      json_text(s, "version"),
                      json_text(s, "node"),
                      age_text(json_integer(s, "uptime_ms")),
                      json_text(s, "cgroup.version"),
                      json_text(s, "cgroup.driver", "driver not known yet")));
  out.add("ready", yes_no(json_bool(s, "ready")));
  out.list("not ready", json_array(s, "not_ready"));
  out.add("level", level_line(s));
  const std::string stale = json_text(s, "qos.stale", "");
  if (!stale.empty()) out.add("stale", stale + ": caps hold, nothing relaxes");
  if (json_bool(s, "qos.dry_run").value_or(false)) out.add("dry run", "nothing is written");
  out.add("profile", json_text(s, "qos.profile"));
  add_cpu(s, out);
  add_caps(s, out);
  add_interference(s, out);
  add_counts(s, out);
  add_history(s, out);
  add_recorder(s, out);
  add_hooks(s, out);
  out.table("eviction", eviction_table(s));
  out.table("inputs", input_table(s));
  out.table("sources", source_table(s));
  out.list("refused inputs", json_array(s, "faults"));
  const auto total = json_integer(s, "faults_total").value_or(0);
  const auto shown = static_cast<std::int64_t>(json_array(s, "faults").size());
  std::string text = out.take();
  if (total > shown) text += fmt::format("  ... and {} more\n", total - shown);
  return text;
}

}  // namespace koordlet::app
