#include <fmt/format.h>

#include "app/json_path.hpp"
#include "app/render.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
constexpr auto kRight = TextTable::Align::kRight;

/// A bound is a number, the word "max", or not known.
std::string limit_text(const json::value& root, std::string_view path) {
  const auto milli = json_integer(root, path);
  return milli ? cores_text(milli) : json_text(root, path);
}

std::string full_name(const json::value& pod) {
  return fmt::format("{}/{}", json_text(pod, "namespace"), json_text(pod, "name"));
}

std::string list(std::string_view title, const json::array& items) {
  if (items.empty()) return "";
  std::string out = fmt::format("\n{}:\n", title);
  for (const auto& item : items) out += fmt::format("  {}\n", json_text(item, ""));
  return out;
}

std::string section(std::string_view title, const TextTable& table) {
  return table.empty() ? "" : fmt::format("\n{}:\n{}", title, table.text("  "));
}

TextTable held_table(const json::array& files) {
  TextTable table(
      {{"cgroup"}, {"file"}, {"value"}, {"kernel"}, {"original"}, {"for"}, {"by"}, {"why"}});
  for (const auto& f : files) {
    std::string why = json_text(f, "reason");
    if (json_bool(f, "contested").value_or(false)) why += " (contested)";
    table.row({json_text(f, "cgroup"),
               json_text(f, "file"),
               json_text(f, "value"),
               json_text(f, "raw"),
               json_text(f, "original"),
               age_text(json_integer(f, "age_ms")),
               json_text(f, "plugin"),
               why});
  }
  return table;
}

TextTable path_table(const json::value& e) {
  TextTable table({{"cgroup"}, {"file"}, {"cores", kRight}, {"raw"}, {"owner"}});
  for (const auto& l : json_array(e, "cpu_path")) {
    table.row({json_text(l, "cgroup"),
               json_text(l, "file"),
               limit_text(l, "limit_milli"),
               json_text(l, "raw"),
               json_text(l, "owner")});
  }
  return table;
}

TextTable wanted_table(const json::value& e) {
  TextTable table({{"cgroup"}, {"file"}, {"value"}, {"by"}, {"why"}});
  for (const auto& w : json_array(e, "wanted")) {
    table.row({json_text(w, "cgroup"),
               json_text(w, "file"),
               json_text(w, "value"),
               json_text(w, "plugin"),
               json_text(w, "reason")});
  }
  return table;
}

TextTable outcome_table(const json::value& e) {
  TextTable table({{"cgroup"}, {"file"}, {"outcome"}, {"value"}, {"error"}});
  for (const auto& o : json_array(e, "outcomes")) {
    table.row({json_text(o, "cgroup"),
               json_text(o, "file"),
               json_text(o, "kind"),
               json_text(o, "value"),
               json_text(o, "error")});
  }
  return table;
}

std::string use_line(const json::value& e) {
  return fmt::format("use          {} cores of {} requested, {} memory, {} throttled ({} old)\n",
                     cores_text(json_integer(e, "pod.cpu_used_milli")),
                     cores_text(json_integer(e, "pod.cpu_request_milli")),
                     bytes_text(json_integer(e, "pod.memory_used_bytes")),
                     permille_text(json_integer(e, "pod.throttled_permille")),
                     age_text(json_integer(e, "pod.sample_age_ms")));
}

std::string limit_line(const json::value& e) {
  const auto* bound = json_at(e, "smallest_cpu_limit");
  if (bound == nullptr || !bound->is_object()) return "limit        none known\n";
  return fmt::format("limit        {} cores by {} of {} (owner {}); {} of it used\n",
                     limit_text(*bound, "limit_milli"),
                     json_text(*bound, "file"),
                     json_text(*bound, "cgroup"),
                     json_text(*bound, "owner"),
                     permille_text(json_integer(e, "use_of_limit_permille")));
}

std::string progress_line(const json::value& e) {
  const auto* p = json_at(e, "pod.progress");
  if (p == nullptr || !p->is_object()) return "";
  const auto wait = json_number(*p, "wait_percent");
  return fmt::format("progress     {} of its request, throttled ratio {}, waiting for a CPU {}{}\n",
                     permille_text(json_integer(*p, "share_permille")),
                     permille_text(json_integer(*p, "throttled_permille")),
                     percent_text(wait),
                     json_bool(*p, "starving").value_or(false) ? "; starving" : "");
}

std::string binding_line(const json::value& e) {
  const auto* b = json_at(e, "binding");
  if (b == nullptr || !b->is_object()) return "";
  return fmt::format("binds first  {} cores at {} ({}), owner {}\n",
                     limit_text(*b, "limit_milli"),
                     json_text(*b, "cgroup"),
                     json_text(*b, "by"),
                     json_text(*b, "owner"));
}

TextTable effect_table(const json::value& e) {
  TextTable table({{"ago", kRight},
                   {"cut"},
                   {"signal"},
                   {"before", kRight},
                   {"after", kRight},
                   {"node before", kRight},
                   {"node after", kRight},
                   {"verdict"}});
  const auto value = [](const json::value& v, std::string_view path) {
    const auto n = json_number(v, path);
    return n ? fmt::format("{:.1f}", *n) : std::string{"-"};
  };
  for (const auto& x : json_array(e, "effects")) {
    table.row({age_text(json_integer(x, "age_ms")),
               json_text(x, "trigger"),
               fmt::format("{} ({})", json_text(x, "signal"), json_text(x, "unit")),
               value(x, "before"),
               value(x, "after"),
               cores_text(json_integer(x, "node_before_milli")),
               cores_text(json_integer(x, "node_after_milli")),
               json_text(x, "verdict", "not yet")});
  }
  return table;
}

TextTable ineffective_table(const json::value& e) {
  TextTable table({{"cgroup"}, {"cap", kRight}, {"used", kRight}, {"cause"}, {"detail"}});
  for (const auto& f : json_array(e, "cap_ineffective")) {
    table.row({json_text(f, "cgroup"),
               cores_text(json_integer(f, "cap_milli")),
               cores_text(json_integer(f, "used_milli")),
               json_text(f, "cause"),
               json_text(f, "detail")});
  }
  return table;
}

TextTable file_table(const json::value& e) {
  TextTable table({{"file of this machine"}, {"content"}});
  for (const auto* list : {"caps", "class_caps"}) {
    for (const auto& f : json_array(e, list))
      table.row({json_text(f, "path"), json_text(f, "raw")});
  }
  return table;
}

std::string milliseconds_text(const json::value& root, std::string_view path) {
  const auto us = json_integer(root, path);
  return us ? fmt::format("{:.2f} ms", static_cast<double>(*us) / 1000) : "-";
}

std::string stall_text(const json::value& e, std::string_view resource) {
  const auto part = [&](std::string_view kind) {
    return percent_text(
        json_number(e, fmt::format("interference.evidence.psi.{}.{}_percent", resource, kind)));
  };
  return fmt::format("{} some, {} full", part("some"), part("full"));
}

TextTable culprit_table(const json::value& e) {
  TextTable table({{"pod"}, {"score", kRight}, {"cores", kRight}, {"windows", kRight}});
  for (const auto& c : json_array(e, "interference.culprits")) {
    table.row({json_text(c, "pod"),
               fmt::format("{:.2f}", json_number(c, "score").value_or(0)),
               cores_text(json_integer(c, "cpu_used_milli")),
               json_text(c, "windows")});
  }
  return table;
}

/// The degree, what it was computed from, and whom it is blamed on.
std::string interference_text(const json::value& e) {
  const auto* i = json_at(e, "interference");
  if (i == nullptr || !i->is_object()) return "";
  std::string missing;
  for (const auto& m : json_array(*i, "missing"))
    missing += (missing.empty() ? "" : ", ") + json_text(m, "");
  std::string out = fmt::format("\ninterference: degree {} ({}{}), {} of it by best effort\n",
                                json_text(*i, "degree"),
                                json_text(*i, "level"),
                                json_bool(*i, "interfered").value_or(false) ? ", interfered" : "",
                                json_text(*i, "be_degree"));
  out += fmt::format("  run queue  {} waited in {}, p95 {}, p99 {}; {} behind best effort\n",
                     milliseconds_text(*i, "evidence.wait_us"),
                     milliseconds_text(*i, "evidence.run_us"),
                     milliseconds_text(*i, "evidence.wait_p95_us"),
                     milliseconds_text(*i, "evidence.wait_p99_us"),
                     milliseconds_text(*i, "evidence.behind_best_effort_us"));
  out += fmt::format("  stalls     cpu {}; memory {}; io {}\n",
                     stall_text(e, "cpu"),
                     stall_text(e, "memory"),
                     stall_text(e, "io"));
  if (!missing.empty()) out += fmt::format("  no signal  {}\n", missing);
  const auto signal = json_text(*i, "culprit_signal", "");
  if (!signal.empty()) out += section("to blame, by " + signal, culprit_table(e));
  return out;
}

TextTable decision_table(const json::value& e) {
  TextTable table(
      {{"ago", TextTable::Align::kRight}, {"what"}, {"where"}, {"from"}, {"to"}, {"who"}, {"why"}});
  for (const auto& d : json_array(e, "decisions")) {
    const auto cgroup = json_text(d, "cgroup", "");
    table.row({age_text(json_integer(d, "age_ms")),
               json_text(d, "kind"),
               cgroup.empty() ? "" : fmt::format("{} {}", cgroup, json_text(d, "file")),
               json_text(d, "before", ""),
               json_text(d, "after", ""),
               json_text(d, "plugin", ""),
               json_text(d, "reason", "")});
  }
  return table;
}

TextTable standing_table(const json::value& e) {
  TextTable table({{"rule"}, {"candidate"}, {"why not"}});
  for (const auto& s : json_array(e, "eviction")) {
    table.row({json_text(s, "plugin"),
               json_bool(s, "candidate").value_or(false) ? "yes" : "no",
               json_text(s, "why_not")});
  }
  return table;
}

}  // namespace

std::string render_pods(const json::value& pods) {
  TextTable table({{"POD"},
                   {"QOS"},
                   {"PHASE"},
                   {"CPU", kRight},
                   {"REQUEST", kRight},
                   {"CAP", kRight},
                   {"BY"},
                   {"MEMORY", kRight},
                   {"THROTTLED", kRight},
                   {"GETS", kRight},
                   {"HURT", kRight},
                   {"SAMPLE", kRight},
                   {"UID"}});
  for (const auto& p : json_array(pods, "items")) {
    std::string phase = json_text(p, "phase");
    if (json_bool(p, "terminating").value_or(false)) phase = "Terminating";
    table.row({full_name(p),
               json_text(p, "qos"),
               phase,
               cores_text(json_integer(p, "cpu_used_milli")),
               cores_text(json_integer(p, "cpu_request_milli")),
               limit_text(p, "cpu_cap_milli"),
               json_text(p, "cpu_cap_plugin"),
               bytes_text(json_integer(p, "memory_used_bytes")),
               permille_text(json_integer(p, "throttled_permille")),
               permille_text(json_integer(p, "progress.share_permille")),
               json_text(p, "interference_degree"),
               age_text(json_integer(p, "sample_age_ms")),
               json_text(p, "uid")});
  }
  return table.empty() ? "no pods\n" : table.text();
}

std::string render_explain(const json::value& e) {
  const json::value none;
  const auto* pod = json_at(e, "pod");
  std::string out = fmt::format("pod          {} (uid {})\n",
                                full_name(pod != nullptr ? *pod : none),
                                json_text(e, "pod.uid"));
  out += fmt::format("class        {} (Kubernetes {}), {}\n",
                     json_text(e, "pod.qos"),
                     json_text(e, "pod.kube_qos"),
                     json_text(e, "pod.phase"));
  out += fmt::format("cgroup       {}\n", json_text(e, "pod.cgroup"));
  out += use_line(e);
  out += progress_line(e);
  out += limit_line(e);
  out += binding_line(e);
  out += fmt::format("level        {} for {}; node use {}; factor {}\n",
                     json_text(e, "level.level"),
                     age_text(json_integer(e, "level.age_ms")),
                     percent_text(json_number(e, "level.node_use_percent")),
                     permille_text(json_integer(e, "level.factor_permille")));
  const bool dry_run = json_bool(e, "dry_run").value_or(false);
  const std::string held = dry_run ? "would be held" : "held";
  if (dry_run) out += "dry run      nothing is written\n";
  out += interference_text(e);
  out += section(held + " for this pod", held_table(json_array(e, "caps")));
  out += list("not limited because", json_array(e, "why_no_caps"));
  out += section(held + " for its class", held_table(json_array(e, "class_caps")));
  out += section("files", file_table(e));
  out += section("caps that do not bite", ineffective_table(e));
  out += section("effect of the last cuts", effect_table(e));
  out += section("wanted, not held", wanted_table(e));
  out += section("CPU limits from the pod upwards", path_table(e));
  out += section("eviction", standing_table(e));
  out += section("last outcomes", outcome_table(e));
  out += section("last decisions", decision_table(e));
  out += list("level changes", json_array(e, "level.changes_when"));
  out += list("notes", json_array(e, "notes"));
  return out;
}

}  // namespace koordlet::app
