#include "modules/status_api/caps_json.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/be_progress.hpp"

namespace koordlet::status_api {
namespace {

json::value number(const std::optional<double>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

json::value pod_name(const StatusView& view, const std::string& uid) {
  const Pod* pod = view.state ? find_pod(*view.state, uid) : nullptr;
  return pod != nullptr ? text_value(full_name(*pod), {}) : text_or_null(uid);
}

json::object change_json(const StatusView& view, const policy::SignalChange& c) {
  return {{"signal", to_string(c.signal)},
          {"unit", unit_of(c.signal)},
          {"pod", pod_name(view, c.uid)},
          {"before", number(c.before)},
          {"after", number(c.after)}};
}

json::object effect_json(const StatusView& view, const policy::CapEffect& e) {
  json::array signals;
  for (const auto& change : e.signals) signals.emplace_back(change_json(view, change));
  const auto end = e.verdict ? e.judged_at : view.now;
  json::object out{
      {"trigger", text_value(e.trigger, {})},
      {"since", wall_of(view, e.since)},
      {"age_ms", age_ms(view, e.since)},
      {"seconds", std::chrono::duration_cast<std::chrono::seconds>(end - e.since).count()},
      {"signal", nullptr},
      {"unit", nullptr},
      {"pod", nullptr},
      {"before", nullptr},
      {"after", nullptr}};
  if (e.lead) {
    for (const auto& [key, value] : change_json(view, *e.lead)) out[key] = value;
  }
  out["node_before_milli"] = quantity(e.node_before);
  out["node_after_milli"] = quantity(e.node_after);
  out["verdict"] = e.verdict ? json::value(to_string(*e.verdict)) : json::value(nullptr);
  out["why"] = text_or_null(e.why);
  out["signals"] = std::move(signals);
  return out;
}

std::optional<std::int64_t> sum_of_containers(const StatusView& view,
                                              const HeldIndex& held,
                                              const Pod& pod) {
  std::int64_t sum = 0;
  bool any = false;
  for (const auto& c : pod.containers) {
    if (!c.running) continue;
    if (!c.cgroup) return std::nullopt;
    std::optional<std::int64_t> milli;
    if (const auto* file = held.find({*c.cgroup, CgroupFile::kCpuMax}); file != nullptr) {
      const auto value = parse_cgroup_value(CgroupFile::kCpuMax, file->raw);
      if (value) milli = milli_of(std::get<CpuMax>(*value));
    } else if (view.read_cpu_max) {
      if (const auto read = view.read_cpu_max(*c.cgroup)) milli = milli_of(read->value);
    }
    if (!milli) return std::nullopt;  // one without a bound: the sum bounds nothing
    sum += *milli;
    any = true;
  }
  return any ? std::optional{sum} : std::nullopt;
}

}  // namespace

json::array effects_json(const StatusView& view) {
  json::array out;
  for (const auto& e : view.qos.effects) out.emplace_back(effect_json(view, e));
  return out;
}

json::value last_effect_json(const StatusView& view) {
  if (view.qos.effects.empty()) return nullptr;
  return effect_json(view, view.qos.effects.front());
}

json::array ineffective_json(const StatusView& view, const Pod* pod) {
  json::array out;
  for (const auto& f : view.qos.ineffective) {
    const auto& path = f.over.key.path;
    if (pod != nullptr && path != pod->cgroup && !path.is_ancestor_of(pod->cgroup)) continue;
    out.emplace_back(json::object{{"cgroup", cgroup_text(path)},
                                  {"file", to_string(f.over.key.file)},
                                  {"uid", text_or_null(f.over.uid)},
                                  {"pod", pod_name(view, f.over.uid)},
                                  {"cap_milli", f.over.cap.v},
                                  {"used_milli", f.over.used.v},
                                  {"since", wall_of(view, f.over.since)},
                                  {"age_ms", age_ms(view, f.over.since)},
                                  {"cause", to_string(f.finding.cause)},
                                  {"detail", text_or_null(f.finding.detail)}});
  }
  return out;
}

json::object starvation_json(const StatusView& view) {
  const auto& s = view.qos.starvation;
  const auto& cfg = view.qos.effective.starvation;
  std::optional<Permille> share;
  if (view.state) share = policy::class_progress(*view.state, view.pods);
  return {{"enable", cfg.enable},
          {"percent", cfg.percent},
          {"after_seconds", cfg.seconds},
          {"floor_percent", cfg.floor_percent},
          {"hungry", s.pods.size()},
          {"starving", text_array(s.starving)},
          {"floor_milli", s.floor.v},
          {"wanted_milli", s.wanted.v},
          {"why", text_or_null(s.why)},
          {"class_share_permille", quantity(share)}};
}

json::value progress_json(const StatusView& view, const Pod& pod) {
  if (!is_best_effort(pod)) return nullptr;
  const auto usage = view.pods.find(pod.uid);
  const auto p = policy::be_progress(pod, usage != view.pods.end() ? &usage->second : nullptr);
  const auto& starving = view.qos.starvation.starving;
  return json::object{
      {"share_permille", quantity(p.share)},
      {"throttled_permille", quantity(p.throttled)},
      {"wait_percent", number(p.wait_percent)},
      {"starving", std::find(starving.begin(), starving.end(), pod.uid) != starving.end()}};
}

json::value binding_json(const StatusView& view,
                         const HeldIndex& held,
                         const Pod& pod,
                         const PathLimit* smallest_of_path) {
  const auto sum = sum_of_containers(view, held, pod);
  const bool by_path = smallest_of_path != nullptr && smallest_of_path->milli.has_value();
  if (sum && (!by_path || *sum < *smallest_of_path->milli)) {
    return json::object{{"limit_milli", *sum},
                        {"by", "containers"},
                        {"cgroup", cgroup_text(pod.cgroup)},
                        {"owner", "its containers' own limits"}};
  }
  if (!by_path) return nullptr;
  const auto& path = smallest_of_path->key.path;
  return json::object{{"limit_milli", *smallest_of_path->milli},
                      {"by", path == pod.cgroup ? "pod" : "ancestor"},
                      {"cgroup", cgroup_text(path)},
                      {"owner", text_or_null(smallest_of_path->owner)}};
}

void add_cap_series(SeriesSet& out, const StatusView& view) {
  const auto& qos = view.qos;
  for (std::size_t i = 0; i < policy::kCapCauses; ++i) {
    const auto cause = static_cast<policy::CapCause>(i);
    const auto n = std::count_if(qos.ineffective.begin(),
                                 qos.ineffective.end(),
                                 [&](const auto& f) { return f.finding.cause == cause; });
    out.gauge("cap_ineffective",
              "CPU caps in force that use stays above, by cause.",
              static_cast<double>(n),
              {{"cause", std::string{to_string(cause)}}});
  }
  out.gauge("be_starving_pods",
            "Best-effort pods that want more and get next to nothing of their request.",
            static_cast<double>(qos.starvation.starving.size()));
  out.gauge("be_starvation_floor_cores",
            "CPU that caps leave to starving pods together.",
            static_cast<double>(qos.starvation.floor.v) / 1000);
  if (!view.state) return;
  if (const auto share = policy::class_progress(*view.state, view.pods)) {
    out.gauge("be_request_received_ratio",
              "CPU use of best-effort pods as a share of their requests.",
              static_cast<double>(share->v) / 1000);
  }
  for (const auto& pod : view.state->pods) {
    if (!is_active(*pod) || !is_best_effort(*pod)) continue;
    const auto usage = view.pods.find(pod->uid);
    if (usage == view.pods.end()) continue;
    const auto p = policy::be_progress(*pod, &usage->second);
    const prometheus::Labels labels{{"pod_uid", utf8(pod->uid)},
                                    {"pod_name", utf8(pod->name)},
                                    {"pod_namespace", utf8(pod->ns)}};
    if (p.share) {
      out.gauge("be_pod_request_received_ratio",
                "CPU use of a best-effort pod as a share of its request.",
                static_cast<double>(p.share->v) / 1000,
                labels);
    }
    if (p.wait_percent) {
      out.gauge("be_pod_cpu_wait_ratio",
                "Share of the time in which tasks of a best-effort pod waited for a CPU, 0 to 1.",
                *p.wait_percent / 100,
                labels);
    }
  }
}

}  // namespace koordlet::status_api
