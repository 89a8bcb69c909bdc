#include "modules/metric_advisor/be_class.hpp"

#include <algorithm>

namespace koordlet {

MilliCpu be_request(const NodeState& state) {
  MilliCpu sum;
  for (const auto& pod : state.pods) {
    if (pod->qos != QosClass::kBe || !is_active(*pod)) continue;
    for (const auto& c : pod->containers) {
      if (!c.init && c.requests.batch_cpu) sum += *c.requests.batch_cpu;
    }
  }
  return sum;
}

MilliCpu be_real_limit(const BeRoot& root) {
  const MilliCpu cpus{std::int64_t{root.cpuset.count()} * 1000};
  const auto& quota = root.cpu_max.quota.bound();
  if (!quota || root.cpu_max.period.count() <= 0) return cpus;
  return std::min(cpus, MilliCpu{quota->count() * 1000 / root.cpu_max.period.count()});
}

}  // namespace koordlet
