#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/plugin.hpp"
#include "policy/start_values.hpp"

namespace koordlet::policy {

/// What a running pod and its containers are to hold by what they asked for, whatever the load:
/// batch resources of BE, quotas divided by the node's CPU ratio, CPU sets (hooks reference 6, 7,
/// 8; switches of [hooks]). The numbers are those that the runtime hooks give at the start, by the
/// same functions; so it holds too where no hook was asked, and for the pod's own files, which no
/// runtime carries. All of it is BASE: caps stay stronger, a boost goes on top.
///
/// Also while the policy is `off`: this is no suppression. Pods that hands are kept off get
/// nothing. Nothing is proposed where an amount, the ratio, the topology or the allocation is
/// unknown.
struct SpecValues {
  static constexpr std::string_view kName = "spec_values";
  /// What the proposals follow from. Pods are compared by identity: they are never changed.
  struct Basis {
    std::vector<std::shared_ptr<const Pod>> pods;
    std::shared_ptr<const NodeCpuPools> pools;
    CpuSet cpus;  ///< of the topology
    std::optional<NormalizationRatio> ratio;
    HookSwitches switches;
    CgroupVersion version = CgroupVersion::kV1;
    WeightRules weights;
    bool root_limited = false;
    bool idle = false;  ///< BE containers may be cpu.idle: the kernel takes no weight there
    std::vector<std::string> hands_off_namespaces;
    friend bool operator==(const Basis&, const Basis&) = default;
  };
  /// At most one proposal a file. Never changed once made.
  struct List {
    std::vector<Proposal> all;
    std::vector<const Proposal*> by_key;  ///< into `all`, sorted by key
    std::size_t pods = 0;                 ///< that something is proposed for
  };
  struct State {
    Basis basis;
    std::shared_ptr<const List> list;  ///< nullptr: nothing was reckoned yet
  };
  /// Reckoned anew only when something of the basis is another one; else the same list comes back.
  /// It is handed out as it is, and not as Decision::proposals: there may be ten files a pod.
  static State decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

}  // namespace koordlet::policy
