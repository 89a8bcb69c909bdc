#include "app/daemon_answer.hpp"

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "app/json_path.hpp"

namespace koordlet::app {

namespace json = boost::json;

CommandOutput failed(std::string_view line) {
  CommandOutput out;
  out.exit_code = kExitFailed;
  out.err = fmt::format("koordlet: {}\n", line);
  return out;
}

CommandOutput no_answer(const std::string& socket, const Error& error) {
  CommandOutput out;
  out.exit_code = kExitFailed;
  out.err = fmt::format("koordlet is not running: no answer on {}", socket);
  if (error.code != Errc::kNotFound) out.err += fmt::format(" ({})", error.context);
  out.err += '\n';
  return out;
}

Result<json::value> body_of(const net::HttpResponse& response) {
  json::error_code ec;
  auto body = json::parse(response.body, ec);
  if (ec) return Error{Errc::kParse, "the daemon's answer is not JSON: " + ec.message()};
  return body;
}

std::string problem_text(const net::HttpResponse& response) {
  json::error_code ec;
  const auto body = json::parse(response.body, ec);
  const std::string detail = ec ? "" : json_text(body, "detail", "");
  return detail.empty() ? fmt::format("the daemon answered {}", response.status) : detail;
}

Fetched fetch(const std::string& socket, const Ask& ask, const std::string& target) {
  Fetched out;
  const auto response = ask("GET", target);
  if (!response) {
    out.failure = no_answer(socket, response.error());
    return out;
  }
  if (response->status != 200) {
    out.failure = failed(problem_text(*response));
    return out;
  }
  auto body = body_of(*response);
  if (!body) {
    out.failure = failed(body.error().context);
    return out;
  }
  out.body = std::move(*body);
  return out;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~' || c == ',';
    if (plain) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace koordlet::app
