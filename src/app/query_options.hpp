#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.hpp"

/// The flags of `koordlet query`.
namespace koordlet::app {

struct QueryFlag {
  std::string_view name, value, about;
};
std::span<const QueryFlag> query_flags();

/// Takes the flags (but --label, which may come several times) and checks all of `out` with its
/// metric and labels. kParse with one line.
Result<void> take_query_flags(const std::vector<std::pair<std::string, std::string>>& given,
                              bool json,
                              QueryOptions& out);

/// METRIC (or a selector) and the --label flags as one selector text; "" without METRIC.
Result<std::string> selector_of(const QueryOptions& options);

}  // namespace koordlet::app
