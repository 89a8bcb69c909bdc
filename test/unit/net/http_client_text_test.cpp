#include <doctest/doctest.h>

#include "client_fixture.hpp"
#include "net/client_request.hpp"
#include "net/http_date.hpp"

namespace koordlet::test {
namespace {

using std::chrono::seconds;

const WallTime kNov1994{seconds{784'111'777}};  // Sun, 06 Nov 1994 08:49:37 GMT

net::HttpEndpoint endpoint_of(std::string host, std::uint16_t port, bool tls = true) {
  net::HttpEndpoint out;
  out.tls = tls;
  out.host = std::move(host);
  out.port = port;
  return out;
}

net::ResponseHead head_with(FakeHeaders headers) {
  const FakeAnswer answer{429, "{}", "application/json", std::move(headers)};
  ClientAndServer t{Wire::kPlain,
                    FakeHttpServer::answering([answer](const FakeRequest&) { return answer; })};
  return t.get().value().head;
}

}  // namespace

TEST_SUITE("http_client/text") {
  TEST_CASE("the three forms of a date mean the same") {
    for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT",
                             "Sunday, 06-Nov-94 08:49:37 GMT",
                             "Sun Nov  6 08:49:37 1994"}) {
      CAPTURE(text);
      const auto date = net::parse_http_date(text);
      REQUIRE(date.has_value());
      CHECK(*date == kNov1994);
    }
  }

  TEST_CASE("what is no date is none") {
    for (const char* text : {"",
                             "now",
                             "Sun, 06 Nov 1994 08:49:37 CET",
                             "Sun, 31 Feb 1994 08:49:37 GMT",
                             "Sun, 06 Nov 1994 24:00:00 GMT",
                             "Sun, 06 Nov 1994 08:49 GMT",
                             "Sun, 06 Nov 199 08:49:37 GMT",
                             "Sun, 06 Now 1994 08:49:37 GMT",
                             "Sun, 06 Nov 1994 08:49:37 GMT and a tail",
                             "Sun, 06 Nov 5949 08:49:37 GMT",  // past 64 bits of nanoseconds
                             "Mon, 01 Jan 0001 00:00:00 GMT"}) {
      CAPTURE(text);
      CHECK(!net::parse_http_date(text).has_value());
    }
  }

  TEST_CASE("Retry-After in seconds and as a date; Date") {
    CHECK(head_with({{"Retry-After", "7"}}).retry_after == seconds{7});
    const auto dated = head_with({{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                                  {"Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"}});
    CHECK(dated.date == kNov1994);
    CHECK(dated.retry_after == seconds{30});
    const auto past = head_with({{"Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT"}});
    CHECK(past.retry_after == seconds{0});
    CHECK(!past.date.has_value());
  }

  TEST_CASE("a bad or absent Retry-After is unknown, an enormous one is a year") {
    CHECK(!head_with({}).retry_after.has_value());
    CHECK(!head_with({{"Retry-After", "soon"}}).retry_after.has_value());
    CHECK(!head_with({{"Retry-After", "-1"}}).retry_after.has_value());
    CHECK(head_with({{"Retry-After", "18446744073709551615"}}).retry_after ==
          seconds{365 * 24 * 3600});
  }

  TEST_CASE("an HTML page passes as it is") {
    const FakeAnswer page{502, "<html>Bad Gateway</html>", "text/html"};
    ClientAndServer t{Wire::kTls,
                      FakeHttpServer::answering([page](const FakeRequest&) { return page; })};
    const auto out = t.get();
    REQUIRE(out.has_value());
    CHECK(out->head.status == 502);
    CHECK(out->head.content_type == "text/html");
    CHECK(out->body == "<html>Bad Gateway</html>");
  }

  TEST_CASE("the bytes of a request") {
    net::ClientRequest request;
    request.method = "POST";
    request.target = "/a?b=c";
    request.headers = {{"Accept", "application/json"}};
    request.body = "{}";
    CHECK(net::request_bytes(endpoint_of("10.0.0.1", 6443), request).value() ==
          "POST /a?b=c HTTP/1.1\r\nHost: 10.0.0.1:6443\r\nAccept: application/json\r\n"
          "Content-Length: 2\r\n\r\n{}");
    request = {};
    request.target = "/";
    CHECK(net::request_bytes(endpoint_of("::1", 80, false), request).value() ==
          "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    CHECK(net::peer_name(endpoint_of("::1", 6443)) == "[::1]:6443");
  }

  TEST_CASE("CR, LF and other tricks in a request are refused before anything is sent") {
    ClientAndServer t{Wire::kPlain, saying("")};
    using Edit = std::function<void(net::ClientRequest&)>;
    const Edit kEdits[] = {
        [](auto& r) { r.method = "GET /\r\n"; },
        [](auto& r) { r.method.clear(); },
        [](auto& r) { r.target = "/a HTTP/1.1\r\nX: y"; },
        [](auto& r) { r.target = "/a b"; },
        [](auto& r) { r.target = "a"; },
        [](auto& r) { r.target.clear(); },
        [](auto& r) { r.target = "/\xc3\xa4"; },
        [](auto& r) {
          r.headers = {{"Authorization", "Bearer top-secret\r\nX: y"}};
        },
        [](auto& r) {
          r.headers = {{"Authorization", "Bearer top-secret\n"}};
        },
        [](auto& r) {
          r.headers = {{"Authorization", std::string{"top-secret\0", 11}}};
        },
        [](auto& r) {
          r.headers = {{"A\r\ntop-secret", "x"}};
        },
        [](auto& r) {
          r.headers = {{"", "top-secret"}};
        },
        [](auto& r) {
          r.headers = {{"content-length", "7"}};
        },
        [](auto& r) {
          r.headers = {{"Transfer-Encoding", "chunked"}};
        },
        [](auto& r) {
          r.headers = {{"Host", "elsewhere"}};
        },
    };
    for (std::size_t i = 0; i < std::size(kEdits); ++i) {
      CAPTURE(i);
      auto request = ClientAndServer::to("/");
      kEdits[i](request);
      const auto out = run(t.io, t.client->request(request));
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kInvalid);
      CHECK(out.error().context.find("top-secret") == std::string::npos);
      CHECK(run(t.io, t.client->open(request)).error().code == Errc::kInvalid);
    }
    CHECK(t.server.accepted() == 0);
  }
}

}  // namespace koordlet::test
