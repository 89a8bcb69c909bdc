#pragma once

#include <cstdint>
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

/// A page token names the last item that was shown and is bound to the filter of its request: a
/// damaged one, or one of another filter, is kParse. It stays good when that item goes away.
constexpr std::size_t kMaxTokenText = 2048;  ///< bytes of `last` that a token is read with
std::string make_token(std::string_view last, std::string_view filter);
Result<std::string> read_token(std::string_view token, std::string_view filter);

/// Which part of a list is asked for: ?limit= 1..1000 (500) and ?continue=.
struct Page {
  static constexpr std::int64_t kDefaultLimit = 500;
  static constexpr std::int64_t kMaxLimit = 1000;
  std::int64_t limit = kDefaultLimit;
  std::optional<std::string> after;  ///< last item of the page before
};
Result<Page> parse_page(const Parameters& parameters, std::string_view filter);

}  // namespace koordlet::status_api
