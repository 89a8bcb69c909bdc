#include <string>
#include <variant>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "fuzz.hpp"
#include "net/request_check.hpp"
#include "net/request_target.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
namespace http = boost::beast::http;

void check_path(std::string_view path) {
  require(path.starts_with('/'), "a path is absolute");
  require(("/" + std::string{path} + "/").find("/../") == std::string::npos, "no way up");
  for (const char c : path) require(c >= 0x20 && c <= 0x7e, "a path is printable ASCII");
}

void check_target(std::string_view raw) {
  const auto out = net::parse_target(raw);
  if (!out) return;
  check_path(out->path);
  for (const char c : out->query) require(c > 0x20 && c <= 0x7e, "a query is printable ASCII");
  require(out->query.find('#') == std::string::npos, "no fragment");
}

void check_message(std::string_view bytes) {
  for (const bool unix_peer : {true, false}) {
    http::request_parser<http::string_body> parser;
    parser.eager(true);
    parser.header_limit(8 * 1024);
    parser.body_limit(64 * 1024);
    boost::system::error_code ec;
    parser.put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
    if (ec && ec != http::error::need_more) {
      const auto status = net::parser_problem(ec).status;
      require(status == 400 || status == 413 || status == 431, "a bad message is the client's");
      continue;
    }
    if (!parser.is_header_done()) continue;
    auto message = parser.release();
    const auto out = net::check_request(message, unix_peer);
    if (const auto* request = std::get_if<net::HttpRequest>(&out)) {
      check_path(request->path);
      require(request->method == "GET" || request->method == "POST", "two methods");
      require(unix_peer || net::names_loopback(request->host), "the Host is this machine");
    } else {
      const auto status = std::get<net::Refusal>(out).response.status;
      require(status >= 400 && status < 500, "a refusal is the client's fault");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = text_of(data, size);
  check_target(bytes);
  static_cast<void>(net::names_loopback(bytes));
  check_message(bytes);
  return 0;
}
