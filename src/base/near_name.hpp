#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace koordlet {

/// Levenshtein distance in bytes: fewest insertions, deletions and replacements; ASCII case does
/// not count. Time and memory grow with both lengths: cap what comes from outside.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// At most `most` of `names` that `wrong` may have meant, nearest first: within 2 edits, a third of
/// its length for long ones, or those that contain it. Empty when none is near, or when `wrong` is
/// longer than 128 bytes.
std::vector<std::string> near_names(std::string_view wrong,
                                    const std::vector<std::string_view>& names,
                                    std::size_t most = 3);

/// "; did you mean a, b?", or "".
std::string suggestion_text(const std::vector<std::string>& names);

}  // namespace koordlet
