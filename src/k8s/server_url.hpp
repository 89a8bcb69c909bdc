#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/http_client.hpp"

namespace koordlet::k8s {

struct ServerUrl {
  net::HttpEndpoint endpoint;
  std::string base_path;  ///< "" or "/path" without '/' at its end
};

/// "https://host[:port][/path]", "http://...", addresses of IPv6 in brackets. Without a port 443 or
/// 80. kParse with what is wrong: another scheme, user information, a query, a fragment, characters
/// that do not belong into a host or path, a port outside 1..65535.
Result<ServerUrl> parse_server_url(std::string_view url);

/// "https://127.0.0.1:6443/path" for messages: IPv6 in brackets.
std::string server_text(const net::HttpEndpoint& endpoint, std::string_view base_path);

/// A port in digits, 1..65535.
Result<std::uint16_t> parse_port(std::string_view text);

/// DNS name or address, without brackets: what may stand in a Host header and be resolved.
bool is_host(std::string_view text);

}  // namespace koordlet::k8s
