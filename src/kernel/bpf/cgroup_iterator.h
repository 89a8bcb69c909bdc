#pragma once

/* What cgroup_iterator.bpf.c and its reader share. */

#include <linux/types.h>

enum koordlet_cgroup_flags {
  KOORDLET_HAS_THROTTLE = 1,
  KOORDLET_HAS_PRESSURE = 2,
  KOORDLET_HAS_MEMORY = 4,
};

/* One cgroup of a pass. A field whose flag is missing holds what an earlier pass left there. */
struct koordlet_cgroup {
  __u64 id; /* inode of the directory */
  __u64 cpu_ns;
  __u64 throttled_ns;
  __u64 memory_pages;
  __u64 cpu_some_ns;
  __u64 cpu_full_ns;
  __u64 memory_some_ns;
  __u64 memory_full_ns;
  __u64 io_some_ns;
  __u64 io_full_ns;
  __u32 periods;
  __u32 throttled;
  __u32 flags;
  __u32 pad;
};
