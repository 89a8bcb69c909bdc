#pragma once

#include <string>
#include <string_view>

#include "net/http_server.hpp"

/// Spelling of answers.
namespace koordlet::net {

std::string_view reason_phrase(unsigned status);  ///< "Not Found"; "Status" when unknown

/// RFC 9457: {"type": "about:blank", "title", "status", "detail"}.
HttpResponse problem(unsigned status, std::string_view detail);

/// Status line and header fields with the empty line. `extra`: whole lines, each with its CRLF.
std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view extra);

}  // namespace koordlet::net
