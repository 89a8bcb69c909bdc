/* Run-queue latency by cgroup. A task is stamped when it becomes runnable without running (woken,
 * or preempted) and charged to its own cgroup when it gets a CPU.
 *
 * Every hook below runs under the lock of the run queue concerned, so that the stamp of a task is
 * never written twice at once. On kernels before 6.4 storage for a task comes from kmalloc, which
 * may wake kswapd and so take a run-queue lock itself: there it is made where no such lock is held,
 * at fork, and for the tasks of before by an iterator that user space runs once. */
#include "sched_latency.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_types.h"

#define E2BIG 7

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set between open and load: cgroups of the default hierarchy (v2), or of the cpu controller's. */
const volatile bool default_hierarchy = true;
static const struct koordlet_latency kNothing;

__u32 best_effort_cgroups; /* size of the set; user space writes it after each change */
__u32 table_full;          /* user space clears it when it freed an entry */
__u64 dropped;

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct koordlet_waiting);
} waiting SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  /* Made as cgroups come: all at once would be 1 MB for each possible CPU. */
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 4096);
  __type(key, __u64);
  __type(value, struct koordlet_latency);
} latency SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64);
  __type(value, __u8);
} best_effort SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* possible CPUs; set before load */
  __type(key, __u32);
  __type(value, struct koordlet_best_effort_clock);
} clocks SEC(".maps");

static __always_inline bool is_runnable(const struct task_struct* p) {
  if (bpf_core_field_exists(p->__state)) return p->__state == 0;
  const struct task_struct___state* old = (const void*)p;
  return old->state == 0;
}

static __always_inline __u32 cpu_of(const struct task_struct* p) {
  if (bpf_core_field_exists(p->thread_info.cpu)) return p->thread_info.cpu;
  const struct task_struct___cpu* old = (const void*)p;
  return old->cpu;
}

/* The id of a cgroup is the inode of its directory. 0: none. */
static __always_inline __u64 cgroup_of(const struct task_struct* p) {
  if (default_hierarchy) return p->cgroups->dfl_cgrp->kn->id;
  return p->cgroups->subsys[bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id)]
      ->cgroup->kn->id;
}

static __always_inline __u64 best_effort_time(__u32 cpu, __u64 now) {
  const struct koordlet_best_effort_clock* clock = bpf_map_lookup_elem(&clocks, &cpu);
  if (!clock) return 0;
  const __u64 word = *(const volatile __u64*)&clock->word;
  return word & KOORDLET_BEST_EFFORT_RUNNING ? now - (word & ~KOORDLET_BEST_EFFORT_RUNNING) : word;
}

/* Of the CPU that this runs on. */
static __always_inline void set_best_effort_running(__u32 cpu, bool running, __u64 now) {
  struct koordlet_best_effort_clock* clock = bpf_map_lookup_elem(&clocks, &cpu);
  if (!clock) return;
  const __u64 word = clock->word;
  if (running == !!(word & KOORDLET_BEST_EFFORT_RUNNING)) return;
  const __u64 turned = now - (word & ~KOORDLET_BEST_EFFORT_RUNNING);
  *(volatile __u64*)&clock->word = running ? turned | KOORDLET_BEST_EFFORT_RUNNING : turned;
}

static __always_inline struct koordlet_waiting* storage(struct task_struct* p) {
  const __u64 flags = bpf_core_field_exists(struct bpf_local_storage_map, selem_ma)
                          ? BPF_LOCAL_STORAGE_GET_F_CREATE
                          : 0;
  return bpf_task_storage_get(&waiting, p, 0, flags);
}

static __always_inline __u32 switches_of(const struct task_struct* p) {
  return p->nvcsw + p->nivcsw;
}

/* Before 6.2 the kernel refuses storage while another program on this CPU is in the middle of using
 * some, so a dispatch may be missed. Its stamp must not be taken for that of a later wait. */
static __always_inline bool is_waiting(const struct koordlet_waiting* w, struct task_struct* p) {
  return w->since_ns && w->switches == switches_of(p);
}

static __always_inline void stamp(struct koordlet_waiting* w,
                                  struct task_struct* p,
                                  __u32 cpu,
                                  __u64 now) {
  w->switches = switches_of(p);
  w->best_effort_ns = best_effort_time(cpu, now);
  w->cpu = cpu;
  w->since_ns = now;
}

static __always_inline int woken(struct task_struct* p) {
  /* Woken before it gave up the CPU: it goes on running, and waits for nothing. */
  if (p->on_cpu) return 0;
  struct koordlet_waiting* w = storage(p);
  /* A stamp is there when it was preempted on its way to sleep: it waits since then. */
  if (!w || is_waiting(w, p)) return 0;
  stamp(w, p, cpu_of(p), bpf_ktime_get_ns());
  return 0;
}

static __always_inline __u32 slot_of(__u64 wait_ns) {
  __u64 us = wait_ns / 1000;
  __u32 slot = 0;
  if (us >= 1ULL << (KOORDLET_LATENCY_SLOTS - 2)) return KOORDLET_LATENCY_SLOTS - 1;
  if (us >= 1 << 16) us >>= 16, slot += 16;
  if (us >= 1 << 8) us >>= 8, slot += 8;
  if (us >= 1 << 4) us >>= 4, slot += 4;
  if (us >= 1 << 2) us >>= 2, slot += 2;
  if (us >= 1 << 1) us >>= 1, slot += 1;
  return slot + us; /* us is 0 or 1 by now: 0 only for waits below one */
}

static __always_inline struct koordlet_latency* counters_of(__u64 cgroup) {
  struct koordlet_latency* c = bpf_map_lookup_elem(&latency, &cgroup);
  if (c) return c;
  /* A full table is searched on every CPU before it says so: not again at each switch. */
  if (table_full) return 0;
  if (bpf_map_update_elem(&latency, &cgroup, &kNothing, BPF_NOEXIST) == -E2BIG) table_full = 1;
  return bpf_map_lookup_elem(&latency, &cgroup);
}

static __always_inline void dispatched(struct task_struct* p, __u64 cgroup, __u64 now) {
  struct koordlet_waiting* w = bpf_task_storage_get(&waiting, p, 0, 0);
  if (!w || !w->since_ns) return;
  const bool valid = is_waiting(w, p);
  const __u64 since = w->since_ns;
  w->since_ns = 0;
  if (!valid) return;
  if (now < since) return; /* stamped by another CPU after this one had looked at the clock */
  const __u64 wait = now - since;
  struct koordlet_latency* c = counters_of(cgroup);
  if (!c) {
    __sync_fetch_and_add(&dropped, 1);
    return;
  }
  __u64 behind = best_effort_time(w->cpu, now) - w->best_effort_ns;
  if ((__s64)behind < 0) behind = 0;
  if (behind > wait) behind = wait;
  const __u32 slot = slot_of(wait);
  c->wait_ns += wait;
  c->dispatches += 1;
  c->behind_best_effort_ns += behind;
  if (slot < KOORDLET_LATENCY_SLOTS) c->slots[slot] += 1;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(koordlet_wakeup, struct task_struct* p) { return woken(p); }

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(koordlet_new, struct task_struct* p) { return woken(p); }

SEC("tp_btf/sched_switch")
int BPF_PROG(koordlet_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  const __u64 now = bpf_ktime_get_ns();
  const __u32 cpu = bpf_get_smp_processor_id();
  const bool idle = next->pid == 0;
  const __u64 cgroup = idle ? 0 : cgroup_of(next);

  set_best_effort_running(
      cpu, best_effort_cgroups && cgroup && bpf_map_lookup_elem(&best_effort, &cgroup), now);
  if (prev->pid != 0 && (preempt || is_runnable(prev))) {
    struct koordlet_waiting* w = storage(prev);
    if (w) stamp(w, prev, cpu, now);
  }
  if (!idle) dispatched(next, cgroup, now);
  return 0;
}

/* Process context, before the new task can run. */
SEC("tp_btf/task_newtask")
int BPF_PROG(koordlet_fork, struct task_struct* p) {
  bpf_task_storage_get(&waiting, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  return 0;
}

/* User space runs it once, after the others are attached. */
SEC("iter/task")
int koordlet_tasks(struct bpf_iter__task* ctx) {
  struct task_struct* p = ctx->task;
  if (p) bpf_task_storage_get(&waiting, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  return 0;
}
