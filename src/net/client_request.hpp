#pragma once

#include <string>

#include "base/result.hpp"
#include "net/http_client.hpp"

namespace koordlet::net {

/// "host:port", an IPv6 address in brackets: for messages.
std::string peer_name(const HttpEndpoint& endpoint);

/// The bytes of a request. kInvalid, naming the part and never its value: a method or header name
/// that is no token, a target that is not printable ASCII from '/' on, a control character in a
/// header, or one of the headers that are written here (Host, Connection, Content-Length,
/// Transfer-Encoding).
Result<std::string> request_bytes(const HttpEndpoint& endpoint, const ClientRequest& request);

}  // namespace koordlet::net
