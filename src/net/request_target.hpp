#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet::net {

/// The target of a request line, taken apart and made harmless.
struct RequestTarget {
  std::string path;       ///< as HttpRequest::path
  std::string query;      ///< raw, without '?'
  std::string authority;  ///< of an absolute target ("http://HOST/..."); empty otherwise
};

/// kParse, naming what is wrong: not absolute, a bad escape, a byte that is not printable ASCII
/// (decoded too), an escaped '/', a ".." component, a fragment.
Result<RequestTarget> parse_target(std::string_view raw);

/// "localhost" or a loopback address ("127.0.0.1", "[::1]"), with or without ":port". A DNS name
/// that somebody points at 127.0.0.1 is not among them.
bool names_loopback(std::string_view host);

}  // namespace koordlet::net
