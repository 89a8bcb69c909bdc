#include <map>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "net/nri_mux.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using net::MuxPart;
using net::MuxReader;

struct Read {
  std::vector<std::pair<std::uint32_t, std::string>>
      parts;  ///< neighbours of one connection joined
  bool failed = false;
  std::size_t bytes = 0;
};

/// Up to the first fault, in pieces as `cuts` says.
Read read_all(std::string_view wire, Choices cuts, bool whole) {
  Read out;
  MuxReader reader;
  while (!wire.empty() && !out.failed) {
    const auto piece = whole ? wire : wire.substr(0, cuts.byte() % 13 + 1);
    wire.remove_prefix(piece.size());
    std::vector<MuxPart> parts;
    out.failed = reader.feed(piece, parts).has_error();
    for (const auto& part : parts) {
      require(!part.bytes.empty(), "no part is empty");
      require(part.bytes.data() >= piece.data() &&
                  part.bytes.data() + part.bytes.size() <= piece.data() + piece.size(),
              "a part points into what was fed");
      out.bytes += part.bytes.size();
      if (out.parts.empty() || out.parts.back().first != part.connection)
        out.parts.push_back({part.connection, ""});
      out.parts.back().second += part.bytes;
    }
  }
  return out;
}

void round_trip(std::string_view payload, std::uint32_t connection) {
  std::string wire;
  net::append_mux_frames(wire, connection, payload);
  const auto out = read_all(wire, Choices{{}}, true);
  require(!out.failed, "own frames can be read");
  require(out.parts.size() == (payload.empty() ? 0 : 1), "own frames are one connection's");
  if (!payload.empty())
    require(out.parts[0] == std::pair{connection, std::string{payload}}, "what is sent comes");
}

}  // namespace

/// First 16 bytes: where the wire is cut; the rest is the wire.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = text_of(data, size);
  const auto cuts = input.substr(0, 16);
  const auto wire = input.substr(cuts.size());
  const auto whole = read_all(wire, Choices{cuts}, true);
  const auto pieces = read_all(wire, Choices{cuts}, false);
  require(whole.failed == pieces.failed, "a fault does not depend on the cuts");
  require(whole.parts == pieces.parts, "parts do not depend on the cuts");
  require(whole.bytes <= wire.size(), "no more comes than was sent");
  round_trip(wire, static_cast<std::uint32_t>(Choices{cuts}.number(4)));
  return 0;
}
