#include "app/config_table.hpp"

namespace koordlet::app {

void add_idle_buffer(std::vector<Setting>& out) {
#define KOORDLET_IDLE(member) KOORDLET_AT(qos.policy.idle_buffer.member)
  out.push_back(number("qos.idle_buffer.cores",
                       KOORDLET_IDLE(cores),
                       0,
                       CpuSet::kMaxCpus,
                       "logical CPUs that BE leaves idle for others, looked at each qos.fast_poll; "
                       "0: off"));
  out.push_back(number("qos.idle_buffer.hysteresis",
                       KOORDLET_IDLE(hysteresis),
                       1,
                       CpuSet::kMaxCpus,
                       "so many more must be idle before BE gets one back a tick"));
  out.push_back(choice<policy::IdleBufferBy>("qos.idle_buffer.by",
                                             KOORDLET_IDLE(by),
                                             {{"auto", policy::IdleBufferBy::kSuppress},
                                              {"quota", policy::IdleBufferBy::kQuota},
                                              {"cpuset", policy::IdleBufferBy::kCpuset}},
                                             "what bounds BE; auto: as qos.suppress while that is "
                                             "on, else the quota of the BE root"));
#undef KOORDLET_IDLE
}

}  // namespace koordlet::app
