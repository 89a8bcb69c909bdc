#include "net/grpc_client.hpp"

#include <doctest/doctest.h>

#include "http2_fixture.hpp"

namespace koordlet::test {
namespace {

using namespace std::string_literals;
using net::grpc_message_of;
using net::grpc_unframe;
using net::Http2Answer;
using std::chrono::milliseconds;

// UpdateContainerResources{"abc", quota -1, shares 512, cpuset "0-3"}
const std::string kMessage =
    "\x0a\x03"
    "abc"
    "\x12\x13\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x80\x04\x32\x03"
    "0-3"s;
const std::string kPrefix = "\0\0\0\0\x1a"s;

Http2Answer answer_with(const std::string& status, const std::string& words = {}) {
  Http2Answer out;
  out.status = 200;
  out.trailers = {{"grpc-status", status}};
  if (!words.empty()) out.trailers.emplace_back("grpc-message", words);
  out.prefix = kPrefix;
  out.body = kMessage;
  return out;
}

Errc code_of(const Http2Answer& answer) {
  const auto out = grpc_message_of(answer);
  REQUIRE(out.has_error());
  return out.error().code;
}

Result<std::string> call(Http2Pair& t, milliseconds timeout = std::chrono::seconds{5}) {
  return run(t.io, net::grpc_call(*t.client, "/p.S/M", kMessage, timeout));
}

}  // namespace

TEST_SUITE("grpc_client") {
  TEST_CASE("a message is framed by a flag and its length in network order") {
    CHECK(net::grpc_frame(kMessage) == kPrefix + kMessage);
    CHECK(net::grpc_frame("") == "\0\0\0\0\0"s);
    CHECK(net::grpc_frame(std::string(0x010203, 'x')).substr(0, 5) == "\0\0\1\2\3"s);
  }

  TEST_CASE("the frame comes off again") {
    const auto out = grpc_unframe(kPrefix, kMessage);
    REQUIRE(out.has_value());
    CHECK(*out == kMessage);
    const auto empty = grpc_unframe("\0\0\0\0\0"s, "");
    REQUIRE(empty.has_value());
    CHECK(empty->empty());
  }

  TEST_CASE("wrong length prefixes, cut and compressed messages are kParse") {
    for (const auto& body : {""s,
                             "\0"s,
                             "\0\0\0\0"s,
                             "\0\0\0\0\1"s,
                             "\0\0\0\0\2x"s,
                             "\0\0\0\0\1xx"s,
                             "\0\xff\xff\xff\xffx"s,
                             "\1\0\0\0\1x"s,
                             "\0\0\0\0\1x\0\0\0\0\1y"s}) {
      CAPTURE(body);
      const auto out = grpc_unframe(body.substr(0, 5), body.size() > 5 ? body.substr(5) : "");
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
    }
  }

  TEST_CASE("percent escapes of grpc-message; what is no escape stays") {
    CHECK(net::grpc_unescape("not%20found") == "not found");
    CHECK(net::grpc_unescape("%E2%82%ac") == "\xe2\x82\xac");
    CHECK(net::grpc_unescape("100%25") == "100%");
    for (const char* text : {"", "plain", "%", "%2", "%zz", "%2z", "50% of"}) {
      CAPTURE(text);
      CHECK(net::grpc_unescape(text) == text);
    }
  }

  TEST_CASE("grpc-timeout has at most 8 digits and is never zero") {
    CHECK(net::grpc_timeout(milliseconds{5000}) == "5000m");
    CHECK(net::grpc_timeout(milliseconds{99'999'999}) == "99999999m");
    CHECK(net::grpc_timeout(milliseconds{100'000'000}) == "100000S");
    CHECK(net::grpc_timeout(milliseconds::max()) == "99999999S");
    CHECK(net::grpc_timeout(milliseconds{0}) == "1m");
    CHECK(net::grpc_timeout(milliseconds{-5}) == "1m");
  }

  TEST_CASE("status 0 gives the message") {
    const auto out = grpc_message_of(answer_with("0"));
    REQUIRE(out.has_value());
    CHECK(*out == kMessage);
  }

  TEST_CASE("each status has its code") {
    const std::pair<const char*, Errc> kCases[] = {{"1", Errc::kIo},
                                                   {"2", Errc::kIo},
                                                   {"3", Errc::kInvalid},
                                                   {"4", Errc::kBusy},
                                                   {"5", Errc::kNotFound},
                                                   {"6", Errc::kIo},
                                                   {"7", Errc::kDenied},
                                                   {"8", Errc::kBusy},
                                                   {"9", Errc::kIo},
                                                   {"10", Errc::kIo},
                                                   {"11", Errc::kRange},
                                                   {"12", Errc::kNotSupported},
                                                   {"13", Errc::kIo},
                                                   {"14", Errc::kBusy},
                                                   {"15", Errc::kIo},
                                                   {"16", Errc::kDenied},
                                                   {"17", Errc::kIo}};
    for (const auto& [status, code] : kCases) {
      CAPTURE(status);
      CHECK(code_of(answer_with(status)) == code);
    }
  }

  TEST_CASE("an HTTP status without a gRPC status stands for one") {
    const std::pair<unsigned, Errc> kCases[] = {{400, Errc::kIo},
                                                {401, Errc::kDenied},
                                                {403, Errc::kDenied},
                                                {404, Errc::kNotSupported},
                                                {429, Errc::kBusy},
                                                {500, Errc::kIo},
                                                {502, Errc::kBusy},
                                                {503, Errc::kBusy},
                                                {504, Errc::kBusy},
                                                {418, Errc::kIo}};
    for (const auto& [http, code] : kCases) {
      CAPTURE(http);
      Http2Answer answer;
      answer.status = http;
      CHECK(code_of(answer) == code);
    }
    auto both = answer_with("5");
    both.status = 503;
    CHECK(code_of(both) == Errc::kNotFound);
  }

  TEST_CASE("an answer without a status, or with none that is a number, is kParse") {
    Http2Answer none;
    none.status = 200;
    none.body = kPrefix + kMessage;
    CHECK(code_of(none) == Errc::kParse);
    for (const char* status : {"", "x", "-1", "0x0", "99999999999999999999", " 0"})
      CHECK(code_of(answer_with(status)) == Errc::kParse);
  }

  TEST_CASE("words of the peer are shown in printable form and cut") {
    const auto out =
        grpc_message_of(answer_with("2", "a%0A%1B[31mb%00%FF" + std::string(300, 'x')));
    REQUIRE(out.has_error());
    CHECK(out.error().context.starts_with("status 2: a??[31mb??xxx"));
    CHECK(out.error().context.size() < 220);
  }

  TEST_CASE("an answer that ends within the prefix, or says more than may come, is no message") {
    for (const auto& raw : {"\0\0"s, "\0\xff\xff\xff\xffx"s}) {
      CAPTURE(raw.size());
      GrpcAnswer answer;
      answer.body = raw;
      Http2Pair t{always(answer)};
      const auto out = call(t);
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
    }
  }

  TEST_CASE("a call: what the peer gets, and the message of its answer") {
    Http2Pair t{always(saying_grpc(grpc_message("the answer")))};
    const auto out = call(t);
    REQUIRE(out.has_value());
    CHECK(*out == "the answer");
    REQUIRE(t.server.calls().size() == 1);
    const auto& got = t.server.calls()[0];
    CHECK(got.path == "/p.S/M");
    CHECK(got.message == kMessage);
    CHECK(got.header("content-type") == "application/grpc");
    CHECK(got.header("te") == "trailers");
    CHECK(got.header("grpc-timeout") == "5000m");
  }

  TEST_CASE("a status in the only block of headers: not%20found") {
    auto answer = saying_grpc("", GrpcFault::kTrailersOnly);
    answer.status = 5;
    answer.words = "not%20found";
    Http2Pair t{always(answer)};
    const auto out = call(t);
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kNotFound);
    CHECK(out.error().context == "/p.S/M: status 5: not found");
  }

  TEST_CASE("status 0 and no message, a body without trailers, a message of another length") {
    for (const auto& answer : {saying_grpc("", GrpcFault::kTrailersOnly),
                               saying_grpc(grpc_message("x"), GrpcFault::kNoTrailers),
                               saying_grpc(grpc_message("xxxx", 8)),
                               saying_grpc(grpc_message("xxxx", 0xffffffff)),
                               saying_grpc(grpc_message("xxxx", 3))}) {
      Http2Pair t{always(answer)};
      const auto out = call(t);
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
      CHECK(out.error().context.find("/p.S/M") != std::string::npos);
      CHECK(t.server.calls().size() == 1);
    }
  }

  TEST_CASE("the call's own timeout bounds it") {
    Http2Pair t{always(saying_grpc("", GrpcFault::kSilent))};
    const auto out = call(t, milliseconds{20});
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(t.server.calls()[0].header("grpc-timeout") == "20m");
  }
}

}  // namespace koordlet::test
