#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "store/recording_values.hpp"

/// One tick of the policy as the flight recorder keeps it (docs/recorder.md). Pure: bytes in and
/// out.
namespace koordlet::store {

/// Begins a segment: with it and the full first tick everything behind can be understood.
struct KeyFrame {
  MonoTime now;
  WallTime wall;
  std::string run;  ///< one start of the daemon; another one means another clock and fresh states
  std::uint64_t number = 0;  ///< of the segment's first tick
  std::string version;       ///< of koordlet
  /// Keys of the configuration that decisions depend on, as text: what --set would take.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string states;  ///< the plugins' own, before the first tick; policy's format
};

/// What one file is to hold.
struct RecordedWish {
  CgroupKey key;
  CgroupValue value = Number{};
  Role role = Role::kCap;
  std::string plugin, reason;
};

// Of a TickFrame. Outside of it, for clang takes an optional of a nested type with initializers for
// one that cannot be made.
struct RecordedHost {
  CgroupVersion version = CgroupVersion::kV1;
  bool has_bvt = false, cpu_burst = false, memory_min = false, memory_vendor = false,
       page_cache_limit = false, memory_reclaim = false;
  std::chrono::seconds usage_valid{0};
  CpuTopology topology;
  WeightRules weight_rules{};
  friend bool operator==(const RecordedHost&, const RecordedHost&) = default;
};
struct RecordedEvict {
  bool api_ok = false;
  std::vector<EvictionOutcome> outcomes;
  std::vector<EvictionWish> wishes;  ///< the answer
};

/// One tick. Inputs that are absent are as they were in the tick before.
struct TickFrame {
  using Host = RecordedHost;
  /// Of pods or containers, by uid or "<runtime>://<id>".
  struct UsageChange {
    std::map<std::string, WorkloadUsage> now;
    std::vector<std::string> gone;
  };
  using Evict = RecordedEvict;
  /// When each source confirmed what it says.
  struct Confirmed {
    MonoTime pods, node, slo;
    friend bool operator==(const Confirmed&, const Confirmed&) = default;
  };

  MonoTime now;
  WallTime wall;
  std::uint64_t number = 0;  ///< counts ticks of the run; a gap: some were dropped
  // inputs
  bool may_relax = true;
  std::optional<Host> host;
  std::optional<std::shared_ptr<const Node>> node;
  std::optional<std::shared_ptr<const NodeSlo>> slo;
  std::vector<std::shared_ptr<const Pod>> pods;  ///< new or changed
  std::vector<std::string> pods_gone;
  std::optional<Confirmed> confirmed;
  std::optional<std::optional<NodeSignals>> signals;
  UsageChange usage;
  std::optional<std::optional<UsageChange>> containers;  ///< inner nullopt: none are known here
  std::optional<std::vector<LsSignal>> ls;
  std::optional<std::optional<BeRoot>> be_root;
  std::optional<std::shared_ptr<const StorageTable>> storage;
  std::optional<std::shared_ptr<const ResctrlState>> resctrl;
  std::optional<std::shared_ptr<const KubeletCpus>> kubelet_cpus;
  std::optional<std::shared_ptr<const NodeCpuPools>> cpu_pools;
  std::optional<std::optional<Bytes>> protected_cache;
  // decisions
  int level = 0;  ///< policy::Level
  int factor_permille = 1000, below_exit = 0;
  MilliCpu root_cap;
  std::string why;  ///< why the level is another one now; "" it is not
  std::string stale;
  std::vector<RecordedWish> wishes;  ///< new or with another value
  std::vector<CgroupKey> wishes_gone;
  std::optional<Evict> evict;     ///< nullopt: eviction was not asked
  std::vector<Outcome> outcomes;  ///< of the writes since the tick before, without the plain ones
};

using Frame = std::variant<KeyFrame, TickFrame>;

/// What a file has named so far.
using WriteNames = RecordWriter::Names;
using ReadNames = RecordReader::Names;

std::string encode_frame(const KeyFrame& frame, WriteNames& names);
std::string encode_frame(const TickFrame& frame, WriteNames& names);
/// Any bytes: kParse with "field: expected ..." when they are not a whole frame.
Result<Frame> decode_frame(std::string_view bytes, ReadNames& names);
/// For the head of a file; other fields, another number.
std::uint64_t frame_schema();

}  // namespace koordlet::store
