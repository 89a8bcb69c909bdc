/* Counters of all cgroups below one directory, written into a memory-mapped array: the buffer of
 * the iterator itself ends after some 500 cgroups. Two programs do the same; they differ in the
 * kernel function that brings the CPU time up to date, and user space loads one of them. */
#include "cgroup_iterator.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_types.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* 6.1 to 6.15. Weak: a kernel has one or the other. */
extern void cgroup_rstat_flush(struct cgroup* cgrp) __ksym __weak;
/* Later. */
extern void css_rstat_flush(struct cgroup_subsys_state* css) __ksym __weak;

__u32 visited; /* cgroups seen in this pass; user space sets it to 0 before */
__u32
    recorded; /* of them, those that have counters; may exceed the array: the rest is not written */

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1); /* set before load */
  __type(key, __u32);
  __type(value, struct koordlet_cgroup);
} records SEC(".maps");

static __always_inline void record(struct cgroup* cgrp) {
  visited += 1;
  /* The kernel keeps no counters for the top: its files are made from those of the node. */
  if (cgrp->level == 0) return;
  const __u32 index = recorded;
  recorded = index + 1;
  struct koordlet_cgroup* out = bpf_map_lookup_elem(&records, &index);
  if (!out) return;

  __u32 flags = 0;
  out->id = cgrp->kn->id;
  out->cpu_ns = cgrp->bstat.cputime.sum_exec_runtime;

  const struct task_group* group =
      (const void*)cgrp->subsys[bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id)];
  if (group && bpf_core_field_exists(group->cfs_bandwidth.nr_periods)) {
    out->periods = BPF_CORE_READ(group, cfs_bandwidth.nr_periods);
    out->throttled = BPF_CORE_READ(group, cfs_bandwidth.nr_throttled);
    out->throttled_ns = BPF_CORE_READ(group, cfs_bandwidth.throttled_time);
    flags |= KOORDLET_HAS_THROTTLE;
  }
  const struct mem_cgroup* memory =
      (const void*)cgrp->subsys[bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id)];
  if (memory && bpf_core_field_exists(memory->memory.usage)) {
    out->memory_pages = BPF_CORE_READ(memory, memory.usage.counter);
    flags |= KOORDLET_HAS_MEMORY;
  }
  const struct psi_group* psi = cgrp->psi;
  if (psi && (!bpf_core_field_exists(psi->enabled) || psi->enabled)) {
    out->cpu_some_ns = psi->total[PSI_CPU_SOME];
    out->cpu_full_ns = psi->total[PSI_CPU_FULL];
    out->memory_some_ns = psi->total[PSI_MEM_SOME];
    out->memory_full_ns = psi->total[PSI_MEM_FULL];
    out->io_some_ns = psi->total[PSI_IO_SOME];
    out->io_full_ns = psi->total[PSI_IO_FULL];
    flags |= KOORDLET_HAS_PRESSURE;
  }
  out->flags = flags;
}

/* The walk begins at the directory itself, and flushing it flushes all below. */
SEC("iter.s/cgroup")
int koordlet_cgroups(struct bpf_iter__cgroup* ctx) {
  struct cgroup* cgrp = ctx->cgroup;
  if (!cgrp) return 0;
  if (visited == 0) cgroup_rstat_flush(cgrp);
  record(cgrp);
  return 0;
}

SEC("iter.s/cgroup")
int koordlet_css(struct bpf_iter__cgroup* ctx) {
  struct cgroup* cgrp = ctx->cgroup;
  if (!cgrp) return 0;
  if (visited == 0) css_rstat_flush(&cgrp->self);
  record(cgrp);
  return 0;
}
