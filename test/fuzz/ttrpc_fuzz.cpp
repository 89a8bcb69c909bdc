#include <string>
#include <vector>

#include "fuzz.hpp"
#include "net/ttrpc.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using net::TtrpcMessage;
using net::TtrpcType;

std::vector<TtrpcMessage> read_all(std::string_view wire, Choices cuts, bool whole) {
  std::vector<TtrpcMessage> out;
  net::TtrpcReader reader;
  while (!wire.empty()) {
    const auto piece = whole ? wire : wire.substr(0, cuts.byte() % 13 + 1);
    reader.feed(piece, out);
    wire.remove_prefix(piece.size());
  }
  return out;
}

bool same(const TtrpcMessage& a, const TtrpcMessage& b) {
  return a.type == b.type && a.stream == b.stream && a.body == b.body && a.oversized == b.oversized;
}

void check_body(std::string_view body) {
  if (const auto request = net::decode_request(body)) {
    require(!request->service.empty() && !request->method.empty(), "a request has both names");
    require(!request->timeout || request->timeout->count() > 0, "a timeout is above 0");
    const auto again = net::decode_request(net::encode(*request));
    require(again.has_value() && *again == *request, "a request comes back as it was sent");
  }
  if (const auto response = net::decode_response(body)) {
    const auto once = net::decode_response(net::encode(*response));
    require(once.has_value(), "an own response can be read");
    require(once->status == response->status, "a status comes back as it was sent");
    if (response->status == 0)
      require(once->payload == response->payload, "a payload comes back as it was sent");
    const auto twice = net::decode_response(net::encode(*once));
    require(twice.has_value() && *twice == *once, "words that were cleaned stay as they are");
  }
}

}  // namespace

/// First 16 bytes: where the wire is cut; the rest is the wire, and a message of its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = text_of(data, size);
  const auto cuts = input.substr(0, 16);
  const auto wire = input.substr(cuts.size());
  const auto whole = read_all(wire, Choices{cuts}, true);
  const auto pieces = read_all(wire, Choices{cuts}, false);
  require(whole.size() == pieces.size(), "messages do not depend on the cuts");
  net::TtrpcStreams streams;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto& message = whole[i];
    require(same(message, pieces[i]), "a message does not depend on the cuts");
    require(message.type == TtrpcType::kRequest || message.type == TtrpcType::kResponse,
            "other types are skipped");
    require(!message.oversized || message.body.empty(), "an oversized body is thrown away");
    if (!message.oversized && message.body.size() <= wire.size()) check_body(message.body);
    static_cast<void>(streams.accept(message.stream));
  }
  check_body(wire);
  const auto own = read_all(net::ttrpc_bytes(TtrpcType::kRequest, 1, wire), Choices{cuts}, false);
  require(own.size() == 1 && own[0].body == wire && own[0].stream == 1,
          "an own message comes back");
  return 0;
}
