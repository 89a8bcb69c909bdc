#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

/// Reading of the daemon's answers. The command may be older or newer than the daemon: a field that
/// is missing, null or of another type is "not known", never a fault.
namespace koordlet::app {

/// "qos.level" below `root`; nullptr when it is not there.
const boost::json::value* json_at(const boost::json::value& root, std::string_view path);
std::optional<std::int64_t> json_integer(const boost::json::value& root, std::string_view path);
std::optional<double> json_number(const boost::json::value& root, std::string_view path);
std::optional<bool> json_bool(const boost::json::value& root, std::string_view path);
/// Text of a string, number or bool; `absent` otherwise.
std::string json_text(const boost::json::value& root,
                      std::string_view path,
                      std::string_view absent = "-");
/// Empty when it is not an array.
const boost::json::array& json_array(const boost::json::value& root, std::string_view path);

}  // namespace koordlet::app
