#include <sys/stat.h>

#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include "forward_rig.hpp"

namespace koordlet::test {
namespace {

constexpr std::uint32_t kProtocolError = 1, kRefused = 7, kCancel = 8;  // RFC 9113, section 7
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Server, and clients that connect to it.
struct ServerRig {
  ServerRig() : server{io, path()} {}
  std::string path() const { return tree.path("s"); }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  /// Bytes on a connection of their own; it stays open.
  std::shared_ptr<net::Http2Link::Socket> raw(const std::string& bytes) {
    auto socket = std::make_shared<net::Http2Link::Socket>(
        net::connect_unix(io.get_executor(), path()).value());
    boost::asio::write(*socket, boost::asio::buffer(bytes));
    return socket;
  }
  FakeTree tree;
  boost::asio::io_context io;
  OpenServer server;
};

}  // namespace

TEST_SUITE("http2_server") {
  TEST_CASE("head, body and trailers go both ways; the socket is its owner's alone") {
    ServerRig t;
    struct stat info {};
    REQUIRE(::stat(t.path().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    OpenClient client{t.io, t.path()};
    const auto asked = client.open("/a/B", {{"x-key", "v"}, {"blob-bin", "AAEC"}});
    asked->send("question");
    asked->finish();
    REQUIRE(t.until([&] { return !t.server.streams.empty(); }));
    const auto served = t.server.streams[0];
    REQUIRE(t.until([&] { return served->stream->ended(); }));
    CHECK(served->body == "question");
    CHECK(served->header(":path") == "/a/B");
    CHECK(served->header("blob-bin") == "AAEC");
    served->stream->respond(kAnswerHead, false);
    served->send("answer");
    served->finish({{"grpc-status", "0"}});
    REQUIRE(t.until([&] { return asked->stream->is_over(); }));
    CHECK(asked->header(":status") == "200");
    CHECK(asked->body == "answer");
    CHECK(asked->trailer("grpc-status") == "0");
    CHECK_FALSE(asked->stream->reset_code().has_value());
    REQUIRE(t.until([&] { return served->stream->is_over(); }));
    CHECK_FALSE(served->stream->is_lost());
  }

  TEST_CASE("a reader that takes nothing: one window waits on each side, other streams go on") {
    ServerRig t;
    OpenClient client{t.io, t.path()};
    const auto slow = client.open("/slow");
    slow->send(std::string(8u << 20, 'x'));
    t.server.then = [](StreamLog& log) { log.reading = false; };
    REQUIRE(t.until([&] {
      return !t.server.streams.empty() &&
             t.server.streams[0]->stream->waiting().size() == net::kHttp2Window;
    }));
    CHECK(client.link->waiting_bytes() <= net::kHttp2Room);
    CHECK(t.server.server.waiting_bytes() <= net::kHttp2Window);
    t.server.then = nullptr;
    const auto quick = client.open("/quick");
    quick->send(std::string(1u << 20, 'y'));
    quick->finish();
    REQUIRE(t.until(
        [&] { return t.server.streams.size() == 2 && t.server.streams[1]->stream->ended(); }));
    CHECK(t.server.streams[1]->body.size() == 1u << 20);
    CHECK(t.server.streams[0]->stream->waiting().size() == net::kHttp2Window);
    const auto served = t.server.streams[0];
    served->then = nullptr;
    served->reading = true;
    served->changed(*served->stream);
    slow->finish();
    REQUIRE(t.until([&] { return served->stream->ended(); }));
    CHECK(served->body.size() == 8u << 20);
  }

  TEST_CASE("the client's reset is seen with its code; so is the server's") {
    ServerRig t;
    OpenClient client{t.io, t.path()};
    const auto first = client.open("/a"), second = client.open("/b");
    REQUIRE(t.until([&] { return t.server.streams.size() == 2; }));
    first->stream->reset(kCancel);
    t.server.streams[1]->stream->reset(kRefused);
    REQUIRE(t.until(
        [&] { return t.server.streams[0]->stream->is_over() && second->stream->is_over(); }));
    CHECK(t.server.streams[0]->stream->reset_code() == kCancel);
    CHECK(second->stream->reset_code() == kRefused);
    CHECK(t.server.server.streams() == 0);
  }

  TEST_CASE("more header bytes than the limit reset the stream, not the connection") {
    ServerRig t;
    OpenClient client{t.io, t.path()};
    const auto big = client.open("/big", {{"x", std::string(net::kHttp2HeaderBytes, 'h')}});
    const auto small = client.open("/small");
    REQUIRE(t.until([&] { return big->stream->is_over() || !client.link->is_open(); }));
    CHECK(t.server.streams.size() <= 1);
    if (client.link->is_open()) {
      REQUIRE(t.until([&] { return t.server.streams.size() == 1; }));
      CHECK(t.server.streams[0]->header(":path") == "/small");
    }
  }

  TEST_CASE("what is no HTTP/2, and frames that are cut off, end their connection alone") {
    ServerRig t;
    OpenClient client{t.io, t.path()};
    const auto asked = client.open("/a");
    // A HEADERS frame that says 100 bytes and has 3; a DATA frame on stream 0; HTTP/1.1.
    const std::string cut = kPreface + std::string{"\0\0\0\4\0\0\0\0\0", 9} +
                            std::string{"\0\0\x64\1\4\0\0\0\1abc", 12};
    const std::string zero =
        kPreface + std::string{"\0\0\0\4\0\0\0\0\0", 9} + std::string{"\0\0\1\0\0\0\0\0\0x", 10};
    auto open = t.raw(cut);
    const auto other = t.raw(zero);
    const auto third = t.raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(t.until([&] { return t.server.streams.size() == 1; }));
    REQUIRE(t.until([&] { return t.server.server.connections() == 2; }));
    open->close();
    REQUIRE(t.until([&] { return t.server.server.connections() == 1; }));
    CHECK_FALSE(asked->stream->is_over());
    CHECK(t.server.streams.size() == 1);
  }

  TEST_CASE("a request without a path is no call; the path of a socket as :authority is fine") {
    ProxyRig t;
    OpenServer runtime{t.io, t.runtime_path()};
    OpenClient client{t.io, t.proxy_path()};
    const net::Http2Headers odd{
        {":method", "POST"}, {":scheme", "http"}, {":path", "/a"}, {":authority", "/run/a.sock"}};
    const auto fine = std::make_shared<StreamLog>(client.link->open(odd, false).value());
    const net::Http2Headers none{{":method", "POST"}, {":scheme", "http"}};
    const auto refused = std::make_shared<StreamLog>(client.link->open(none, false).value());
    REQUIRE(t.until([&] { return refused->stream->is_over() && !runtime.streams.empty(); }));
    CHECK(refused->stream->reset_code() == kProtocolError);
    CHECK(runtime.streams[0]->header(":authority") == "/run/a.sock");
  }

  TEST_CASE("1500 streams at once on one connection") {
    ServerRig t;
    t.server.then = [](StreamLog& log) {
      if (!log.stream->ended() || log.stream->is_finished() || log.finishing) return;
      log.stream->respond(kAnswerHead, false);
      log.finish({{"grpc-status", "0"}});
    };
    OpenClient client{t.io, t.path()};
    std::vector<LogPtr> all;
    for (int i = 0; i < 1500; ++i) all.push_back(client.open("/" + std::to_string(i)));
    REQUIRE(t.until([&] { return t.server.streams.size() == 1500; }));
    CHECK(t.server.server.streams() == 1500);
    for (const auto& log : all) log->finish();
    REQUIRE(t.until([&] { return client.link->streams() == 0; }));
    for (const auto& log : all) CHECK(log->trailer("grpc-status") == "0");
  }
}

}  // namespace koordlet::test
