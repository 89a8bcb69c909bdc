#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>

#include "base/cgroup_file.hpp"
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

/// Bandwidth of one block device: bytes and operations a second.
struct IoMax {
  using Rate = Limit<std::int64_t>;
  Rate read_bytes = Rate::unlimited(), write_bytes = Rate::unlimited();
  Rate read_ops = Rate::unlimited(), write_ops = Rate::unlimited();
  friend bool operator==(const IoMax&, const IoMax&) = default;
};
/// Settings that only the kernel reads, canonical: "key=value" words, one blank between two.
struct Line {
  std::string v;
  friend bool operator==(const Line&, const Line&) = default;
};

using CgroupValue = std::variant<CpuMax, CpuSet, MemoryBound, Number, IoMax, Line>;

/// One text a value, the same for v1 and v2: "120000 100000", "max 100000", "0-3", "max", "4096",
/// "20", "rbps=1048576 wbps=max riops=max wiops=120". Shown in status and kept in the journal.
std::string to_string(const CgroupValue& value);
Result<CgroupValue> parse_cgroup_value(CgroupFile file, std::string_view text);
/// True when `value` holds the alternative that `file` carries.
bool holds_type_of(CgroupFile file, const CgroupValue& value);

/// Names one setting: a control file of a cgroup, or one line of it.
struct CgroupKey {
  CgroupPath path;
  CgroupFile file{};
  std::string item{};  ///< the line where the file has many (see ItemKind), else empty
  friend auto operator<=>(const CgroupKey&, const CgroupKey&) = default;
};
/// "/kubepods/besteffort cpu.max", "/kubepods/besteffort io.max 8:16"
std::string to_string(const CgroupKey& key);
std::ostream& operator<<(std::ostream& os, const CgroupKey& key);
std::ostream& operator<<(std::ostream& os, const CgroupValue& value);

}  // namespace koordlet
