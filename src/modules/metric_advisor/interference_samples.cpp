#include <cmath>

#include <fmt/format.h>

#include "modules/metric_advisor/interference_impl.hpp"

/// What is stored of interference, as scaled integers: times in microseconds, CPI and ratios in
/// thousandths, shares in permille, degrees as they are. The owner names the subject, then the
/// labels of the metric registry in its order.
namespace koordlet {
namespace {

std::int64_t thousandths(double v) { return std::llround(v * 1000); }

std::int64_t micros(std::chrono::nanoseconds t) { return t.count() / 1000; }

}  // namespace

void InterferenceWatch::Impl::emit(const PodInterference& p) {
  const auto put = [&](std::string kind, std::string_view label, std::int64_t value) {
    samples.push_back({{std::move(kind), fmt::format("{}/{}", p.uid, label)}, value});
  };
  const auto& w = p.window;
  if (w.wait && w.dispatches && *w.dispatches > 0) {
    put("pod_sched_latency", "avg", micros(*w.wait) / static_cast<std::int64_t>(*w.dispatches));
  }
  if (w.wait_p50) put("pod_sched_latency", "p50", micros(*w.wait_p50));
  if (w.wait_p95) put("pod_sched_latency", "p95", micros(*w.wait_p95));
  if (w.wait_p99) put("pod_sched_latency", "p99", micros(*w.wait_p99));
  for (const auto& sample : w.micro) {
    put("pod_cpi", sample.container, thousandths(sample.cpi));
    if (sample.llc_miss_ratio)
      put("pod_llc_miss_ratio", sample.container, thousandths(*sample.llc_miss_ratio));
  }
  const auto& d = p.degree;
  if (!d.degree) return;
  put("pod_interference", "degree", *d.degree);
  if (d.be_degree) put("pod_interference", "be", *d.be_degree);
  for (const auto c : {InterferenceComponent::kCpu,
                       InterferenceComponent::kMicro,
                       InterferenceComponent::kMemory,
                       InterferenceComponent::kIo}) {
    if (const auto v = component_of(d, c)) put("pod_interference", to_string(c), std::llround(*v));
  }
}

void InterferenceWatch::Impl::emit_micro(const MicroSource::Reading& r) {
  const auto put = [&](std::string_view field, double value) {
    samples.push_back(
        {{"container_cpi", fmt::format("{}/{}/{}", r.pod_uid, r.id, field)}, std::llround(value)});
  };
  put("cycle", r.cycles);
  put("instruction", r.instructions);
}

void InterferenceWatch::Impl::emit_node() {
  if (!node || !node->degree) return;
  samples.push_back({{"node_interference", "degree"}, *node->degree});
  if (node->be_degree) samples.push_back({{"node_interference", "be"}, *node->be_degree});
}

}  // namespace koordlet
