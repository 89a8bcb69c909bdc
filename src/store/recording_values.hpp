#pragma once

#include "model/eviction.hpp"
#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "store/recording_archive.hpp"

/// What is recorded of the model's values. A field that no rule reads is left out, and so is what
/// may hold secrets: environment, commands, and labels and annotations but the ones rules read.
namespace koordlet::store {

/// Of a node's annotations those that rules read.
std::map<std::string, std::string> recorded_node_annotations(
    const std::map<std::string, std::string>& all);

/// A new enumerator at the end has to be told here.
template <>
inline constexpr CgroupVersion kLast<CgroupVersion> = CgroupVersion::kV2;
template <>
inline constexpr KubeQos kLast<KubeQos> = KubeQos::kBestEffort;
template <>
inline constexpr QosClass kLast<QosClass> = QosClass::kSystem;
template <>
inline constexpr PodPhase kLast<PodPhase> = PodPhase::kUnknown;
template <>
inline constexpr KubeletCpuPolicy kLast<KubeletCpuPolicy> = KubeletCpuPolicy::kStatic;
template <>
inline constexpr WeightRule kLast<WeightRule> = WeightRule::kLog;
template <>
inline constexpr IoBlockKind kLast<IoBlockKind> = IoBlockKind::kPodVolume;
template <>
inline constexpr BurstPolicy kLast<BurstPolicy> = BurstPolicy::kAuto;
template <>
inline constexpr PodMemoryPolicy kLast<PodMemoryPolicy> = PodMemoryPolicy::kNone;
template <>
inline constexpr SuppressPolicy kLast<SuppressPolicy> = SuppressPolicy::kPodQuota;
template <>
inline constexpr CpuEvictPolicy kLast<CpuEvictPolicy> = CpuEvictPolicy::kAllocatable;
template <>
inline constexpr EvictResource kLast<EvictResource> = EvictResource::kMemory;
template <>
inline constexpr EvictionResult kLast<EvictionResult> = EvictionResult::kDryRun;
template <>
inline constexpr OutcomeKind kLast<OutcomeKind> = OutcomeKind::kDryRun;
template <>
inline constexpr Role kLast<Role> = Role::kCap;
template <>
inline constexpr CgroupFile kLast<CgroupFile> = CgroupFile::kSchedFeature;

}  // namespace koordlet::store

namespace koordlet {

template <class A>
void describe(A& a, CgroupKey& v) {
  a("path", v.path);
  a("file", v.file);
  a.intern("item", v.item);
  if constexpr (requires { a.fail(""); }) {
    if (!a.failed() && !is_item_of(v.file, v.item)) a.fail("item: expected one of the file's kind");
  }
}

/// One control file with a value that fits it.
template <class A>
void describe_value(A& a, const CgroupKey& key, CgroupValue& v) {
  std::string text;
  if constexpr (A::kWriting) text = to_string(v);
  a.intern("value", text);
  if constexpr (requires { a.fail(""); }) {
    if (a.failed()) return;
    auto parsed = parse_cgroup_value(key.file, text);
    if (parsed) v = std::move(*parsed);
    if (!parsed) a.fail("value: " + parsed.error().context);
  }
}

template <class A>
void describe(A& a, Node& v) {
  a.intern("name", v.name);
  if constexpr (A::kWriting) {
    a("annotations", store::recorded_node_annotations(v.annotations));
  } else {
    a("annotations", v.annotations);
  }
  a("cpu_capacity", v.cpu_capacity);
  a("memory_capacity", v.memory_capacity);
  a("cpu_allocatable", v.cpu_allocatable);
  a("memory_allocatable", v.memory_allocatable);
  a("batch_cpu_allocatable", v.batch_cpu_allocatable);
  a("batch_memory_allocatable", v.batch_memory_allocatable);
  a("mid_cpu_allocatable", v.mid_cpu_allocatable);
  a("mid_memory_allocatable", v.mid_memory_allocatable);
  a("cpu_reserved", v.cpu_reserved);
  a("memory_reserved", v.memory_reserved);
  a("reserved_cpus", v.reserved_cpus);
  a("system_cpus", v.system_cpus);
  a("cpu_policy", v.cpu_policy);
}

template <class A>
void describe(A& a, Processor& v) {
  a("cpu", v.cpu);
  a("core", v.core);
  a("socket", v.socket);
  a("numa", v.numa);
}

template <class A>
void describe(A& a, NodeSignals& v) {
  a("seq", v.seq);
  a("at", v.at);
  a("node_used", v.node_used);
  a("kubepods_used", v.kubepods_used);
  a("be_used", v.be_used);
  a("be_outside_used", v.be_outside_used);
  a("host_app_used", v.host_app_used);
  a("memory_used", v.memory_used);
  a("memory_total", v.memory_total);
}

template <class A>
void describe(A& a, StallShare& v) {
  a("some_percent", v.some_percent);
}

template <class A>
void describe(A& a, KubeletCpus& v) {
  a("policy", v.policy);
  a("exclusive", v.exclusive);
}

template <class A>
void describe(A& a, WeightRules& v) {
  a("pods", v.pods);
  a("containers", v.containers);
}

template <class A>
void describe(A& a, CpuPool& v) {
  a("numa", v.numa);
  a("cpus", v.cpus);
}

template <class A>
void describe(A& a, NodeCpuPools& v) {
  a("shared", v.shared);
  a("be", v.be);
  a("be_manager", v.be_manager);
  a("system", v.system);
  a("kubelet", v.kubelet);
}

/// Without block IO and the other stalls, which no rule reads here.
template <class A>
void describe(A& a, WorkloadUsage& v) {
  a("at", v.at);
  a("cpu", v.cpu);
  a("memory", v.memory);
  a("throttled", v.throttled);
  a("memory_with_cache", v.memory_with_cache);
  a("working_set", v.working_set);
  a("cpu_stall", v.stalls.cpu);
}

template <class A>
void describe(A& a, LsSignal& v) {
  a.intern("uid", v.uid);
  a("at", v.at);
  a("window", v.window);
  a("cpu_full_percent", v.cpu_full_percent);
  a("throttled", v.throttled);
  a("be_degree", v.be_degree);
}

template <class A>
void describe(A& a, CpuMax& v) {
  a("quota", v.quota);
  a("period", v.period);
}

template <class A>
void describe(A& a, BeRoot& v) {
  a("path", v.path);
  a("cpu_max", v.cpu_max);
  a("cpuset", v.cpuset);
  a("memory", v.memory);
}

template <class A>
void describe(A& a, StorageTable::Device& v) {
  a.intern("name", v.name);
  a.intern("number", v.number);
  a("disks", v.disks);
  a.intern("mapper", v.mapper);
  a.intern("volume_group", v.volume_group);
}

template <class A>
void describe(A& a, StorageTable::Mount& v) {
  a.intern("mount_point", v.mount_point);
  a.intern("number", v.number);
}

template <class A>
void describe(A& a, StorageTable& v) {
  a("devices", v.devices);
  a("mounts", v.mounts);
}

template <class A>
void describe(A& a, ResctrlState& v) {
  a("l3_ids", v.l3_ids);
  a("mb_ids", v.mb_ids);
  a("cdp", v.cdp);
  a("cbm_mask", v.cbm_mask);
  a("min_cbm_bits", v.min_cbm_bits);
  a("bandwidth_gran", v.bandwidth_gran);
  a("min_bandwidth", v.min_bandwidth);
  a("amd", v.amd);
  a("megabytes", v.megabytes);
  a("closids", v.closids);
  a("groups", v.groups);
}

template <class A>
void describe(A& a, EvictAmounts& v) {
  for (const auto r : kAllEvictResources) a("amount", v[r]);
}

template <class A>
void describe(A& a, EvictionWish& v) {
  a.intern("uid", v.uid);
  a.intern("ns", v.ns);
  a.intern("name", v.name);
  a("reason", v.reason);
  a.intern("plugin", v.plugin);
  a("frees", v.frees);
  a("resource", v.resource);
  a("since", v.since);
  a.intern("owner", v.owner);
  a("node_used", v.node_used);
}

template <class A>
void describe(A& a, EvictionOutcome& v) {
  a("wish", v.wish);
  a("result", v.result);
  a("detail", v.detail);
  a("at", v.at);
  a("retry_after", v.retry_after);
}

/// What was written and where it failed; not what stood there before.
template <class A>
void describe(A& a, Outcome& v) {
  a("key", v.key);
  a("kind", v.kind);
  a.intern("value", v.value);
  a.intern("error", v.error);
  a("restored", v.restored);
}

}  // namespace koordlet

#include "store/recording_pod.hpp"
#include "store/recording_slo.hpp"
