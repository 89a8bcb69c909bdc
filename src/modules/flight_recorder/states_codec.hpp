#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "policy/plugin_states.hpp"

namespace koordlet::flight {

/// States of the plugins as the bytes of KeyFrame::states; times are differences to `now`.
std::string encode_states(const policy::PluginStates& states, MonoTime now);
/// Any bytes: kParse with "states: field: expected ...".
Result<policy::PluginStates> decode_states(std::string_view bytes, MonoTime now);
/// Of frames and states together: what the head of a recording carries.
std::uint64_t recording_schema();

}  // namespace koordlet::flight
