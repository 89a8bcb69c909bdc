#include "modules/metric_advisor/metric_advisor.hpp"

#include <utility>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {

MetricAdvisor::MetricAdvisor(Config config,
                             kernel::HostRoots roots,
                             CgroupVersion version,
                             const Clock& clock,
                             std::size_t descriptor_budget)
    : impl_{std::make_unique<Impl>(config, std::move(roots), version, clock, descriptor_budget)} {}
MetricAdvisor::~MetricAdvisor() = default;

const std::optional<NodeSignals>& MetricAdvisor::signals() const { return impl_->signals; }
const std::map<std::string, PodUsage>& MetricAdvisor::pods() const { return impl_->pods; }
const std::map<std::string, ContainerUsage>& MetricAdvisor::containers() const {
  return impl_->containers;
}
const NodeUsage& MetricAdvisor::node_usage() const { return impl_->node_usage; }
const std::optional<kernel::StorageInfo>& MetricAdvisor::storage() const { return impl_->storage; }
std::string MetricAdvisor::cgroup_source() const {
  const auto variant = impl_->workloads.iterator_variant();
  return variant.empty() ? "files" : "iterator (" + variant + ")";
}
std::string MetricAdvisor::cgroup_source_fault() const { return impl_->workloads.iterator_fault(); }

std::vector<store::MetricSample> MetricAdvisor::take_samples() {
  return std::exchange(impl_->samples, {});
}

std::vector<MetricAdvisor::SourceHealth> MetricAdvisor::health() const {
  std::vector<SourceHealth> out;
  for (const auto& [name, h] : impl_->health) out.push_back(h);
  return out;
}

std::chrono::microseconds MetricAdvisor::last_collect() const { return impl_->last_collect; }
std::size_t MetricAdvisor::open_files() const { return impl_->counters.open_files(); }

}  // namespace koordlet
