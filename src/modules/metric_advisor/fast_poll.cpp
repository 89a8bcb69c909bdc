#include <algorithm>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

constexpr auto kFastWindow = std::chrono::milliseconds{200};  // window of the class-counter poll

}  // namespace

std::optional<NodeSignals> MetricAdvisor::sample_classes(
    const NodeState& state, const std::optional<kernel::CgroupLayout>& layout) {
  static_cast<void>(state);
  auto& m = *impl_;
  if (!layout || !m.signals || !m.signals->kubepods_used) return std::nullopt;
  const auto kubepods = m.usage_of(layout->kubepods(), "kubepods cpu");
  const auto be = m.usage_of(layout->tier(KubeQos::kBestEffort), "best-effort cpu");
  if (!kubepods || !be) return std::nullopt;
  const Impl::FastReading reading{m.clock.now(), *kubepods, *be};
  // A gap in the poll makes the older readings useless.
  if (!m.fast.empty() && reading.at - m.fast.back().at > 3 * kFastWindow) m.fast.clear();
  m.fast.push_back(reading);
  while (m.fast.size() > 2 && reading.at - m.fast[1].at >= kFastWindow) m.fast.pop_front();
  const auto& base = m.fast.front();
  if (reading.at - base.at < kFastWindow) return std::nullopt;
  CpuRate pods_rate;
  CpuRate be_rate;
  static_cast<void>(pods_rate.update({base.at, base.kubepods}, m.ceiling));
  static_cast<void>(be_rate.update({base.at, base.be}, m.ceiling));
  const auto pods_used = pods_rate.since_base({reading.at, reading.kubepods}, m.ceiling);
  const auto be_used = be_rate.since_base({reading.at, reading.be}, m.ceiling);
  if (!pods_used || !be_used) {
    m.fast.clear();
    return std::nullopt;
  }
  NodeSignals out = *m.signals;
  const auto outside_pods = m.signals->node_used - *m.signals->kubepods_used;
  out.kubepods_used = pods_used;
  out.be_used = be_used;
  out.node_used = *pods_used + MilliCpu{std::max<std::int64_t>(0, outside_pods.v)};
  out.at = reading.at;
  out.seq = ++m.seq;
  return out;
}

}  // namespace koordlet
