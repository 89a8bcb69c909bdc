#include "net/grpc_metadata.hpp"

#include <doctest/doctest.h>

namespace koordlet::net {
using namespace std::chrono_literals;

TEST_SUITE("grpc_metadata") {
  TEST_CASE("grpc-timeout: 1 to 8 digits and a unit") {
    CHECK(parse_grpc_timeout("5S") == 5s);
    CHECK(parse_grpc_timeout("1H") == 1h);
    CHECK(parse_grpc_timeout("2M") == 2min);
    CHECK(parse_grpc_timeout("250m") == 250ms);
    CHECK(parse_grpc_timeout("7u") == 7us);
    CHECK(parse_grpc_timeout("99999999n") == 99'999'999ns);
    CHECK(parse_grpc_timeout("99999999H") == std::chrono::nanoseconds::max());
  }

  TEST_CASE("grpc-timeout that is none") {
    for (const char* text : {"", "5", "S", "5s", "-5S", "0S", "5 S", "123456789S", "5SS", "0x5S"}) {
      CAPTURE(text);
      CHECK_FALSE(parse_grpc_timeout(text).has_value());
    }
  }

  TEST_CASE("a timeout is written in the finest unit that has room for it") {
    CHECK(exact_grpc_timeout(99'999'999ns) == "99999999n");
    CHECK(exact_grpc_timeout(100ms) == "100000u");
    CHECK(exact_grpc_timeout(5s) == "5000000u");
    CHECK(exact_grpc_timeout(100s) == "100000m");
    CHECK(exact_grpc_timeout(0ns) == "1n");
    CHECK(exact_grpc_timeout(-5s) == "1n");
  }

  TEST_CASE("grpc-message keeps printable ASCII and escapes the rest") {
    CHECK(grpc_escape("not found") == "not found");
    CHECK(grpc_escape("50%\n\xc3\xa4") == "50%25%0A%C3%A4");
  }

  TEST_CASE("headers of one connection do not pass; te does") {
    const Http2Headers in{{":path", "/a"},
                          {"connection", "x"},
                          {"te", "trailers"},
                          {"keep-alive", "1"},
                          {"x-bin", "AA"}};
    const Http2Headers want{{":path", "/a"}, {"te", "trailers"}, {"x-bin", "AA"}};
    CHECK(without_hop_headers(in) == want);
  }
}

}  // namespace koordlet::net
