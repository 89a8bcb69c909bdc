#include "modules/runtime_hooks/hook_case.hpp"

#include <algorithm>
#include <chrono>

#include "k8s/fields.hpp"
#include "k8s/node_slo_sections.hpp"
#include "policy/be_view.hpp"

namespace koordlet::runtime_hooks {
namespace {

constexpr const char* kQosLabel = "koordinator.sh/qosClass";
constexpr std::uint64_t kLeastShares = 2;  // what "no request" becomes

/// By the names that kubelet gives its groups under either driver. Unknown: the class that nothing
/// is assumed of.
KubeQos kube_qos(const std::optional<CgroupPath>& parent) {
  if (!parent) return KubeQos::kBurstable;
  const auto has = [&](const char* word) { return parent->str().find(word) != std::string::npos; };
  if (has("besteffort")) return KubeQos::kBestEffort;
  if (has("burstable")) return KubeQos::kBurstable;
  return has("kubepods") ? KubeQos::kGuaranteed : KubeQos::kBurstable;
}

/// nullptr: none of that name.
template <class Containers>
auto find_container(Containers& list, const std::string& name) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const Container& c) { return c.name == name; });
  return at == list.end() ? nullptr : &*at;
}

/// What kubelet made of requests and limits, back again.
void add_given(Container& out, const HookResources& given, KubeQos qos, bool as_specified) {
  if (given.cpu_shares && *given.cpu_shares > kLeastShares) {
    out.requests.cpu =
        MilliCpu{(static_cast<std::int64_t>(*given.cpu_shares) * 1000 + 1023) / 1024};
  }
  if (as_specified && given.cpu_quota && given.cpu_quota->bound()) {
    const auto period = given.cpu_period.value_or(policy::kQuotaPeriod);
    out.limits.cpu = MilliCpu{given.cpu_quota->bound()->count() * 1000 / period.count()};
  }
  if (given.memory_limit && given.memory_limit->bound()) {
    out.limits.memory = given.memory_limit->bound();
    // The request is told nowhere, but in this class it is the limit.
    if (qos == KubeQos::kGuaranteed) out.requests.memory = out.limits.memory;
  }
}

bool states_batch(const Container& c) {
  return c.requests.batch_cpu || c.requests.batch_memory || c.limits.batch_cpu ||
         c.limits.batch_memory;
}

void take_batch(Container& to, const Container& from) {
  to.requests.batch_cpu = from.requests.batch_cpu;
  to.requests.batch_memory = from.requests.batch_memory;
  to.limits.batch_cpu = from.limits.batch_cpu;
  to.limits.batch_memory = from.limits.batch_memory;
}

}  // namespace

Pod sandbox_pod(const HookPod& pod) {
  Pod out;
  out.uid = pod.uid;
  out.ns = pod.ns;
  out.name = pod.name;
  out.labels = pod.labels;
  out.annotations = pod.annotations;
  out.phase = PodPhase::kRunning;
  out.kube_qos = kube_qos(pod.cgroup_parent);
  if (const auto label = pod.labels.find(kQosLabel); label != pod.labels.end())
    out.qos = parse_qos_class(label->second);
  if (pod.cgroup_parent) out.cgroup = *pod.cgroup_parent;
  if (auto batch = batch_spec(pod.annotations)) out.containers = std::move(*batch);
  // A text that is refused counts as absent here, as it does for the tick.
  k8s::Refusals refusals{pod.name};
  out.memory_qos = k8s::decode_memory_annotation(pod.annotations, refusals);
  return out;
}

HookCase make_case(const NodeState& state,
                   const HookPod& pod,
                   const HookContainer& container,
                   bool as_specified) {
  HookCase out;
  out.known = find_pod(state, pod.uid);
  if (out.known != nullptr) {
    if (const auto* named = find_container(out.known->containers, container.name)) {
      out.container = *named;
    } else {
      out.container.name = container.name;
    }
  } else {
    out.own = sandbox_pod(pod);
    auto* named = find_container(out.own.containers, container.name);
    if (named == nullptr) {
      named = &out.own.containers.emplace_back();
      named->name = container.name;
    }
    add_given(*named, container.resources, out.own.kube_qos, as_specified);
    out.container = *named;
  }
  out.annotations = read_annotations(out.pod(), container.name);
  if (out.known == nullptr && out.annotations.allocation)
    out.own.allocated_cpus = out.annotations.allocation->cpus;
  if (!states_batch(out.container)) {
    auto batch = batch_spec(out.pod().annotations);
    if (!batch) {
      out.annotations.batch = batch.error();
    } else if (const auto* named = find_container(*batch, container.name)) {
      take_batch(out.container, *named);
    }
  }
  return out;
}

}  // namespace koordlet::runtime_hooks
