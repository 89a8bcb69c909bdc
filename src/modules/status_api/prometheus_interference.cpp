#include "modules/status_api/prometheus_interference.hpp"

#include <optional>

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {
namespace {

using OptionalNumber = std::optional<double>;

OptionalNumber number(const std::optional<int>& v) {
  return v ? OptionalNumber{static_cast<double>(*v)} : std::nullopt;
}

template <class Duration>
OptionalNumber seconds(const std::optional<Duration>& d) {
  return d ? OptionalNumber{std::chrono::duration<double>(*d).count()} : std::nullopt;
}

prometheus::Labels pod_labels(const Pod& pod) {
  return {
      {"pod_uid", utf8(pod.uid)}, {"pod_name", utf8(pod.name)}, {"pod_namespace", utf8(pod.ns)}};
}

prometheus::Labels with(prometheus::Labels labels, const char* name, std::string value) {
  labels.emplace(name, std::move(value));
  return labels;
}

void add_stall(SeriesSet& out,
               const char* name,
               const char* help,
               const prometheus::Labels& subject,
               const std::optional<StallShare>& s,
               const char* resource) {
  if (!s) return;
  auto labels = with(subject, "psi_resource_type", resource);
  labels.emplace("psi_precision", "avg10");
  labels.emplace("cpu_full_supported", s->full_percent ? "true" : "false");
  out.gauge(name, help, s->some_percent, with(labels, "psi_degree", "some"));
  if (s->full_percent) out.gauge(name, help, *s->full_percent, with(labels, "psi_degree", "full"));
}

void add_latency(SeriesSet& out, const prometheus::Labels& labels, const InterferenceWindow& w) {
  // Not "quantile": that label is a summary's, and these are gauges of one window.
  const char* help = "Wait of the pod's tasks in the run queue, percentiles of the last window.";
  const auto put = [&](const char* percentile, const auto& wait) {
    out.gauge(
        "pod_sched_latency_seconds", help, seconds(wait), with(labels, "percentile", percentile));
  };
  put("50", w.wait_p50);
  put("95", w.wait_p95);
  put("99", w.wait_p99);
  out.gauge("pod_sched_wait_behind_be_seconds",
            "Part of that wait in which best effort had the CPU.",
            seconds(w.behind_best_effort),
            labels);
}

void add_micro(SeriesSet& out, const prometheus::Labels& pod, const InterferenceWindow& w) {
  for (const auto& m : w.micro) {
    auto labels = with(pod, "container_name", utf8(m.container));
    labels.emplace("container_id", utf8(m.id));
    const char* help = "Cycles and instructions of the last window of the counters.";
    out.gauge("container_cpi", help, m.cycles, with(labels, "cpi_field", "cycles"));
    out.gauge("container_cpi", help, m.instructions, with(labels, "cpi_field", "instructions"));
    out.gauge("container_llc_miss_ratio",
              "Last-level cache misses to references, 0 to 1.",
              m.llc_miss_ratio,
              labels);
  }
}

void add_degrees(SeriesSet& out, const prometheus::Labels& labels, const PodInterference& p) {
  const char* help = "How much a latency-sensitive pod is hurt by others, 0 to 100, by component.";
  const auto& d = p.degree;
  out.gauge("pod_interference", help, number(d.degree), with(labels, "component", "all"));
  if (!d.degree) return;
  out.gauge("pod_interference", help, number(d.be_degree), with(labels, "component", "be"));
  for (const auto c : {InterferenceComponent::kCpu,
                       InterferenceComponent::kMicro,
                       InterferenceComponent::kMemory,
                       InterferenceComponent::kIo}) {
    out.gauge("pod_interference",
              help,
              component_of(d, c),
              with(labels, "component", std::string{to_string(c)}));
  }
}

void add_node(SeriesSet& out, const StatusView& view) {
  if (const auto& node = view.interference.node) {
    const char* help = "Largest interference degree of the node's pods, 0 to 100.";
    out.gauge("node_interference", help, number(node->degree), {{"component", "all"}});
    out.gauge("node_interference", help, number(node->be_degree), {{"component", "be"}});
  }
  if (view.node_usage == nullptr) return;
  const auto& u = *view.node_usage;
  const char* psi = "Share of the last second in which tasks of the node were stalled, percent.";
  add_stall(out, "node_psi", psi, {}, u.stalls.cpu, "cpu");
  add_stall(out, "node_psi", psi, {}, u.stalls.memory, "mem");
  add_stall(out, "node_psi", psi, {}, u.stalls.io, "io");
  for (const auto& c : u.caches) {
    prometheus::Labels labels{{"qos", utf8(c.group)}, {"cache_id", std::to_string(c.cache_id)}};
    const auto real = [](const std::optional<std::int64_t>& v) {
      return v ? OptionalNumber{static_cast<double>(*v)} : std::nullopt;
    };
    out.gauge(
        "resctrl_llc_occupancy", "Bytes of last-level cache.", real(c.occupancy_bytes), labels);
    const char* help = "Memory bandwidth, bytes a second.";
    out.gauge("resctrl_memory_bandwidth",
              help,
              real(c.total_bytes_per_second),
              with(labels, "mb_type", "mbm_total_bytes"));
    out.gauge("resctrl_memory_bandwidth",
              help,
              real(c.local_bytes_per_second),
              with(labels, "mb_type", "mbm_local_bytes"));
  }
}

}  // namespace

void add_interference(SeriesSet& out, const StatusView& view) {
  add_node(out, view);
  if (view.interference.pods == nullptr || !view.state) return;
  for (const auto& [uid, p] : *view.interference.pods) {
    const auto* pod = find_pod(*view.state, uid);
    if (pod == nullptr) continue;
    const auto labels = pod_labels(*pod);
    add_degrees(out, labels, p);
    add_latency(out, labels, p.window);
    add_micro(out, labels, p.window);
    const char* psi = "Share of the last window in which tasks were stalled, percent.";
    add_stall(out, "pod_psi", psi, labels, p.window.cpu, "cpu");
    add_stall(out, "pod_psi", psi, labels, p.window.memory, "mem");
    add_stall(out, "pod_psi", psi, labels, p.window.io, "io");
  }
}

}  // namespace koordlet::status_api
