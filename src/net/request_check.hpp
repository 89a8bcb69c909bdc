#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "net/http_server.hpp"

/// Seen by .cpp files of this folder only: it pulls in Beast.
namespace koordlet::net {

using ParsedRequest = boost::beast::http::request<boost::beast::http::string_body>;

struct Refusal {
  HttpResponse response;
  std::string_view extra;  ///< header lines, static text
};

/// Turns what the parser accepted into a request for the handler, or says why not: 405 method, 400
/// target or Host, 421 Host that names somebody else, 403 foreign Origin on POST. `message` gives
/// its body away.
std::variant<HttpRequest, Refusal> check_request(ParsedRequest& message, bool unix_peer);

/// The answer to a parser's error: 400, 413 or 431.
HttpResponse parser_problem(const boost::system::error_code& ec);

}  // namespace koordlet::net
