#include <algorithm>
#include <cmath>

#include "sim/node_model.hpp"

/// The memory of the modelled node.
namespace koordlet::sim {

double NodeModel::memory_used() const {
  double out = static_cast<double>(scenario_.node.system_memory.v);
  for (const auto& p : pods_) out += p.memory;
  return out;
}

/// A full node gives nobody a page more; the kernel's killer is not modelled, the summary counts
/// how long the node stood there.
void NodeModel::use_memory(milliseconds length) {
  double free = static_cast<double>(scenario_.node.memory.v) - memory_used();
  const double s = static_cast<double>(length.count()) / 1000;
  for (auto& p : pods_) {
    const auto& spec = scenario_.groups[p.group].memory;
    double grow = static_cast<double>(growth_[p.group].v) * s;
    if (spec.limit.v > 0) grow = std::min(grow, static_cast<double>(spec.limit.v) - p.memory);
    grow = std::clamp(grow, -p.memory, std::max(free, 0.0));
    p.memory += grow;
    free -= grow;
  }
  const auto* v = tree_.peek({layout_.tier(KubeQos::kBestEffort), CgroupFile::kMemoryHigh});
  if (v == nullptr) return;
  const auto& high = std::get<MemoryBound>(*v).bound();
  if (high) reclaim(Bytes{std::max<std::int64_t>(std::llround(be_memory()) - high->v, 0)});
}

double NodeModel::be_memory() const {
  double out = 0;
  for (const auto& p : pods_) out += p.pod->kube_qos == KubeQos::kBestEffort ? p.memory : 0;
  return out;
}

/// Each pod of the class loses the same share of its memory.
Bytes NodeModel::reclaim(Bytes amount) {
  const double all = be_memory();
  const double take = std::min({static_cast<double>(amount.v), swap_free_, all});
  if (take <= 0) return {};
  for (auto& p : pods_) {
    if (p.pod->kube_qos != KubeQos::kBestEffort) continue;
    const double part = take * p.memory / all;
    p.memory -= part;
    p.swapped += part;
  }
  swap_free_ -= take;
  return {std::llround(take)};
}

}  // namespace koordlet::sim
