#include "policy/hook_values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/hook_devices.hpp"
#include "policy/memory_values.hpp"
#include "policy/pressure_caps.hpp"
#include "policy/resctrl.hpp"

namespace koordlet::policy {
namespace {

void set_quota(HookResources& out, const QuotaUs& quota) {
  out.cpu_quota = quota;
  out.cpu_period = kQuotaPeriod;  // a quota says nothing without it
}

void set_file(HookResources& out, CgroupFile file, std::string content) {
  out.unified[std::string{to_string(file)}] = std::move(content);
}

Result<HookAdjustment> batch_resources(const HookSubject& s, const HookWorld& world) {
  HookAdjustment out;
  if (s.pod.qos != QosClass::kBe) return out;
  if (!s.annotations.batch) return s.annotations.batch.error();
  BatchContext context;
  context.ratio = world.ratio;
  context.root_limited = be_root_limited(world.config);
  context.version = world.cgroup_version;
  const auto values = batch_values(s.pod, s.container, context);
  if (!values) return out;
  out.resources.cpu_shares = static_cast<std::uint64_t>(values->shares);
  set_quota(out.resources, values->quota);
  if (!values->keeps_memory) out.resources.memory_limit = values->memory;
  return out;
}

HookAdjustment cpu_normalization(const HookSubject& s, const HookWorld& world) {
  HookAdjustment out;
  const auto quota = normalized_quota(s.pod, s.container, world.ratio);
  if (quota) set_quota(out.resources, *quota);
  return out;
}

Result<HookAdjustment> cpuset(const HookSubject& s,
                              const HookWorld& world,
                              const HookSwitches& switches) {
  HookAdjustment out;
  if (!s.annotations.allocation) return s.annotations.allocation.error();
  const auto start =
      cpuset_start(s.pod, *s.annotations.allocation, world.pools ? &*world.pools : nullptr);
  switch (start.kind) {
    case CpusetStart::Kind::kUntouched:
      break;
    case CpusetStart::Kind::kSet:
      out.resources.cpus = start.cpus;
      if (start.lift_quota && !switches.cpuset_keeps_quota)
        set_quota(out.resources, QuotaUs::unlimited());
      break;
    case CpusetStart::Kind::kInherit:
      // No runtime can be told "none": all that the parent has is the same.
      if (s.given.resources.cpus && !world.be_cpus.empty()) out.resources.cpus = world.be_cpus;
      break;
  }
  return out;
}

/// Share of its memory.min that the pod gets once the plugin has counted it in.
int min_permille(const HookSubject& s, const HookWorld& world, const MemoryQosStrategy& rule) {
  Bytes wanted = world.memory_min_wanted;
  if (!s.is_known) {
    const auto own = memory_protection(memory_ask(s.pod).request, rule).min;
    wanted += own.value_or(Bytes{});
  }
  return bound_permille(wanted, *world.memory_total, world.config.memory_qos.min_bound_percent);
}

HookAdjustment memory_qos(const HookSubject& s, const HookWorld& world) {
  HookAdjustment out;
  const bool off = !world.has_memory_files || !world.memory_total ||
                   world.cgroup_version != CgroupVersion::kV2 || !world.config.memory_qos.any();
  // A sandbox tells no memory request but where the class does: unknown is not zero.
  const bool asked =
      s.is_known || s.pod.qos == QosClass::kBe || s.pod.kube_qos == KubeQos::kGuaranteed;
  if (off || s.container.init || !asked) return out;
  const auto rule = pod_memory_rule(s.pod, world.config.memory_qos);
  if (!rule) return out;
  const auto values = container_memory(memory_ask(s.container, s.pod.qos == QosClass::kBe),
                                       *rule,
                                       world.memory_allocatable,
                                       min_permille(s, world, *rule));
  const auto put = [&out](CgroupFile file, const std::optional<MemoryBound>& value) {
    if (value) set_file(out.resources, file, to_string(CgroupValue{*value}));
  };
  const auto bound = [](const std::optional<Bytes>& v) {
    return v ? std::optional{MemoryBound{*v}} : std::nullopt;
  };
  put(CgroupFile::kMemoryMin, bound(values.protection.min));
  put(CgroupFile::kMemoryLow, bound(values.protection.low));
  put(CgroupFile::kMemoryHigh, values.high);
  if (rule->oom_kill_group)
    set_file(out.resources, CgroupFile::kMemoryOomGroup, std::to_string(*rule->oom_kill_group));
  return out;
}

HookAdjustment cpu_idle(const HookSubject& s, const HookWorld& world) {
  HookAdjustment out;
  const IdentityConfig& cfg = world.config.identity;
  const bool wanted = !world.config.off && cfg.enable && cfg.be_idle && is_best_effort(s.pod) &&
                      s.pod.kube_qos == KubeQos::kBestEffort &&
                      world.cgroup_version == CgroupVersion::kV2;
  if (wanted) set_file(out.resources, CgroupFile::kCpuIdle, "1");
  return out;
}

/// Only a group that is there: a runtime that is told of another one does not start the container.
HookAdjustment resctrl(const HookSubject& s, const HookWorld& world) {
  HookAdjustment out;
  const auto group = resctrl_group(s.pod, world.config.resctrl);
  if (world.resctrl_groups.contains(group)) out.resources.rdt_class = group;
  return out;
}

Result<HookAdjustment> oom_score_adj(const HookSubject& s) {
  if (!s.annotations.oom_score_adj) return s.annotations.oom_score_adj.error();
  HookAdjustment out;
  out.oom_score_adj = *s.annotations.oom_score_adj;
  return out;
}

}  // namespace

const char* to_string(Hook hook) {
  switch (hook) {
    case Hook::kBatchResources:
      return "batch_resources";
    case Hook::kCpuNormalization:
      return "cpu_normalization";
    case Hook::kCpuset:
      return "cpuset";
    case Hook::kMemoryQos:
      return "memory_qos";
    case Hook::kCpuIdle:
      return "cpu_idle";
    case Hook::kOomScoreAdj:
      return "oom_score_adj";
    case Hook::kResctrl:
      return "resctrl";
    case Hook::kGpu:
      return "gpu";
    case Hook::kRdma:
      return "rdma";
  }
  return "?";
}

bool is_on(Hook hook, const HookSwitches& s) {
  switch (hook) {
    case Hook::kBatchResources:
      return s.batch_resources;
    case Hook::kCpuNormalization:
      return s.cpu_normalization;
    case Hook::kCpuset:
      return s.cpuset;
    case Hook::kMemoryQos:
      return s.memory_qos;
    case Hook::kCpuIdle:
      return s.cpu_idle;
    case Hook::kOomScoreAdj:
      return s.oom_score_adj;
    case Hook::kResctrl:
      return s.resctrl;
    case Hook::kGpu:
      return s.gpu;
    case Hook::kRdma:
      return s.rdma;
  }
  return false;
}

Result<HookAdjustment> hook_values(Hook hook,
                                   const HookSubject& subject,
                                   const HookWorld& world,
                                   const HookSwitches& switches) {
  switch (hook) {
    case Hook::kBatchResources:
      return batch_resources(subject, world);
    case Hook::kCpuNormalization:
      return cpu_normalization(subject, world);
    case Hook::kCpuset:
      return cpuset(subject, world, switches);
    case Hook::kMemoryQos:
      return memory_qos(subject, world);
    case Hook::kCpuIdle:
      return cpu_idle(subject, world);
    case Hook::kOomScoreAdj:
      return oom_score_adj(subject);
    case Hook::kResctrl:
      return resctrl(subject, world);
    case Hook::kGpu:
      return gpu_values(subject);
    case Hook::kRdma:
      return rdma_values(subject, world);
  }
  return HookAdjustment{};
}

std::optional<QuotaUs> held_cap(const Pod& pod, const HookWorld& world) {
  if (world.desired == nullptr || pod.cgroup.is_root()) return std::nullopt;
  const auto at = world.desired->find({pod.cgroup, CgroupFile::kCpuMax});
  if (at == world.desired->end()) return std::nullopt;
  const auto& quota = std::get<CpuMax>(at->second.value).quota;
  return quota.bound() ? std::optional{quota} : std::nullopt;
}

std::optional<QuotaUs> start_cap(const Pod& pod, const HookWorld& world) {
  if (world.cgroup_version != CgroupVersion::kV2) return std::nullopt;
  const auto& config = world.config;
  if (!is_best_effort(pod) || is_be_stranger(pod, config.hands_off_namespaces)) return std::nullopt;
  if (const auto held = held_cap(pod, world)) return held;
  if (config.off || !config.pressure.enable || !world.factor_permille) return std::nullopt;
  const auto request = capped_request(pod, config.pressure.default_request_milli);
  if (!request) return std::nullopt;  // it shares the cap of the BE root, where it lives already
  return QuotaUs{
      std::chrono::microseconds{pod_quota_us(*request, *world.factor_permille, config.pressure)}};
}

void lay_over(HookAdjustment& older, HookAdjustment newer) {
  older.resources = merged(std::move(older.resources), newer.resources);
  if (newer.oom_score_adj) older.oom_score_adj = newer.oom_score_adj;
  for (auto& [key, value] : newer.annotations) older.annotations[key] = std::move(value);
  const auto replace = [](auto& list, auto& item, auto same) {
    const auto at = std::find_if(list.begin(), list.end(), same);
    if (at == list.end()) {
      list.push_back(std::move(item));
    } else {
      *at = std::move(item);
    }
  };
  for (auto& e : newer.env)
    replace(older.env, e, [&e](const HookEnv& o) { return o.name == e.name; });
  for (auto& m : newer.mounts)
    replace(older.mounts, m, [&m](const HookMount& o) { return o.destination == m.destination; });
  for (auto& d : newer.devices)
    replace(older.devices, d, [&d](const HookDevice& o) { return o.path == d.path; });
}

HookResources differing(const HookResources& want, const HookResources& have) {
  HookResources out = want;
  const auto drop = [](auto& wanted, const auto& had) {
    if (wanted && had && *wanted == *had) wanted.reset();
  };
  drop(out.cpu_shares, have.cpu_shares);
  drop(out.cpus, have.cpus);
  drop(out.mems, have.mems);
  drop(out.rdt_class, have.rdt_class);
  const auto drop_limit = [](auto& wanted, const auto& had) {
    if (!wanted) return;
    const bool same = had ? *wanted == *had : wanted->is_unlimited();
    if (same) wanted.reset();
  };
  drop_limit(out.memory_limit, have.memory_limit);
  drop_limit(out.memory_swap_limit, have.memory_swap_limit);
  // Quota and period are one value: the period alone changes nothing while there is no quota.
  const bool unlimited = want.cpu_quota && want.cpu_quota->is_unlimited();
  const bool same_period = unlimited || !have.cpu_period || want.cpu_period == have.cpu_period;
  if (same_period) drop_limit(out.cpu_quota, have.cpu_quota);
  if (!out.cpu_quota) out.cpu_period.reset();
  for (const auto& [file, content] : have.unified) {
    const auto wanted = out.unified.find(file);
    if (wanted != out.unified.end() && wanted->second == content) out.unified.erase(wanted);
  }
  return out;
}

bool is_empty(const HookResources& r) { return r == HookResources{}; }
bool is_empty(const HookAdjustment& a) { return a == HookAdjustment{}; }

}  // namespace koordlet::policy
