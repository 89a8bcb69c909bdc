#include "app/config_table.hpp"

namespace koordlet::app {
namespace {

void add_connection(std::vector<Setting>& out) {
  out.push_back(boolean("hooks.nri",
                        KOORDLET_AT(hooks.nri),
                        "give containers their values as they start, as a plugin of the runtime"));
  out.push_back(text("hooks.socket",
                     KOORDLET_AT(hooks.connection.socket),
                     TextRule::kAbsolutePath,
                     "the runtime's NRI socket, as this process sees it"));
  out.push_back(text("hooks.name",
                     KOORDLET_AT(hooks.connection.name),
                     TextRule::kAny,
                     "the plugin's name: 1 to 63 of A-Z a-z 0-9 _ . + -"));
  out.push_back(text("hooks.index",
                     KOORDLET_AT(hooks.connection.index),
                     TextRule::kAny,
                     "its place among the plugins: two digits"));
  out.push_back(choice<HookFailurePolicy>(
      "hooks.failure_policy",
      KOORDLET_AT(hooks.connection.plugin.policy),
      {{"ignore", HookFailurePolicy::kIgnore}, {"fail", HookFailurePolicy::kFail}},
      "of a hook that fails: the container starts without its values, or not at all"));
}

}  // namespace

void add_hooks(std::vector<Setting>& out) {
  add_connection(out);
#define KOORDLET_HOOK(member, about) \
  out.push_back(boolean("hooks." #member, KOORDLET_AT(qos.policy.hooks.member), about))
  KOORDLET_HOOK(batch_resources, "shares, quota and memory limit of BE by batch resources");
  KOORDLET_HOOK(cpuset, "CPUs that the scheduler gave, or that the class shares");
  KOORDLET_HOOK(
      reconcile,
      "each evaluation keeps batch_resources, cpuset and cpu_normalization, hooks or not");
  KOORDLET_HOOK(cpuset_keeps_quota, "a container with CPUs of its own keeps its quota");
  KOORDLET_HOOK(cpu_normalization, "quota of LS divided by the node's ratio of CPU models");
  KOORDLET_HOOK(memory_qos, "cgroup v2: memory.min, .low, .high as [qos.memory_qos] says");
  KOORDLET_HOOK(cpu_idle, "cgroup v2: cpu.idle of BE containers too, with qos.identity.be_idle");
  KOORDLET_HOOK(oom_score_adj, "obey the annotations koordinator.sh/oom-score-adj and -spec");
  KOORDLET_HOOK(resctrl, "start in the control group of the class; the runtime must know RDT");
  KOORDLET_HOOK(gpu, "environment and mounts of the GPUs that the scheduler gave");
  KOORDLET_HOOK(rdma, "device nodes of the RDMA functions that the scheduler gave; NRI only");
  KOORDLET_HOOK(group_identity, "an evaluation at once when a pod or a container starts");
  KOORDLET_HOOK(core_sched, "the same for core scheduling when a container starts");
#undef KOORDLET_HOOK
}

}  // namespace koordlet::app
