#pragma once

#include <optional>
#include <string_view>

#include "base/clock.hpp"

namespace koordlet::net {

/// The three forms of RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37
/// GMT", "Sun Nov  6 08:49:37 1994". Independent of the locale. nullopt: none of them, or a year
/// outside 1970 to 2200.
std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace koordlet::net
