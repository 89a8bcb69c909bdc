#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/cpu_set.hpp"
#include "base/limit.hpp"
#include "base/units.hpp"

/// What a container runtime says about pods and containers at the moments when values can still be
/// put in, and what it is told. Plain values, the same for NRI and the CRI proxy.
namespace koordlet {

/// Absent: not said by the runtime, or, on the way to it, not to be changed. An absent limit is not
/// "unlimited".
struct HookResources {
  std::optional<std::uint64_t> cpu_shares{};                    ///< v1 scale, 2..262144
  std::optional<Limit<std::chrono::microseconds>> cpu_quota{};  ///< a period; above 0
  std::optional<std::chrono::microseconds> cpu_period{};        ///< above 0
  std::optional<CpuSet> cpus{};                                 ///< never empty
  std::optional<CpuSet> mems{};                                 ///< NUMA nodes, never empty
  std::optional<Limit<Bytes>> memory_limit{};                   ///< above 0
  std::optional<Limit<Bytes>> memory_swap_limit{};              ///< memory and swap together
  std::optional<std::string> rdt_class{};                       ///< resctrl group
  /// cgroup v2 only: file name to content ("memory.high": "1073741824").
  std::map<std::string, std::string> unified{};
  friend bool operator==(const HookResources&, const HookResources&) = default;
};
/// Lays what `newer` says over `older`.
HookResources merged(HookResources older, const HookResources& newer);

struct HookPod {
  std::string id;  ///< of the sandbox
  std::string uid;
  std::string ns;
  std::string name;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::string runtime_handler{};              ///< "" for the default one
  std::optional<CgroupPath> cgroup_parent{};  ///< the pod's own cgroup; nullopt: none, or no path
  HookResources overhead{};
  HookResources resources{};  ///< of the pod as a whole, where the runtime knows them
  friend bool operator==(const HookPod&, const HookPod&) = default;
};

/// "NAME=value" of an environment; order and repetitions count.
struct HookEnv {
  std::string name;
  std::string value{};
  friend bool operator==(const HookEnv&, const HookEnv&) = default;
};

struct HookContainer {
  enum class State { kUnknown, kCreated, kPaused, kRunning, kStopped };
  std::string id;
  std::string pod_id;  ///< HookPod::id
  std::string name;
  State state = State::kUnknown;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::vector<HookEnv> env{};
  HookResources resources{};
  std::optional<std::int64_t> oom_score_adj{};
  /// As the OCI spec has it and unchecked: a path, or "slice:prefix:name" of the systemd driver.
  std::string cgroups_path{};
  std::optional<std::uint32_t> pid{};  ///< nullopt: no process yet
  friend bool operator==(const HookContainer&, const HookContainer&) = default;
};

/// All that the runtime has, told once a connection.
struct HookInventory {
  std::vector<HookPod> pods{};
  std::vector<HookContainer> containers{};
};

struct HookMount {
  std::string destination;
  std::string type;
  std::string source;
  std::vector<std::string> options{};
  friend bool operator==(const HookMount&, const HookMount&) = default;
};
struct HookDevice {
  std::string path;
  char type = 'c';  ///< 'c', 'b'
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::optional<std::uint32_t> mode{};  ///< permission bits
  friend bool operator==(const HookDevice&, const HookDevice&) = default;
};

/// Changes to a container that is being made.
struct HookAdjustment {
  HookResources resources{};
  std::optional<std::int64_t> oom_score_adj{};  ///< -1000..1000
  std::map<std::string, std::string> annotations{};
  std::vector<HookEnv> env{};
  std::vector<HookMount> mounts{};
  std::vector<HookDevice> devices{};
  friend bool operator==(const HookAdjustment&, const HookAdjustment&) = default;
};

/// Changes to a container that exists.
struct HookUpdate {
  std::string container_id;  ///< never empty
  HookResources resources{};
  bool ignore_failure = true;  ///< one that cannot be applied does not fail the operation
  friend bool operator==(const HookUpdate&, const HookUpdate&) = default;
};

/// What happened to a pod or a container; nothing of it can be changed any more, except where
/// noted.
enum class HookEvent {
  kRunPod,  ///< before its first container
  kStopPod,
  kRemovePod,
  kPostCreateContainer,
  kStartContainer,
  kPostStartContainer,
  kPostUpdateContainer,
  kRemoveContainer,
};
const char* to_string(HookEvent event);  ///< "RunPodSandbox", ...: the runtime's own words

/// What becomes of an operation whose hook failed: it goes on as if nobody had been asked, or it
/// fails.
enum class HookFailurePolicy { kIgnore, kFail };

}  // namespace koordlet
