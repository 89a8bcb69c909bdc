#include "policy/spec_values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/hands_off.hpp"
#include "policy/hook_values.hpp"

namespace koordlet::policy {
namespace {

using Basis = SpecValues::Basis;
using List = SpecValues::List;

bool is_known(const CgroupPath& path) { return !path.is_root(); }

CpuMax cpu_max_of(const QuotaUs& quota) {
  return quota.bound() ? cpu_max(quota.bound()->count())
                       : CpuMax{QuotaUs::unlimited(), kQuotaPeriod};
}

std::string text_of(const std::optional<MilliCpu>& amount) {
  return amount ? fmt::format("{}m", amount->v) : std::string{"none"};
}

std::string ratio_text(const std::optional<NormalizationRatio>& ratio) {
  return ratio && *ratio > 1 ? fmt::format(" / {}", *ratio) : std::string{};
}

/// What of one cgroup is wanted; a later rule goes over an earlier one, as with the hooks.
struct Wishes {
  struct Wish {
    CgroupValue value;
    Hook by{};
    std::string reason;
  };
  std::optional<Wish> quota, weight, memory, cpus;
};

class Reckoner {
 public:
  explicit Reckoner(const Basis& basis) : basis_{basis} {
    batch_.ratio = basis.ratio;
    batch_.root_limited = basis.root_limited;
    batch_.version = basis.version;
  }

  void add(const Pod& pod) {
    const auto before = out_.all.size();
    put(pod.cgroup, of_pod(pod));
    for (const auto& c : pod.containers) {
      if (c.running && c.cgroup && is_known(*c.cgroup)) put(*c.cgroup, of_container(pod, c));
    }
    if (out_.all.size() != before) ++out_.pods;
  }

  std::shared_ptr<const List> take() {
    auto list = std::make_shared<List>(std::move(out_));
    list->by_key.reserve(list->all.size());
    for (const auto& p : list->all) list->by_key.push_back(&p);
    std::sort(list->by_key.begin(), list->by_key.end(), [](const Proposal* a, const Proposal* b) {
      return a->key < b->key;
    });
    return list;
  }

 private:
  Wishes of_pod(const Pod& pod) const {
    Wishes out;
    if (basis_.switches.batch_resources) {
      if (const auto values = batch_values(pod, batch_)) {
        const auto request = be_cpu_request(pod);
        add_batch(out, *values, basis_.weights.pods, text_of(request), "containers' batch limits");
      }
    }
    if (basis_.switches.cpu_normalization) {
      if (const auto quota = normalized_quota(pod, basis_.ratio)) {
        out.quota = {cpu_max_of(*quota),
                     Hook::kCpuNormalization,
                     "quota of the pod's limits" + ratio_text(basis_.ratio)};
      }
    }
    if (basis_.switches.cpuset) {
      const auto start = cpus_of(pod);
      if (start && start->lift_quota && !basis_.switches.cpuset_keeps_quota) lift(out);
    }
    return out;
  }

  Wishes of_container(const Pod& pod, const Container& c) const {
    Wishes out;
    if (basis_.switches.batch_resources) {
      if (const auto values = batch_values(pod, c, batch_)) {
        add_batch(out,
                  *values,
                  basis_.weights.containers,
                  text_of(c.requests.batch_cpu),
                  "container's batch limit");
        if (basis_.idle) out.weight.reset();
      }
    }
    if (basis_.switches.cpu_normalization) {
      if (const auto quota = normalized_quota(pod, c, basis_.ratio)) {
        out.quota = {
            cpu_max_of(*quota),
            Hook::kCpuNormalization,
            fmt::format("quota of limit {}{}", text_of(c.limits.cpu), ratio_text(basis_.ratio))};
      }
    }
    if (!basis_.switches.cpuset) return out;
    const auto start = cpus_of(pod);
    if (!start || start->kind != CpusetStart::Kind::kSet) return out;
    if (start->lift_quota && !basis_.switches.cpuset_keeps_quota) lift(out);
    // Shared CPUs that are all there are bound nobody.
    const bool binds = start->lift_quota || !basis_.cpus.is_subset_of(start->cpus);
    if (binds) out.cpus = {start->cpus, Hook::kCpuset, start->reason};
    return out;
  }

  /// nullopt: its annotation cannot be read.
  std::optional<CpusetStart> cpus_of(const Pod& pod) const {
    if (!pod.allocated_numa) return std::nullopt;
    return cpuset_start(pod, {pod.allocated_cpus, *pod.allocated_numa}, basis_.pools.get());
  }

  static void lift(Wishes& out) {
    out.quota = {cpu_max_of(QuotaUs::unlimited()),
                 Hook::kCpuset,
                 "CPUs of its own: a quota would only throttle"};
  }

  void add_batch(Wishes& out,
                 const BatchValues& values,
                 WeightRule rule,
                 const std::string& request,
                 const char* limits) const {
    const bool v1 = basis_.version == CgroupVersion::kV1;
    out.weight = {Number{v1 ? values.shares : weight_of(values.shares, rule)},
                  Hook::kBatchResources,
                  fmt::format("batch request {}: {} shares", request, values.shares)};
    out.quota = {
        cpu_max_of(values.quota),
        Hook::kBatchResources,
        fmt::format(
            "{}{}", limits, values.quota.bound() ? ratio_text(basis_.ratio) : ": no quota here")};
    if (!values.keeps_memory) out.memory = {values.memory, Hook::kBatchResources, limits};
  }

  void put(const CgroupPath& path, Wishes wishes) {
    const auto one = [&](CgroupFile file, std::optional<Wishes::Wish>& wish) {
      if (!wish) return;
      Proposal& p = out_.all.emplace_back();
      p.key = {path, file};
      p.value = std::move(wish->value);
      p.role = Role::kBase;
      p.plugin = to_string(wish->by);
      p.reason = std::move(wish->reason);
      p.steady = true;
    };
    one(CgroupFile::kCpuMax, wishes.quota);
    one(CgroupFile::kCpuWeight, wishes.weight);
    one(CgroupFile::kCpuset, wishes.cpus);
    one(CgroupFile::kMemoryMax, wishes.memory);
  }

  const Basis& basis_;
  BatchContext batch_;
  List out_;
};

Basis basis_of(const Snapshot& snap, const EffectiveConfig& config) {
  Basis out;
  out.switches = config.hooks;
  if (!out.switches.reconcile) return out;
  out.pods = snap.state->pods;
  out.pools = snap.cpu_pools;
  for (const auto& p : snap.topology) out.cpus.add(p.cpu);
  if (snap.state->node) out.ratio = normalization_ratio(*snap.state->node);
  out.version = snap.cgroup_version;
  out.weights = snap.weight_rules;
  out.root_limited = be_root_limited(config);
  out.idle = config.hooks.cpu_idle && config.identity.enable && config.identity.be_idle;
  out.hands_off_namespaces = config.hands_off_namespaces;
  return out;
}

}  // namespace

SpecValues::State SpecValues::decide(const Snapshot& snap,
                                     const EffectiveConfig& config,
                                     State state) {
  auto basis = basis_of(snap, config);
  if (state.list && basis == state.basis) return state;
  Reckoner reckoner{basis};
  for (const auto& pod : basis.pods) {
    if (!is_active(*pod) || !is_known(pod->cgroup)) continue;
    if (!hands_off(*pod, basis.hands_off_namespaces)) reckoner.add(*pod);
  }
  state.list = reckoner.take();
  state.basis = std::move(basis);
  return state;
}

}  // namespace koordlet::policy
