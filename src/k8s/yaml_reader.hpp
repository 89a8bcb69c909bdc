#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.hpp"

namespace koordlet::k8s {

/// Bounds of one text. An alias copies the node it names; all copies of a text together are
/// bounded, so that a few lines cannot become gigabytes.
inline constexpr int kMaxDepth = 64;
inline constexpr std::size_t kMaxAliasNodes = 1000;

/// Every document of a YAML text as JSON. Empty documents are left out. Errors name the line:
/// "line 3: ...". Scalars follow the core schema: unquoted true, false, null, integers and floats;
/// everything else, and everything quoted, is text. A key that stands twice is an error.
Result<std::vector<boost::json::value>> read_yaml(const std::string& text);

/// One unquoted scalar by the core schema ("0x1f", "-.5", "~", "yes" is text).
boost::json::value resolve_scalar(std::string_view text);

}  // namespace koordlet::k8s
