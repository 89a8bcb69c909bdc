#pragma once

/* What sched_latency.bpf.c and its reader share: the values of the maps. */

#include <linux/types.h>

#define KOORDLET_LATENCY_SLOTS 26

/* One cgroup on one CPU: only that CPU writes, so plain additions do. All values only grow. */
struct koordlet_latency {
  __u64 wait_ns;
  __u64 dispatches;
  __u64 behind_best_effort_ns;
  __u64 slots[KOORDLET_LATENCY_SLOTS]; /* see kernel/run_queue.hpp */
};

/* How long best-effort tasks had one CPU, as one word that any CPU can read at any time:
 * with kRunning set, one has it now and the sum at time t is t - (word without kRunning);
 * without, the word is the sum. Alone on its cache line. */
#define KOORDLET_BEST_EFFORT_RUNNING (1ULL << 63)
struct koordlet_best_effort_clock {
  __u64 word;
  __u64 pad[7];
};

/* Of one task: when and where its present wait began; since_ns 0: it does not wait. */
struct koordlet_waiting {
  __u64 since_ns;
  __u64 best_effort_ns; /* the clock of that CPU then */
  __u32 cpu;
  __u32
      switches; /* how often the task had left a CPU by then: more later means that it ran since */
};
