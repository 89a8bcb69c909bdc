#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/hook.hpp"
#include "model/pod.hpp"
#include "model/proposal.hpp"
#include "policy/config.hpp"
#include "policy/start_values.hpp"

/// What a container gets before its first instruction (hooks reference 5-13). Pure: the answer
/// follows from the pod, the container, what their annotations say, and the world as the last tick
/// saw it. Where a plugin writes the same file, the number comes from the plugin's own function.
namespace koordlet::policy {

/// Hooks in the order in which they run: what a later one says is laid over an earlier one.
enum class Hook {
  kBatchResources,    ///< label BE: shares, quota, memory limit by batch resources
  kCpuNormalization,  ///< label LS or none: quota of the limit / the node's ratio
  kCpuset,            ///< CPUs that the scheduler gave, or those that its class shares
  kMemoryQos,         ///< v2: memory.min, .low, .high, .oom.group
  kCpuIdle,           ///< v2: cpu.idle of BE containers
  kOomScoreAdj,
  kResctrl,  ///< control group of its class
  kGpu,
  kRdma,
};
inline constexpr std::array kAllHooks{Hook::kBatchResources,
                                      Hook::kCpuNormalization,
                                      Hook::kCpuset,
                                      Hook::kMemoryQos,
                                      Hook::kCpuIdle,
                                      Hook::kOomScoreAdj,
                                      Hook::kResctrl,
                                      Hook::kGpu,
                                      Hook::kRdma};
const char* to_string(Hook hook);  ///< "batch_resources", ...: as the keys of [hooks]

bool is_on(Hook hook, const HookSwitches& switches);

/// A share of one GPU. Absent: not stated.
struct GpuShare {
  int minor = 0;
  std::optional<std::int64_t> core_percent{}, memory_percent{};
  std::optional<Bytes> memory{};
  friend bool operator==(const GpuShare&, const GpuShare&) = default;
};

/// What the pod's annotations say of one container. An error belongs to the hook that needs it: a
/// text that cannot be read is never taken for an absent one.
struct HookAnnotations {
  Result<void> batch{};  ///< extended-resource-spec; its amounts are the container's
  Result<CpuAllocation> allocation{CpuAllocation{}};
  Result<std::optional<std::int64_t>> oom_score_adj{std::optional<std::int64_t>{}};
  Result<std::vector<GpuShare>> gpus{std::vector<GpuShare>{}};
  Result<std::vector<std::string>> rdma{std::vector<std::string>{}};  ///< PCI ids
};

/// The world as the last tick saw it.
struct HookWorld {
  CgroupVersion cgroup_version = CgroupVersion::kV2;
  EffectiveConfig config{};
  std::optional<NormalizationRatio> ratio{};
  std::optional<CpuPools> pools{};  ///< nullopt: no topology is known
  CpuSet be_cpus{};                 ///< of the BE root, effective; empty: unknown
  // Memory QoS: as the plugin's last step left it.
  bool has_memory_files = false;
  std::optional<Bytes> memory_total{}, memory_allocatable{};
  Bytes memory_min_wanted{};  ///< of all pods that the state knows
  /// Pressure rule: nullopt while nothing was decided yet.
  std::optional<int> factor_permille{};
  /// What control files are to hold; outlives the world, and may be newer. nullptr: nothing.
  const DesiredTable* desired = nullptr;
  std::set<std::string> resctrl_groups{};    ///< that there are
  std::map<std::string, HookDevice> rdma{};  ///< by PCI id
  std::optional<HookDevice> rdma_cm{};       ///< connection manager
};

/// One container on the way to its values. Everything outlives the calls.
struct HookSubject {
  const Pod& pod;
  const Container& container;
  const HookContainer& given;  ///< as the runtime has it
  const HookAnnotations& annotations;
  bool is_known = false;  ///< the state knows the pod: memory QoS counts it already
};

/// What one hook says of one container; empty: nothing. Errors name the annotation and what was
/// expected.
Result<HookAdjustment> hook_values(Hook hook,
                                   const HookSubject& subject,
                                   const HookWorld& world,
                                   const HookSwitches& switches);

/// Quota of the pod in the desired table; nullopt: none.
std::optional<QuotaUs> held_cap(const Pod& pod, const HookWorld& world);
/// Quota that the CPU rules leave the pod now: the one in the desired table, else what the pressure
/// rule will write for it. nullopt: none, or not the container's business (cgroup v1 refuses a
/// child's quota above its parent's, so there the pod's own file has to do).
std::optional<QuotaUs> start_cap(const Pod& pod, const HookWorld& world);

/// Lays `newer` over `older`: environment and devices by name.
void lay_over(HookAdjustment& older, HookAdjustment newer);
/// The part of `want` that `have` does not say already. A quota or memory limit that `have` does
/// not state is none.
HookResources differing(const HookResources& want, const HookResources& have);
bool is_empty(const HookResources& resources);
bool is_empty(const HookAdjustment& adjustment);

}  // namespace koordlet::policy
