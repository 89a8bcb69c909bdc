#include "net/request_target.hpp"

#include <doctest/doctest.h>

using koordlet::Errc;
using koordlet::net::names_loopback;
using koordlet::net::parse_target;

TEST_SUITE("net/request_target") {
  TEST_CASE("targets are decoded, normalised and split from their query") {
    struct Case {
      const char* raw;
      const char* path;
      const char* query;
    };
    for (const Case& c : {Case{"/", "/", ""},
                          Case{"/api/v1/pods", "/api/v1/pods", ""},
                          Case{"/a?b=c&d=%20", "/a", "b=c&d=%20"},
                          Case{"/a?", "/a", ""},
                          Case{"/a?b?c", "/a", "b?c"},
                          Case{"//a///b/", "/a/b", ""},
                          Case{"/./a/./b", "/a/b", ""},
                          Case{"/%61%2Db", "/a-b", ""},
                          Case{"/a%20b", "/a b", ""},
                          Case{"/%252e%252e/x", "/%2e%2e/x", ""},
                          Case{"/...", "/...", ""},
                          Case{"/..a/b..", "/..a/b..", ""}}) {
      CAPTURE(c.raw);
      const auto got = parse_target(c.raw);
      REQUIRE(got.has_value());
      CHECK(got->path == c.path);
      CHECK(got->query == c.query);
      CHECK(got->authority.empty());
    }
  }

  TEST_CASE("an absolute target names its host") {
    auto got = parse_target("http://localhost:6060/a?b");
    REQUIRE(got.has_value());
    CHECK(got->authority == "localhost:6060");
    CHECK(got->path == "/a");
    CHECK(got->query == "b");
    got = parse_target("http://evil.example?x");
    REQUIRE(got.has_value());
    CHECK(got->authority == "evil.example");
    CHECK(got->path == "/");
    CHECK(got->query == "x");
  }

  TEST_CASE("tricks are refused") {
    for (const char* raw :
         {"",        "a",           "*",         "/..",       "/../etc/passwd",
          "/a/../b", "/%2e%2e/etc", "/%2E./etc", "/.%2e",     "/a%2fb",
          "/a%2Fb",  "/%00",        "/a%0ab",    "/%7f",      "/%80",
          "/%c3%a9", "/\xc3\xa9",   "/%",        "/%4",       "/%zz",
          "/a#b",    "/a?b\xff",    "http://",   "http:///a", "https://localhost/"}) {
      CAPTURE(raw);
      const auto got = parse_target(raw);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kParse);
    }
    CHECK(parse_target(std::string_view{"/a\0b", 4}).has_error());
  }

  TEST_CASE("only loopback names are loopback") {
    for (const char* host : {"localhost",
                             "LocalHost",
                             "localhost:6060",
                             "127.0.0.1",
                             "127.0.0.1:1",
                             "127.8.9.10",
                             "[::1]",
                             "[::1]:65535"}) {
      CAPTURE(host);
      CHECK(names_loopback(host));
    }
    for (const char* host : {"",
                             "evil.example",
                             "localhost.evil.example",
                             "localhost@evil.example",
                             "127.0.0.1.evil.example",
                             "10.0.0.1",
                             "0.0.0.0",
                             "::1",
                             "[::1",
                             "[::2]",
                             "[127.0.0.1]",
                             "[::1]x",
                             "localhost:",
                             "localhost:x",
                             "localhost:65536",
                             "localhost:80:80",
                             "127.1"}) {
      CAPTURE(host);
      CHECK_FALSE(names_loopback(host));
    }
  }
}
