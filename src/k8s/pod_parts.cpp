#include "k8s/pod_parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "k8s/amounts.hpp"
#include "k8s/names.hpp"

namespace koordlet::k8s {
namespace {

Resources decode_amounts(const Fields& fields) {
  Resources out;
  out.cpu = cpu_amount(fields, "cpu");
  out.memory = memory_amount(fields, "memory");
  out.batch_cpu = milli_amount(fields, "kubernetes.io/batch-cpu");
  out.batch_memory = memory_amount(fields, "kubernetes.io/batch-memory");
  out.mid_cpu = milli_amount(fields, "kubernetes.io/mid-cpu");
  out.mid_memory = memory_amount(fields, "kubernetes.io/mid-memory");
  return out;
}

void default_requests(Resources& requests, const Resources& limits) {
  const auto fill = [](auto& request, const auto& limit) {
    if (!request) request = limit;
  };
  fill(requests.cpu, limits.cpu);
  fill(requests.memory, limits.memory);
  fill(requests.batch_cpu, limits.batch_cpu);
  fill(requests.batch_memory, limits.batch_memory);
  fill(requests.mid_cpu, limits.mid_cpu);
  fill(requests.mid_memory, limits.mid_memory);
}

void decode_list(const Fields& spec, std::string_view key, bool init, std::vector<Container>& out) {
  const auto* list = spec.array(key);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto at = fmt::format("{}[{}]", key, i);
    const json::value& item = (*list)[i];
    if (!item.is_object()) {
      spec.refuse(at, item, "an object");
      continue;
    }
    const Fields fields{item.get_object(), spec.path(at), spec.refusals()};
    const auto name = fields.text("name");
    const auto known = [&](const Container& c) { return c.name == *name.value; };
    if (!name.value || !is_dns_label(*name.value)) {
      if (!name.refused) fields.refuse("name", json::value(name.value.value_or("")), "a DNS label");
      continue;
    }
    if (std::any_of(out.begin(), out.end(), known)) {
      fields.refuse("name", json::value(*name.value), "a name of its own");
      continue;
    }
    Container& c = out.emplace_back();
    c.name = *name.value;
    c.init = init && fields.text("restartPolicy").value != "Always";
    auto amounts = decode_resources(fields);
    c.requests = amounts.requests;
    c.limits = amounts.limits;
  }
}

void apply_id(const Fields& status, Container& container) {
  const auto id = status.text("containerID");
  if (!id.value || id.value->empty()) return;
  const auto border = id.value->find("://");
  if (border != std::string::npos) {
    const auto runtime = id.value->substr(0, border);
    const auto rest = id.value->substr(border + 3);
    if (is_runtime(runtime) && is_container_id(rest)) {
      container.runtime = runtime;
      container.id = rest;
      return;
    }
  }
  status.refuse("containerID",
                json::value(*id.value),
                "containerd, docker, cri-o or pouch, \"://\" and an id of [A-Za-z0-9_-]");
}

/// What a running container has got: during an in-place resize the spec is ahead of it, or stays so
/// (Deferred, Infeasible). Extended resources cannot be resized.
void apply_actual(const Fields& status, Container& container) {
  const auto actual = decode_resources(status);
  const auto take = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  take(container.requests.cpu, actual.requests.cpu);
  take(container.requests.memory, actual.requests.memory);
  take(container.limits.cpu, actual.limits.cpu);
  take(container.limits.memory, actual.limits.memory);
}

void apply_list(const Fields& status, std::string_view key, std::vector<Container>& containers) {
  const auto* list = status.array(key);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto at = fmt::format("{}[{}]", key, i);
    const json::value& item = (*list)[i];
    if (!item.is_object()) {
      status.refuse(at, item, "an object");
      continue;
    }
    const Fields fields{item.get_object(), status.path(at), status.refusals()};
    const auto name = fields.text("name");
    const auto found = std::find_if(containers.begin(), containers.end(), [&](const Container& c) {
      return name.value && c.name == *name.value;
    });
    if (found == containers.end()) continue;  // of a container that the spec no longer has
    apply_id(fields, *found);
    const auto state = fields.object("state");
    if (state.value) found->running = state.value->object("running").value.has_value();
    if (found->running) apply_actual(fields, *found);
  }
}

bool positive(const std::optional<MilliCpu>& v) { return v && v->v > 0; }
bool positive(const std::optional<Bytes>& v) { return v && v->v > 0; }

bool states_any(const Resources& r) { return positive(r.cpu) || positive(r.memory); }

bool is_guaranteed(const Resources& requests, const Resources& limits) {
  return positive(limits.cpu) && positive(limits.memory) && requests.cpu == limits.cpu &&
         requests.memory == limits.memory;
}

}  // namespace

RequestsAndLimits decode_resources(const Fields& owner) {
  RequestsAndLimits out;
  const auto resources = owner.object("resources");
  if (!resources.value) return out;
  const auto requests = resources.value->object("requests");
  const auto limits = resources.value->object("limits");
  if (requests.value) out.requests = decode_amounts(*requests.value);
  if (limits.value) out.limits = decode_amounts(*limits.value);
  default_requests(out.requests, out.limits);
  return out;
}

std::vector<int> decode_numa_nodes(const Fields& status) {
  constexpr std::int64_t kMost = 1023;  // kernel: MAX_NUMNODES
  std::vector<int> out;
  const auto* list = status.array("numaNodeResources");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto at = fmt::format("numaNodeResources[{}]", i);
    const auto* object = (*list)[i].if_object();
    if (object == nullptr) {
      status.refuse(at, (*list)[i], "an object");
      continue;
    }
    const Fields entry{*object, status.path(at), status.refusals(), KeyCase::kAny};
    const auto node = entry.integer("node", 0, kMost);
    const auto amounts = entry.object("resources");
    if (!node.value || !amounts.value) continue;
    const auto cpu = cpu_amount(*amounts.value, "cpu");
    const auto batch = milli_amount(*amounts.value, "kubernetes.io/batch-cpu");
    if ((cpu && cpu->v != 0) || (batch && batch->v > 0))
      out.push_back(static_cast<int>(*node.value));
  }
  return out;
}

Resources decode_overhead(const Fields& spec) {
  const auto overhead = spec.object("overhead");
  return overhead.value ? decode_amounts(*overhead.value) : Resources{};
}

std::vector<Container> decode_containers(const Fields& spec) {
  std::vector<Container> out;
  decode_list(spec, "containers", false, out);
  decode_list(spec, "initContainers", true, out);
  return out;
}

void apply_statuses(const Fields& status, std::vector<Container>& containers) {
  apply_list(status, "containerStatuses", containers);
  apply_list(status, "initContainerStatuses", containers);
}

KubeQos compute_kube_qos(const std::vector<Container>& containers,
                         const std::optional<RequestsAndLimits>& pod_level) {
  if (pod_level && (states_any(pod_level->requests) || states_any(pod_level->limits))) {
    return is_guaranteed(pod_level->requests, pod_level->limits) ? KubeQos::kGuaranteed
                                                                 : KubeQos::kBurstable;
  }
  const auto any = [](const Container& c) {
    return states_any(c.requests) || states_any(c.limits);
  };
  const auto all = [](const Container& c) { return is_guaranteed(c.requests, c.limits); };
  if (std::none_of(containers.begin(), containers.end(), any)) return KubeQos::kBestEffort;
  return std::all_of(containers.begin(), containers.end(), all) ? KubeQos::kGuaranteed
                                                                : KubeQos::kBurstable;
}

}  // namespace koordlet::k8s
