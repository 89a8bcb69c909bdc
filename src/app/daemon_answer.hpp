#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "app/client.hpp"

/// What commands make of the daemon's answers.
namespace koordlet::app {

/// A daemon that never ends its list must not hold the command.
inline constexpr int kMaxAnswerPages = 1000;

CommandOutput failed(std::string_view line);  ///< exit 1, "koordlet: LINE"
CommandOutput no_answer(const std::string& socket, const Error& error);
Result<boost::json::value> body_of(const net::HttpResponse& response);

/// A JSON answer of 200, or what the command ends with instead.
struct Fetched {
  CommandOutput failure;
  boost::json::value body;
  bool ok() const { return failure.exit_code == kExitOk; }
};
Fetched fetch(const std::string& socket, const Ask& ask, const std::string& target);

/// Text as the value of a parameter in a target.
std::string percent_encoded(std::string_view text);

}  // namespace koordlet::app
