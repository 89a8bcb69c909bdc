#include "net/client_request.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <boost/beast/core/string.hpp>
#include <fmt/format.h>

namespace koordlet::net {
namespace {

constexpr std::array<std::string_view, 4> kOwnHeaders{
    "Host", "Connection", "Content-Length", "Transfer-Encoding"};

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_target(std::string_view text) {
  return text.starts_with('/') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

bool is_own(std::string_view name) {
  return std::any_of(kOwnHeaders.begin(), kOwnHeaders.end(), [name](std::string_view own) {
    return boost::beast::iequals({own.data(), own.size()}, {name.data(), name.size()});
  });
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

bool sends_length(const ClientRequest& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

Error invalid(std::string what) { return {Errc::kInvalid, std::move(what)}; }

}  // namespace

std::string peer_name(const HttpEndpoint& endpoint) {
  return fmt::format("{}:{}", bracketed(endpoint.host), endpoint.port);
}

Result<std::string> request_bytes(const HttpEndpoint& endpoint, const ClientRequest& request) {
  if (!is_token(request.method)) return invalid("request method: expected a token");
  if (!is_target(request.target))
    return invalid("request target: expected printable ASCII that starts with '/'");
  if (endpoint.host.empty() || !is_value(endpoint.host)) return invalid("host: not a host name");

  std::string out = fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}", request.method, request.target, bracketed(endpoint.host));
  if (endpoint.port != (endpoint.tls ? 443 : 80)) out += fmt::format(":{}", endpoint.port);
  out += "\r\n";
  std::size_t index = 0;
  for (const auto& [name, value] : request.headers) {
    ++index;
    if (!is_token(name)) return invalid(fmt::format("header {}: its name is no token", index));
    if (is_own(name)) return invalid(fmt::format("header {}: set by the client itself", name));
    if (!is_value(value)) return invalid(fmt::format("header {}: a control character", name));
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (sends_length(request)) out += fmt::format("Content-Length: {}\r\n", request.body.size());
  out += "\r\n";
  out += request.body;
  return out;
}

}  // namespace koordlet::net
