#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace koordlet::store {

/// A text as one row: "v1\n<FNV-1a of the text, 16 hex digits>\n<text>".
std::string encode_checked(std::string_view text);
/// nullopt: another version, or not what was written. The view points into `row`.
std::optional<std::string_view> decode_checked(std::string_view row);

}  // namespace koordlet::store
