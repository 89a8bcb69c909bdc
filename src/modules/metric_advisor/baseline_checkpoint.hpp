#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "policy/interference.hpp"

namespace koordlet {

/// CPI baselines as one JSON text with a version, for the state environment; what comes back equals
/// what went in, to the last bit. An entry that learn() cannot have made (no name, a number that is
/// none) is left out.
std::string encode_baselines(const policy::BaselineTable& table);
/// Refuses (kParse, with the entry's index) what encode cannot have made: another version, members
/// missing or unknown, NaN, negative or infinite numbers, empty names, an entry twice.
Result<policy::BaselineTable> parse_baselines(std::string_view text);

}  // namespace koordlet
