#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace koordlet::runtime {

/// What systemd leaves when a property is given back: SetUnitProperties never removes the drop-in
/// it made, it writes the original into it. This removes "50-<setting>.conf" of a transient unit,
/// below <run>/systemd/transient, where it says nothing that the unit file or another drop-in does
/// not say, and the folder when it is empty. systemd needs no reload for it: unit file and property
/// agree. The drop-ins of other units (made by an administrator; their unit file may be out of
/// sight) stay, with the original value. Returns the number of files removed; what cannot be read
/// or removed stays. Small files of a tmpfs: some microseconds, no waiting.
std::size_t remove_redundant_drop_ins(const std::string& run,
                                      const std::string& unit,
                                      const std::vector<std::string_view>& settings);

}  // namespace koordlet::runtime
