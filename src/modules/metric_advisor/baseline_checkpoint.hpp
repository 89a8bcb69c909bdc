#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "policy/interference.hpp"

namespace koordlet {

/// CPI baselines as one JSON text with a version, for the state environment. parse refuses (kParse)
/// what encode cannot have made: another version, NaN, negative weights, missing names.
std::string encode_baselines(const policy::BaselineTable& table);
Result<policy::BaselineTable> parse_baselines(std::string_view text);

}  // namespace koordlet
