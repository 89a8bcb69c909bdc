#pragma once

/* The few fields of kernel types that our programs read. Only names count: preserve_access_index
 * makes libbpf put in the offsets of the running kernel (CO-RE), so order and missing neighbours do
 * not matter. A "___" suffix is a flavour: the same kernel type as another version spells it. */

#include <linux/bpf.h>

typedef _Bool bool;
#define true 1
#define false 0

/* These values are never used: they depend on the configuration, bpf_core_enum_value asks the
 * kernel. */
enum cgroup_subsys_id { cpu_cgrp_id = 1, memory_cgrp_id = 4 };
/* These are: the same since 5.13. */
enum psi_states {
  PSI_IO_SOME,
  PSI_IO_FULL,
  PSI_MEM_SOME,
  PSI_MEM_FULL,
  PSI_CPU_SOME,
  PSI_CPU_FULL
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  long counter;
} atomic_long_t;

struct kernfs_node {
  __u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
  struct cgroup* cgroup;
};

struct task_cputime {
  unsigned long long sum_exec_runtime;
};

struct cgroup_base_stat {
  struct task_cputime cputime;
};

struct psi_group {
  bool enabled;
  __u64 total[12]; /* [aggregator][state]; the first aggregator is the one of the files */
};

struct cgroup {
  struct cgroup_subsys_state self;
  int level;
  struct kernfs_node* kn;
  struct cgroup_subsys_state* subsys[16];
  struct cgroup_base_stat bstat;
  struct psi_group* psi;
};

struct css_set {
  struct cgroup_subsys_state* subsys[16];
  struct cgroup* dfl_cgrp;
};

struct thread_info {
  __u32 cpu;
};

struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;
  int on_cpu;
  int pid;
  unsigned long nvcsw;
  unsigned long nivcsw;
  struct css_set* cgroups;
};

/* Before 5.14. */
struct task_struct___state {
  volatile long state;
};

/* Before 5.16. */
struct task_struct___cpu {
  unsigned int cpu;
};

struct cfs_bandwidth {
  int nr_periods;
  int nr_throttled;
  __u64 throttled_time;
};

struct task_group {
  struct cgroup_subsys_state css;
  struct cfs_bandwidth cfs_bandwidth;
};

struct page_counter {
  atomic_long_t usage;
};

struct mem_cgroup {
  struct cgroup_subsys_state css;
  struct page_counter memory;
};

/* Since 6.4 task storage comes from an allocator that is safe in any context; the field tells. */
struct bpf_mem_alloc {};
struct bpf_local_storage_map {
  struct bpf_mem_alloc selem_ma;
};

struct bpf_iter_meta {
  struct seq_file* seq;
};

struct bpf_iter__cgroup {
  struct bpf_iter_meta* meta;
  struct cgroup* cgroup;
};

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

#pragma clang attribute pop
