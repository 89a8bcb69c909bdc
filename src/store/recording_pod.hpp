#pragma once

#include <map>
#include <string>

#include "model/pod.hpp"
#include "store/recording_archive.hpp"

/// What is recorded of a pod. Included by recording_values.hpp only.
namespace koordlet::store {

/// Labels and annotations of pods that rules read; where only presence counts, without the value.
using Texts = std::map<std::string, std::string>;
Texts recorded_labels(const Texts& all);
Texts recorded_annotations(const Texts& all);

}  // namespace koordlet::store

namespace koordlet {

template <class A>
void describe(A& a, Resources& v) {
  a("cpu", v.cpu);
  a("memory", v.memory);
  a("batch_cpu", v.batch_cpu);
  a("batch_memory", v.batch_memory);
  a("mid_cpu", v.mid_cpu);
  a("mid_memory", v.mid_memory);
}

template <class A>
void describe(A& a, Container& v) {
  a.intern("name", v.name);
  a.intern("runtime", v.runtime);
  a.intern("id", v.id);
  a("running", v.running);
  a("init", v.init);
  a("requests", v.requests);
  a("limits", v.limits);
  a("cgroup", v.cgroup);
}

template <class A>
void describe(A& a, PodOwner& v) {
  a.intern("kind", v.kind);
  a.intern("name", v.name);
  a.intern("uid", v.uid);
}

template <class A>
void describe(A& a, IoBlock& v) {
  a.intern("name", v.name);
  a("kind", v.kind);
  a("read_bps", v.read_bps);
  a("write_bps", v.write_bps);
  a("read_iops", v.read_iops);
  a("write_iops", v.write_iops);
  a("weight_percent", v.weight_percent);
  a("read_latency_us", v.read_latency_us);
  a("write_latency_us", v.write_latency_us);
  a("read_latency_percent", v.read_latency_percent);
  a("write_latency_percent", v.write_latency_percent);
  a("user_model", v.user_model);
  a("model", v.model);
}

template <class A>
void describe(A& a, CpuBurstStrategy& v) {
  a("policy", v.policy);
  a("burst_percent", v.burst_percent);
  a("quota_percent", v.quota_percent);
  a("quota_period_seconds", v.quota_period_seconds);
  a("pool_threshold_percent", v.pool_threshold_percent);
}

template <class A>
void describe(A& a, MemoryQosStrategy& v) {
  a("enable", v.enable);
  a("min_percent", v.min_percent);
  a("low_percent", v.low_percent);
  a("throttling_percent", v.throttling_percent);
  a("wmark_ratio", v.wmark_ratio);
  a("wmark_scale_permill", v.wmark_scale_permill);
  a("wmark_min_adj", v.wmark_min_adj);
  a("priority_enable", v.priority_enable);
  a("priority", v.priority);
  a("oom_kill_group", v.oom_kill_group);
  a("page_cache_enable", v.page_cache_enable);
  a("page_cache_limit_percent", v.page_cache_limit_percent);
  a("page_cache_limit_size", v.page_cache_limit_size);
  a("page_cache_reclaim_sync", v.page_cache_reclaim_sync);
}

template <class A>
void describe(A& a, PodMemoryQos& v) {
  a("policy", v.policy);
  a("fields", v.fields);
}

template <class A>
void describe(A& a, Pod& v) {
  a.intern("uid", v.uid);
  a.intern("ns", v.ns);
  a.intern("name", v.name);
  if constexpr (A::kWriting) {
    a("labels", store::recorded_labels(v.labels));
    a("annotations", store::recorded_annotations(v.annotations));
  } else {
    a("labels", v.labels);
    a("annotations", v.annotations);
  }
  a("phase", v.phase);
  a("kube_qos", v.kube_qos);
  a("qos", v.qos);
  a("priority", v.priority);
  a("containers", v.containers);
  a("cgroup", v.cgroup);
  a("terminating", v.terminating);
  a("owner", v.owner);
  a("allocated_cpus", v.allocated_cpus);
  a("allocated_numa", v.allocated_numa);
  a("io_blocks", v.io_blocks);
  a("overhead", v.overhead);
  a("burst", v.burst);
  a("memory_qos", v.memory_qos);
}

}  // namespace koordlet
