#include "net/nri_mux.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "net/ttrpc.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using net::MuxPart;
using net::MuxReader;

struct Read {
  std::string one, two, others;  ///< payload of connections 1, 2, and the rest
  std::size_t parts = 0;
  std::optional<Error> failure;
};

/// Fed in pieces of `size` bytes.
Read read_all(std::string_view bytes, std::size_t size) {
  MuxReader reader;
  Read out;
  for (; !bytes.empty() && !out.failure; bytes.remove_prefix(std::min(size, bytes.size()))) {
    std::vector<MuxPart> parts;
    const auto fed = reader.feed(bytes.substr(0, size), parts);
    if (!fed) out.failure = fed.error();
    for (const auto& p : parts)
      (p.connection == 1 ? out.one : p.connection == 2 ? out.two : out.others) += p.bytes;
    out.parts += parts.size();
  }
  return out;
}

/// The payload lengths of the frames in `bytes`.
std::vector<std::size_t> lengths(std::string_view bytes) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < bytes.size(); at += 8 + out.back()) {
    const auto b = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    out.push_back(static_cast<std::size_t>(b(4)) << 24 | b(5) << 16 | b(6) << 8 | b(7));
  }
  return out;
}

}  // namespace

TEST_SUITE("nri_mux") {
  TEST_CASE("a frame is connection, length, payload") {
    std::string out;
    net::append_mux_frames(out, 2, "abc");
    CHECK(out == from_hex("00 00 00 02 00 00 00 03 61 62 63"));
    net::append_mux_frames(out, 1, "");
    CHECK(out.size() == 11);
  }

  TEST_CASE("seed: an answer of 10000 bytes goes out as frames of 4096, 4096, 1818") {
    const auto message = net::ttrpc_bytes(net::TtrpcType::kResponse, 1, std::string(10'000, 'x'));
    std::string out;
    net::append_mux_frames(out, 1, message);
    CHECK(lengths(out) == std::vector<std::size_t>{4096, 4096, 1818});
    CHECK(read_all(out, out.size()).one == message);
  }

  TEST_CASE("seed: three messages cut at any border over frames of 1, 7, 4096 bytes") {
    const std::string bodies[] = {"", std::string(300, 'a'), std::string(9000, 'b')};
    std::string stream;
    for (std::uint32_t i = 0; i < 3; ++i)
      stream += net::ttrpc_bytes(net::TtrpcType::kRequest, 2 * i + 1, bodies[i]);
    for (const std::size_t frame : {1, 7, 4096}) {
      std::string wire;
      for (std::size_t at = 0; at < stream.size(); at += frame)
        net::append_mux_frames(wire, 1, std::string_view{stream}.substr(at, frame));
      for (const std::size_t piece : {1, 3, 4096, 100'000}) {
        CAPTURE(frame);
        CAPTURE(piece);
        net::TtrpcReader reader;
        std::vector<net::TtrpcMessage> messages;
        reader.feed(read_all(wire, piece).one, messages);
        REQUIRE(messages.size() == 3);
        for (std::uint32_t i = 0; i < 3; ++i) {
          CHECK(messages[i].stream == 2 * i + 1);
          CHECK(messages[i].body == bodies[i]);
        }
      }
    }
  }

  TEST_CASE("connections that share the stream stay apart, byte by byte too") {
    const auto wire = from_hex(
        "00 00 00 01 00 00 00 02 61 62 | 00 00 00 02 00 00 00 01 63 | 00 00 00 00 00 00 00 01 78 |"
        "00 00 00 01 00 00 00 00 | 00 00 00 01 00 00 00 01 64 | ff ff ff ff 00 00 00 01 79");
    for (const std::size_t piece : {1, 2, 5, 100}) {
      const auto out = read_all(wire, piece);
      CHECK_FALSE(out.failure);
      CHECK(out.one == "abd");
      CHECK(out.two == "c");
      CHECK(out.others == "xy");
    }
  }

  TEST_CASE("a frame without payload is nothing") {
    CHECK(read_all(from_hex("00 00 00 01 00 00 00 00"), 1).parts == 0);
  }

  TEST_CASE("the longest frame is read; one byte more is an error in one line") {
    CHECK_FALSE(read_all(from_hex("00 00 00 01 00 40 00 0a"), 8).failure);
    for (const auto* header : {"00 00 00 01 00 40 00 0b", "00 00 00 01 ff ff ff ff"}) {
      const auto out = read_all(from_hex(header), 1);
      REQUIRE(out.failure);
      CHECK(out.failure->code == Errc::kRange);
      CHECK(out.failure->context.find("frame of connection 1: expected at most 4194314") == 0);
    }
  }
}

}  // namespace koordlet::test
