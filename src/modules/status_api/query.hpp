#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// The query part of a request: parameters and page tokens.
namespace koordlet::status_api {

using Parameters = std::map<std::string, std::string>;

/// "a=1&b=x%20y": decoded, each name once and one of `allowed`; kParse otherwise, naming what is
/// wrong.
Result<Parameters> parse_query(std::string_view query,
                               const std::vector<std::string_view>& allowed);

/// A page token names the last uid that was shown and is bound to the filter of its request: a
/// damaged one, or one of another filter, is kParse. It stays good when that pod goes away.
std::string make_token(std::string_view last_uid, std::string_view filter);
Result<std::string> read_token(std::string_view token, std::string_view filter);

}  // namespace koordlet::status_api
