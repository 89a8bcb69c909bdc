#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "latency.hpp"

namespace koordlet::demo {

/// One line of the live table. Unknown is shown as "-".
struct Row {
  double seconds = 0;
  std::string phase;
  std::optional<double> node_percent;
  std::string level;
  std::optional<double> be_cap, be_used, ls_used, system_used;  ///< cores
  std::optional<std::int64_t> p50_us, p99_us;
  std::string note;
};
void print_header(bool colour);
void print_row(const Row& row, bool colour);

/// Number at a path of keys ("node", "be_used_milli"); nullopt when absent or null.
std::optional<double> number_at(const boost::json::value& value,
                                std::initializer_list<std::string_view> keys);
std::optional<std::string> text_at(const boost::json::value& value,
                                   std::initializer_list<std::string_view> keys);

}  // namespace koordlet::demo
