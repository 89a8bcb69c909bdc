#include "net/http_text.hpp"

#include <boost/beast/http/status.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace koordlet::net {

std::string_view reason_phrase(unsigned status) {
  const auto known = boost::beast::http::int_to_status(status);
  if (known == boost::beast::http::status::unknown) return "Status";
  const auto text = boost::beast::http::obsolete_reason(known);
  return {text.data(), text.size()};
}

HttpResponse problem(unsigned status, std::string_view detail) {
  const auto title = reason_phrase(status);
  boost::json::object body;
  body["type"] = "about:blank";
  body["title"] = boost::json::string_view{title.data(), title.size()};
  body["status"] = status;
  body["detail"] = boost::json::string_view{detail.data(), detail.size()};
  return {status, "application/problem+json", boost::json::serialize(body)};
}

std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view extra) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  if (response.status != 204 && response.status != 304) {
    out += fmt::format(
        "Content-Type: {}\r\nContent-Length: {}\r\n", response.content_type, response.body.size());
  }
  out += fmt::format("Cache-Control: {}\r\n", response.cache_control);
  // No browser may guess an answer to be a page, or show it inside another one.
  out += "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n";
  out += response.headers;
  out += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  out += extra;
  out += "\r\n";
  return out;
}

}  // namespace koordlet::net
