#include "k8s/server_url.hpp"

#include <algorithm>

#include <boost/asio/ip/address_v6.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMaxUrl = 2048;
constexpr std::size_t kMaxHost = 253;

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_ipv6(std::string_view text) {
  boost::system::error_code ec;
  boost::asio::ip::make_address_v6(std::string{text}, ec);
  return !ec;
}

bool is_path(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || std::string_view{"/-._~%:@+"}.find(c) != std::string_view::npos;
  });
}

/// The URL itself stays out of the message when it may hold a password.
Error bad(std::string_view url, std::string_view problem) {
  if (url.find('@') != std::string_view::npos) return Error{Errc::kParse, std::string{problem}};
  return Error{Errc::kParse, fmt::format("'{}': {}", url.substr(0, 200), problem)};
}

}  // namespace

bool is_host(std::string_view text) {
  if (text.empty() || text.size() > kMaxHost) return false;
  if (text.find(':') != std::string_view::npos) return is_ipv6(text);
  if (!is_alnum(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || c == '-' || c == '.' || c == '_';
  });
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_u64(text);
  if (!port || *port == 0 || *port > 65535) {
    return Error{Errc::kParse, fmt::format("port '{}': expected 1..65535", text.substr(0, 20))};
  }
  return static_cast<std::uint16_t>(*port);
}

Result<ServerUrl> parse_server_url(std::string_view url) {
  if (url.size() > kMaxUrl) return Error{Errc::kParse, "URL longer than 2048 bytes"};
  ServerUrl out;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    out.endpoint.tls = false;
    out.endpoint.port = 80;
  } else {
    return bad(url, "expected https://host[:port] or http://host[:port]");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return bad(url, "a query or fragment does not belong into a server URL");
  }
  const auto slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (authority.find('@') != std::string_view::npos) {
    return bad(url, "a user name in the server URL is not supported");
  }
  if (!is_path(path)) return bad(url, "the path holds characters that must be escaped");
  out.base_path = path;

  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return bad(url, "'[' without ']'");
    out.endpoint.host = authority.substr(1, close - 1);
    if (!is_ipv6(out.endpoint.host)) return bad(url, "expected an IPv6 address in the brackets");
    authority.remove_prefix(close + 1);
    if (!authority.empty() && !authority.starts_with(':'))
      return bad(url, "expected ':' after ']'");
    has_port = !authority.empty();
    if (has_port) port = authority.substr(1);
  } else {
    const auto colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    out.endpoint.host = authority.substr(0, colon);
    if (has_port) port = authority.substr(colon + 1);
    if (!is_host(out.endpoint.host)) return bad(url, "expected a host name or address");
  }
  if (has_port) {
    const auto number = parse_port(port);
    if (!number) return bad(url, number.error().context);
    out.endpoint.port = *number;
  }
  return out;
}

std::string server_text(const net::HttpEndpoint& endpoint, std::string_view base_path) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}{}",
                     endpoint.tls ? "https" : "http",
                     v6 ? "[" : "",
                     endpoint.host,
                     v6 ? "]" : "",
                     endpoint.port,
                     base_path);
}

}  // namespace koordlet::k8s
