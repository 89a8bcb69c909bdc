#pragma once

#include "model/node_slo.hpp"
#include "store/recording_archive.hpp"

/// What is recorded of a NodeSLO: all of it but host applications, which no rule reads. Included
/// by recording_values.hpp only.
namespace koordlet {

template <class A>
void describe(A& a, EvictThresholds& v) {
  for (const auto& field : kEvictFields) a(field.name, v.*field.value);
  a("cpu_policy", v.cpu_policy);
}

template <class A>
void describe(A& a, ThresholdStrategy& v) {
  a("enable", v.enable);
  a("cpu_suppress_threshold_percent", v.cpu_suppress_threshold_percent);
  a("cpu_suppress_min_percent", v.cpu_suppress_min_percent);
  a("cpu_suppress_policy", v.cpu_suppress_policy);
  a("memory_evict_threshold_percent", v.memory_evict_threshold_percent);
  a("memory_evict_lower_percent", v.memory_evict_lower_percent);
  a("evict", v.evict);
}

template <class A>
void describe(A& a, PressureStrategy& v) {
  a("enable", v.enable);
  a("mid_percent", v.mid_percent);
  a("high_percent", v.high_percent);
  a("exit_margin_percent", v.exit_margin_percent);
  a("factor_none_permille", v.factor_none_permille);
  a("factor_mid_permille", v.factor_mid_permille);
  a("factor_high_permille", v.factor_high_permille);
  a("relax_hold_samples", v.relax_hold_samples);
  a("relax_step_permille", v.relax_step_permille);
  a("relax_guard", v.relax_guard);
  a("raise_by_psi", v.raise_by_psi);
  a("raise_by_interference", v.raise_by_interference);
  a("psi_mid_percent", v.psi_mid_percent);
  a("psi_high_percent", v.psi_high_percent);
  a("degree_mid", v.degree_mid);
  a("degree_high", v.degree_high);
  a("raise_min_be_percent", v.raise_min_be_percent);
  a("min_quota_us", v.min_quota_us);
  a("default_request_milli", v.default_request_milli);
  a("burst_gate_percent", v.burst_gate_percent);
}

template <class A>
void describe(A& a, ResctrlClass& v) {
  a("enable", v.enable);
  a("start_percent", v.start_percent);
  a("end_percent", v.end_percent);
  a("mba_percent", v.mba_percent);
}

template <class A>
void describe(A& a, ResctrlStrategy& v) {
  a("lsr", v.lsr);
  a("ls", v.ls);
  a("be", v.be);
}

template <class A>
void describe(A& a, CpuQosClass& v) {
  a("enable", v.enable);
  a("group_identity", v.group_identity);
  a("sched_idle", v.sched_idle);
}

template <class A>
void describe(A& a, CpuQosStrategy& v) {
  a("lsr", v.lsr);
  a("ls", v.ls);
  a("be", v.be);
  a("core_sched", v.core_sched);
}

template <class A>
void describe(A& a, BlkIoClass& v) {
  a("enable", v.enable);
  a("blocks", v.blocks);
}

template <class A>
void describe(A& a, BlkIoStrategy& v) {
  a("be", v.be);
  a("root", v.root);
}

template <class A>
void describe(A& a, SystemStrategy& v) {
  a("min_free_kbytes_factor", v.min_free_kbytes_factor);
  a("watermark_scale_factor", v.watermark_scale_factor);
  a("memcg_reap_background", v.memcg_reap_background);
  a("group_identity_enabled", v.group_identity_enabled);
  a("idle_saver_wmark", v.idle_saver_wmark);
  a("page_cache_limit_enabled", v.page_cache_limit_enabled);
  a("sched_features", v.sched_features);
}

template <class A>
void describe(A& a, MemoryQosClasses& v) {
  a("lsr", v.lsr);
  a("ls", v.ls);
  a("be", v.be);
  a("system", v.system);
  a("root", v.root);
}

template <class A>
void describe(A& a, NodeSlo& v) {
  a("threshold", v.threshold);
  a("pressure", v.pressure);
  a("resctrl", v.resctrl);
  a("cpu_qos", v.cpu_qos);
  a("blkio", v.blkio);
  a("system", v.system);
  a("burst", v.burst);
  a("memory_qos", v.memory_qos);
}

}  // namespace koordlet
