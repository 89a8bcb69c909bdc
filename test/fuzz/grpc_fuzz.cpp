#include <string>

#include "fuzz.hpp"
#include "net/grpc_client.hpp"
#include "net/grpc_metadata.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;

void check_frame(std::string_view bytes) {
  const auto prefix = bytes.substr(0, net::kGrpcPrefix);
  const auto message = std::string{bytes.substr(prefix.size())};
  if (const auto out = net::grpc_unframe(prefix, message))
    require(*out == message && net::grpc_frame(message) == bytes, "a message is its own frame's");
  const auto framed = net::grpc_frame(bytes);
  require(framed.size() == bytes.size() + net::kGrpcPrefix, "a frame is a prefix longer");
  const auto back = net::grpc_unframe(std::string_view{framed}.substr(0, net::kGrpcPrefix),
                                      framed.substr(net::kGrpcPrefix));
  require(back.has_value() && *back == bytes, "an own frame comes back");
}

void check_words(std::string_view bytes) {
  const auto escaped = net::grpc_escape(bytes);
  for (const char c : escaped) require(c >= 0x20 && c <= 0x7e, "escaped text is printable ASCII");
  require(net::grpc_unescape(escaped) == bytes, "escaped text comes back");
  require(net::grpc_unescape(bytes).size() <= bytes.size(), "undone escapes are no longer");
}

void check_timeout(std::string_view text) {
  const auto timeout = net::parse_grpc_timeout(text);
  if (!timeout) return;
  require(timeout->count() > 0, "a timeout is above 0");
  const auto spelt = net::exact_grpc_timeout(*timeout);
  require(spelt.size() >= 2 && spelt.size() <= 9, "at most 8 digits and a unit");
  const auto back = net::parse_grpc_timeout(spelt);
  require(back.has_value(), "an own timeout can be read");
  require(*back <= *timeout, "rounded down");
  require(net::exact_grpc_timeout(*back) == spelt, "spelt once, it stays");
}

void check_answer(Choices from) {
  net::Http2Answer answer;
  answer.status = from.flag() ? 200 : static_cast<unsigned>(from.number(2));
  for (int i = from.byte() % 4; i > 0; --i) {
    const char* names[] = {"grpc-status", "grpc-message", "content-type", "te", "connection"};
    auto& to = from.flag() ? answer.headers : answer.trailers;
    const auto* name = names[from.index(std::size(names))];
    to.emplace_back(name, std::string{from.piece()});
  }
  for (const auto& [name, value] : net::without_hop_headers(answer.headers))
    require(name != "connection", "headers of one connection stay there");
  answer.prefix = std::string{from.rest().substr(0, net::kGrpcPrefix)};
  answer.body = std::string{from.rest().substr(answer.prefix.size())};
  static_cast<void>(net::grpc_message_of(std::move(answer)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = text_of(data, size);
  check_frame(bytes);
  check_words(bytes);
  check_timeout(bytes.substr(0, 12));
  check_answer(Choices{bytes});
  return 0;
}
