#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cgroup.hpp"

/// Control files of cgroup v2 as properties of the systemd units that own them. Pure. On v1 systemd
/// spells them otherwise (CPUShares, MemoryLimit): there koordlet writes the files only.
namespace koordlet::runtime {

/// One property as SetUnitProperties takes it: "t" or "ay" of D-Bus.
struct UnitProperty {
  using Value = std::variant<std::uint64_t, std::vector<std::uint8_t>>;
  std::string name;  ///< "CPUQuotaPerSecUSec"
  Value value;
  friend bool operator==(const UnitProperty&, const UnitProperty&) = default;
};
std::ostream& operator<<(std::ostream& os, const UnitProperty& p);  ///< "CPUWeight=20"

/// systemd's "infinity", and its "not set".
inline constexpr std::uint64_t kUnitInfinity = UINT64_MAX;

/// The unit whose cgroup this is: "kubepods-besteffort.slice", "cri-containerd-<id>.scope". Nothing
/// for the root, for cgroups of no unit, and for what lies below a scope or a service: that is
/// delegated, and a slice there belongs to another systemd.
std::optional<std::string> unit_of(const CgroupPath& path);

/// True for files that a property stands for: cpu.max, cpu.weight, cpu.idle (as a weight of "idle",
/// systemd 252 and later), cpuset.cpus, memory.min, memory.low, memory.high, memory.max. Not for
/// lines of a device (io.max, io.weight: systemd names devices by path), nor for files that systemd
/// knows nothing of (cpu.max.burst, memory.oom.group, vendor files): it never resets those.
bool has_unit_property(CgroupFile file);

/// What is known of the files of one unit.
using UnitFiles = std::map<CgroupFile, CgroupValue>;

/// The properties for the files `changed`, with the values in `files`; each name once. The value
/// that systemd then writes is the very one of the file:
/// - cpu.max: systemd keeps microseconds a second and writes floor(that * period / 1 s), so the
///   share is rounded up (below 1 % of a CPU it has no property); in its drop-in systemd notes
///   whole percent, so that a daemon-reload makes the quota up to 1 % of a CPU smaller; the period
///   of 100 ms is systemd's own default, hence "infinity";
/// - cpu.idle = 1 and cpu.weight are one property, in which idle wins; the end of idle is the
///   weight in `files`, else 100, which is what the kernel falls back to;
/// - an empty cpuset is the empty list: no restriction of its own.
/// Files without a property and values of another kind are left out.
std::vector<UnitProperty> unit_properties(const UnitFiles& files,
                                          const std::set<CgroupFile>& changed);

/// The settings in a unit file that properties of `file` become: {"CPUQuota", "CPUQuotaPeriodSec"}.
/// systemd keeps each in a drop-in "50-<setting>.conf" of the unit.
std::vector<std::string_view> unit_settings(CgroupFile file);

/// True when dropping the drop-in changes nothing: every setting in it says what `others`, the unit
/// file and its further drop-ins, say already; where they are silent, what systemd takes by itself
/// (no limit; a weight of 100). Texts are in the syntax of unit files. A drop-in that sets nothing
/// counts as well.
bool is_redundant_drop_in(std::string_view drop_in, const std::vector<std::string>& others);

}  // namespace koordlet::runtime
