#include "net/ttrpc.hpp"

#include <doctest/doctest.h>

#include "net/nri_mux.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using namespace std::chrono_literals;
using net::TtrpcMessage;
using net::TtrpcReader;
using net::TtrpcRequest;
using net::TtrpcResponse;
using net::TtrpcType;

const std::string kRegister = from_hex("0a 0c 6b 6f 6f 72 64 6c 65 74 5f 6e 72 69 12 02 30 30");

TtrpcRequest register_request() {
  return {"nri.pkg.api.v1alpha1.Runtime", "RegisterPlugin", kRegister, {}};
}

std::string framed(std::uint32_t connection, TtrpcType type, const std::string& body) {
  std::string out;
  net::append_mux_frames(out, connection, net::ttrpc_bytes(type, 1, body));
  return out;
}

std::vector<TtrpcMessage> read_all(std::string_view bytes, std::size_t piece) {
  TtrpcReader reader;
  std::vector<TtrpcMessage> out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    reader.feed(bytes.substr(0, piece), out);
  return out;
}

}  // namespace

TEST_SUITE("ttrpc/bytes") {
  TEST_CASE("reference: the request RegisterPlugin, with and without a time limit") {
    const auto service =
        "0a 1c 6e 72 69 2e 70 6b 67 2e 61 70 69 2e 76 31 61 6c 70 68 61 31 2e 52"
        "75 6e 74 69 6d 65 12 0e 52 65 67 69 73 74 65 72 50 6c 75 67 69 6e 1a 12";
    auto request = register_request();
    const auto plain = net::encode(request);
    CHECK(plain.size() == 66);
    CHECK(plain == from_hex(service) + kRegister);
    CHECK(framed(2, TtrpcType::kRequest, plain) ==
          from_hex("00 00 00 02 00 00 00 4c 00 00 00 42 00 00 00 01 01 00") + plain);

    request.timeout = 5s;
    const auto timed = net::encode(request);
    CHECK(timed.size() == 72);
    CHECK(timed == plain + from_hex("20 80 e4 97 d0 12"));
    CHECK(framed(2, TtrpcType::kRequest, timed).substr(0, 18) ==
          from_hex("00 00 00 02 00 00 00 52 00 00 00 48 00 00 00 01 01 00"));
    CHECK(net::decode_request(timed).value() == request);
  }

  TEST_CASE("reference: the response to Configure") {
    const auto body = net::encode(TtrpcResponse{0, {}, from_hex("10 8d 01")});
    CHECK(framed(1, TtrpcType::kResponse, body) ==
          from_hex("00 00 00 01 00 00 00 0f | 00 00 00 05 00 00 00 01 02 00 | 12 03 10 8d 01"));
  }

  TEST_CASE("an empty reply is a response without a byte") {
    CHECK(net::encode(TtrpcResponse{}).empty());
    CHECK(net::decode_response("").value() == TtrpcResponse{});
  }

  TEST_CASE("a status, and its text on one printable line") {
    const auto body = net::encode(TtrpcResponse{12, "no\nsuch \xff method", "left out"});
    CHECK(body == from_hex("0a 14 08 0c 12 10") + "no?such ? method");
    const auto back = net::decode_response(body).value();
    CHECK(back.status == 12);
    CHECK(back.message == "no?such ? method");
    CHECK(back.payload.empty());
  }

  TEST_CASE("a response above 4 MiB becomes status 8") {
    const auto most = net::encode(TtrpcResponse{0, {}, std::string(4'194'304 - 5, 'x')});
    CHECK(most.size() == 4'194'304);
    const auto body = net::encode(TtrpcResponse{0, {}, std::string(4'194'304 - 4, 'x')});
    CHECK(net::decode_response(body)->status == 8);
  }
}

TEST_SUITE("ttrpc/reader") {
  TEST_CASE("messages byte by byte, the empty one too") {
    const auto bytes = net::ttrpc_bytes(TtrpcType::kRequest, 1, "abc") +
                       net::ttrpc_bytes(TtrpcType::kResponse, 3, "") +
                       net::ttrpc_bytes(TtrpcType::kRequest, 0xffffffff, "d");
    for (const std::size_t piece : {1, 2, 9, 1000}) {
      const auto out = read_all(bytes, piece);
      REQUIRE(out.size() == 3);
      CHECK(out[0].type == TtrpcType::kRequest);
      CHECK(out[0].stream == 1);
      CHECK(out[0].body == "abc");
      CHECK(out[1].type == TtrpcType::kResponse);
      CHECK(out[1].stream == 3);
      CHECK(out[1].body.empty());
      CHECK(out[2].stream == 0xffffffff);
      CHECK(out[2].body == "d");
    }
  }

  TEST_CASE("seed: types 3, 9 and 0 are skipped, however long; what follows is whole") {
    for (const char type : {'\3', '\11', '\0', '\xff'}) {
      auto skipped = net::ttrpc_bytes(TtrpcType::kRequest, 1, "xyz");
      skipped[8] = type;
      const auto out = read_all(skipped + net::ttrpc_bytes(TtrpcType::kRequest, 3, "abc"), 1);
      REQUIRE(out.size() == 1);
      CHECK(out[0].stream == 3);
      CHECK(out[0].body == "abc");
    }
  }

  TEST_CASE("a body above 4 MiB is named and thrown away; what follows is whole") {
    auto bytes = net::ttrpc_bytes(TtrpcType::kRequest, 5, std::string(4'194'305, 'x'));
    bytes += net::ttrpc_bytes(TtrpcType::kRequest, 7, std::string(4'194'304, 'y'));
    const auto out = read_all(bytes, 65'536);
    REQUIRE(out.size() == 2);
    CHECK(out[0].oversized);
    CHECK(out[0].stream == 5);
    CHECK(out[0].body.empty());
    CHECK_FALSE(out[1].oversized);
    CHECK(out[1].body.size() == 4'194'304);
  }

  TEST_CASE("a header that promises 4 GiB sets no memory aside") {
    CHECK(read_all(from_hex("ff ff ff ff 00 00 00 01 01 00") + "abc", 1).empty());
  }

  TEST_CASE("seed: streams of a client are odd and rise") {
    net::TtrpcStreams streams;
    CHECK(streams.accept(1).has_value());
    CHECK(streams.accept(5).has_value());
    for (const std::uint32_t wrong : {0u, 2u, 6u, 5u, 3u, 1u}) {
      CAPTURE(wrong);
      const auto out = streams.accept(wrong);
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kInvalid);
    }
    CHECK(streams.accept(0xffffffff).has_value());
    CHECK(streams.accept(0xffffffff).has_error());
  }
}

TEST_SUITE("ttrpc/damaged") {
  TEST_CASE("a request cut anywhere is an error or another request, never a crash") {
    const auto whole = net::encode(register_request());
    for (std::size_t n = 0; n < whole.size(); ++n) {
      CAPTURE(n);
      const auto out = net::decode_request(whole.substr(0, n));
      // Both names are there only behind the second field; then just whole fields parse.
      CHECK(out.has_value() == (n == 46));
      if (!out) CHECK(out.error().code == Errc::kParse);
    }
  }

  TEST_CASE("a request without a service or a method, and bytes that are no message") {
    CHECK(net::decode_request("").error().context ==
          "ttrpc Request: expected a service and a method");
    CHECK(net::decode_request(from_hex("0a 01 61")).has_error());
    CHECK(net::decode_request(from_hex("12 01 61")).has_error());
    CHECK(net::decode_request(from_hex("0a 01 ff 12 01 61")).has_error());  // no UTF-8
    CHECK(net::decode_request(from_hex("0a ff ff ff ff 0f")).error().context ==
          "expected a ttrpc Request");
    CHECK(net::decode_response(from_hex("0a 05 08")).error().context ==
          "expected a ttrpc Response");
  }

  TEST_CASE("a time limit of zero or below is none") {
    const auto names = from_hex("0a 01 61 12 01 62");
    CHECK_FALSE(net::decode_request(names + from_hex("20 00"))->timeout);
    CHECK_FALSE(net::decode_request(names + from_hex("20 ff ff ff ff ff ff ff ff ff 01"))->timeout);
    CHECK(net::decode_request(names + from_hex("20 01"))->timeout == std::chrono::nanoseconds{1});
  }
}

}  // namespace koordlet::test
