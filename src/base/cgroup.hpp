#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>

#include "base/cpu_set.hpp"
#include "base/limit.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

/// The vocabulary of the cgroup tree that the pure core and the kernel floor share. No I/O here.
namespace koordlet {

enum class CgroupVersion { kV1, kV2 };
enum class CgroupDriver { kCgroupfs, kSystemd };
/// The kubelet's three classes, which are also the first level of the kubepods tree (Guaranteed
/// pods live in its root).
enum class KubeQos { kGuaranteed, kBurstable, kBestEffort };

std::string_view to_string(CgroupVersion v);  ///< "v1", "v2"
std::string_view to_string(CgroupDriver d);   ///< "cgroupfs", "systemd"
std::string_view to_string(KubeQos q);        ///< "Guaranteed", "Burstable", "BestEffort"

/// A cgroup relative to the mounted root(s): "kubepods/besteffort/pod1". No leading or trailing
/// slash, no empty, "." or
/// ".." component, only [A-Za-z0-9_.:@-] in a component, at most 255 bytes each. The root itself is
/// the empty path.
class CgroupPath {
 public:
  CgroupPath() = default;
  /// Everything that comes from outside passes here before it becomes a path.
  static Result<CgroupPath> parse(std::string_view text);

  const std::string& str() const { return text_; }
  bool is_root() const { return text_.empty(); }
  int depth() const;              ///< 0 for the root
  CgroupPath parent() const;      ///< the root's parent is the root
  std::string_view name() const;  ///< last component
  /// `component` must be valid by the rule above (checked: std::invalid_argument, a programming
  /// fault).
  CgroupPath child(std::string_view component) const;
  /// By components, never by substring: "a/b" is an ancestor of "a/b/c", not of "a/bc". A path is
  /// not its own ancestor.
  bool is_ancestor_of(const CgroupPath& other) const;

  friend auto operator<=>(const CgroupPath&, const CgroupPath&) = default;
  friend std::ostream& operator<<(std::ostream& os, const CgroupPath& p) {
    return os << '/' << p.text_;
  }

 private:
  std::string text_;
};

/// What a control file means, whatever the version calls it (kernel/cgroup_fs.cpp holds the
/// spelling).
enum class CgroupFile {
  kCpuMax,      ///< CpuMax: cpu.max | cpu.cfs_quota_us + cpu.cfs_period_us
  kCpuWeight,   ///< Number: cpu.weight 1..10000 | cpu.shares 2..262144, in the unit of the mounted
                ///< version
  kCpuIdle,     ///< Number 0..1: cpu.idle
  kCpuBvt,      ///< Number -1..2: cpu.bvt_warp_ns (vendor kernels)
  kCpuset,      ///< CpuSet: cpuset.cpus
  kMemoryMin,   ///< Limit<Bytes>: protection; v2 only on mainline
  kMemoryLow,   ///< Limit<Bytes>: protection; v2 only on mainline
  kMemoryHigh,  ///< Limit<Bytes>: throttle limit; v2 only on mainline
  kMemoryMax,   ///< Limit<Bytes>: memory.max | memory.limit_in_bytes
};
std::string_view to_string(
    CgroupFile f);  ///< the v2 name, used as the file's name in status and logs

/// CPU bandwidth: at most `quota` of CPU time in each `period`. Kernel ranges: quota >= 1000 us,
/// period 1000..1000000 us (kernel doc scheduler/sched-bwc).
struct CpuMax {
  Limit<std::chrono::microseconds> quota = Limit<std::chrono::microseconds>::unlimited();
  std::chrono::microseconds period{100'000};
  friend bool operator==(const CpuMax&, const CpuMax&) = default;
};
using MemoryBound = Limit<Bytes>;
struct Number {
  std::int64_t v = 0;
  friend constexpr auto operator<=>(const Number&, const Number&) = default;
};

using CgroupValue = std::variant<CpuMax, CpuSet, MemoryBound, Number>;

/// One text a value, the same for v1 and v2: "120000 100000", "max 100000", "0-3", "max", "4096",
/// "20". Shown in status and kept in the journal.
std::string to_string(const CgroupValue& value);
Result<CgroupValue> parse_cgroup_value(CgroupFile file, std::string_view text);
/// True when `value` holds the alternative that `file` carries.
bool holds_type_of(CgroupFile file, const CgroupValue& value);

/// Names one control file of one cgroup.
struct CgroupKey {
  CgroupPath path;
  CgroupFile file{};
  friend auto operator<=>(const CgroupKey&, const CgroupKey&) = default;
};
std::string to_string(const CgroupKey& key);  ///< "/kubepods/besteffort cpu.max"
std::ostream& operator<<(std::ostream& os, const CgroupKey& key);
std::ostream& operator<<(std::ostream& os, const CgroupValue& value);

}  // namespace koordlet
