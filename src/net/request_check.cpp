#include "net/request_check.hpp"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/verb.hpp>

#include "net/http_text.hpp"
#include "net/request_target.hpp"

namespace koordlet::net {
namespace http = boost::beast::http;
namespace {

constexpr std::string_view kAllow = "Allow: GET, HEAD, POST\r\n";
constexpr std::string_view kScheme = "http://";

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

Refusal refuse(unsigned status, std::string_view detail) { return {problem(status, detail), {}}; }

/// A web page of somebody else can make a browser on this machine POST here, with a good Host.
bool foreign_origin(const ParsedRequest& message) {
  const auto field = message.find(http::field::origin);
  if (field == message.end()) return false;
  const auto origin = view(field->value());
  return !origin.starts_with(kScheme) || !names_loopback(origin.substr(kScheme.size()));
}

}  // namespace

std::variant<HttpRequest, Refusal> check_request(ParsedRequest& message, bool unix_peer) {
  const auto method = message.method();
  if (method != http::verb::get && method != http::verb::head && method != http::verb::post)
    return Refusal{problem(405, "expected GET, HEAD or POST"), kAllow};
  auto target = parse_target(view(message.target()));
  if (!target) return refuse(400, target.error().context);

  const auto hosts = message.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() >= 11))
    return refuse(400, "expected one Host header");
  HttpRequest out;
  out.host = target->authority.empty() ? std::string{view(message[http::field::host])}
                                       : std::move(target->authority);
  if (!unix_peer) {
    if (!names_loopback(out.host))
      return refuse(421, "Host must be localhost or a loopback address");
    if (method == http::verb::post && foreign_origin(message))
      return refuse(403, "Origin must be localhost or a loopback address");
  }
  out.method = method == http::verb::post ? "POST" : "GET";
  out.path = std::move(target->path);
  out.query = std::move(target->query);
  out.body = std::move(message.body());
  out.accept = view(message[http::field::accept]);
  out.if_none_match = view(message[http::field::if_none_match]);
  out.unix_socket = unix_peer;
  return out;
}

HttpResponse parser_problem(const boost::system::error_code& ec) {
  if (ec == http::error::header_limit) return problem(431, "the request header is too long");
  if (ec == http::error::body_limit) return problem(413, "the request body is too long");
  return problem(400, "not an HTTP request: " + ec.message());
}

}  // namespace koordlet::net
