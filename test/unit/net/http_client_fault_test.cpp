#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "client_fixture.hpp"
#include "net/http_client.hpp"

namespace koordlet::test {
namespace {

using boost::asio::awaitable;
using net::HttpClient;
using std::chrono::milliseconds;
using Answer = Result<net::ClientResponse>;

bool says(const Error& error, std::string_view what) {
  return error.context.find(what) != std::string::npos;
}

/// Sends `bytes`, then ends the connection without a TLS goodbye.
FakeHttpServer::Script saying_and_cutting(std::string bytes) {
  struct Do {
    static awaitable<void> it(FakeConnection& c, std::string bytes) {
      co_await c.write_raw(std::move(bytes));
      c.truncate();
    }
  };
  return [bytes](FakeConnection& c) { return Do::it(c, bytes); };
}

awaitable<void> half_a_body(FakeConnection& c) {
  co_await c.write_raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  if (c.request().target == "/reset") {
    c.reset();
  } else if (c.request().target == "/silent") {
    co_await c.silence();
  } else {
    co_await c.close();
  }
}

awaitable<void> large(FakeConnection& c) {
  const std::string kilobyte(1024, 'x');
  if (c.request().target == "/length") {
    FakeAnswer answer{200, kilobyte};
    co_await c.answer(std::move(answer));
    co_return;
  }
  co_await c.start_chunks();
  bool open = true;
  while (open) open = co_await c.write_chunk(kilobyte);
}

awaitable<void> answer_and_more(FakeConnection& c) {
  co_await c.write_raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n");
}

FakeHttpServer::Script silent() {
  return [](FakeConnection& c) { return c.silence(); };
}

HttpClient::Limits quick() {
  HttpClient::Limits out;
  out.connect_timeout = milliseconds{40};
  out.request_timeout = milliseconds{40};
  return out;
}

/// A port whose queue of connections is full: the kernel leaves a further SYN unanswered.
class FullPort {
 public:
  FullPort() : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(listener_, 0) == 0);
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    for (int& fd : fillers_) {
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      ::connect(fd, reinterpret_cast<sockaddr*>(&at), size);
    }
  }
  ~FullPort() {
    for (const int fd : fillers_) ::close(fd);
    ::close(listener_);
  }
  net::HttpEndpoint endpoint() const {
    net::HttpEndpoint out;
    out.tls = false;
    out.host = "127.0.0.1";
    out.port = port_;
    return out;
  }

 private:
  int listener_;
  int fillers_[3] = {-1, -1, -1};
  std::uint16_t port_ = 0;
};

void check_cancelled(boost::asio::io_context& io, Started<Answer>& started) {
  started.cancel();
  REQUIRE(run_until(io, [&] { return started.done(); }));
  REQUIRE(started.out().has_error());
  CHECK(started.out().error().code == Errc::kIo);
  CHECK(says(started.out().error(), "cancelled"));
}

}  // namespace

TEST_SUITE("http_client/faults") {
  TEST_CASE("nobody listens") {
    ClientAndServer t{Wire::kTls, saying("")};
    t.server.stop_listening();
    const auto out = t.get();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kIo);
    CHECK(says(out.error(), "127.0.0.1:" + std::to_string(t.server.port())));
    CHECK(says(out.error(), "refused"));
    CHECK(t.client->stats().failures == 1);
    CHECK(t.client->stats().connects == 0);
  }

  TEST_CASE("a server that never answers") {
    for (const Wire wire : kWires) {
      auto limits = quick();
      limits.connect_timeout = milliseconds{5000};
      ClientAndServer t{wire, silent(), limits};
      const auto out = t.get();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kBusy);
      CHECK(says(out.error(), "no whole answer within 40 ms"));
      CHECK(t.client->stats().open == 0);
    }
  }

  TEST_CASE("an answer that stops in the middle is not waited for either") {
    auto limits = quick();
    limits.connect_timeout = milliseconds{5000};
    ClientAndServer t{Wire::kTls, half_a_body, limits};
    CHECK(t.get("/silent").error().code == Errc::kBusy);
  }

  TEST_CASE("no TCP connection, and no TLS handshake, in time") {
    const FullPort full;
    boost::asio::io_context io;
    HttpClient client{io.get_executor(), full.endpoint(), nullptr, quick()};
    const auto out = run(io, client.request(ClientAndServer::to("/")));
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(says(out.error(), "no connection within 40 ms"));

    ClientAndServer mute{Wire::kTls, saying(""), quick()};
    mute.server.set_mute(true);
    const auto shaken = mute.get();
    REQUIRE(shaken.has_error());
    CHECK(shaken.error().code == Errc::kBusy);
    CHECK(says(shaken.error(), "TLS handshake within 40 ms"));
  }

  TEST_CASE("a name that does not resolve") {
    ClientAndServer t{Wire::kPlain, saying("")};
    auto endpoint = t.server.endpoint();
    endpoint.host = "no..name";  // refused before any DNS server is asked
    HttpClient client{t.io.get_executor(), endpoint, nullptr, HttpClient::Limits{}};
    const auto out = run(t.io, client.request(ClientAndServer::to("/")));
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kNotFound);
    CHECK(says(out.error(), "resolve"));
  }

  TEST_CASE("a body shorter than its length") {
    for (const Wire wire : kWires) {
      for (const char* target : {"/close", "/reset"}) {
        CAPTURE(target);
        ClientAndServer t{wire, half_a_body};
        const auto out = t.get(target);
        REQUIRE(out.has_error());
        CHECK(out.error().code == Errc::kIo);
      }
    }
  }

  TEST_CASE("a body over the bound, told or not told before") {
    HttpClient::Limits limits;
    limits.max_body = 1023;
    for (const Wire wire : kWires) {
      for (const char* target : {"/length", "/chunked"}) {
        CAPTURE(target);
        ClientAndServer t{wire, large, limits};
        const auto out = t.get(target);
        REQUIRE(out.has_error());
        CHECK(out.error().code == Errc::kRange);
        CHECK(says(out.error(), "over 1023 bytes"));
      }
    }
  }

  TEST_CASE("a body of exactly the bound is taken") {
    HttpClient::Limits limits;
    limits.max_body = 1024;
    ClientAndServer t{Wire::kPlain, large, limits};
    CHECK(t.get("/length").value().body.size() == 1024);
  }

  TEST_CASE("what is not HTTP is kParse, a header without end kRange") {
    const std::string long_header =
        "HTTP/1.1 200 OK\r\nX: " + std::string(80 * 1024, 'x') + "\r\n\r\n";
    const std::pair<std::string, Errc> kCases[] = {
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", Errc::kParse},
        {std::string(70'000, '\0'), Errc::kParse},
        {"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n", Errc::kParse},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Errc::kParse},
        {long_header, Errc::kRange},
        {"HTTP/1.1 200", Errc::kIo},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", Errc::kIo},
        {"", Errc::kIo},
    };
    for (const Wire wire : kWires) {
      for (std::size_t i = 0; i < std::size(kCases); ++i) {
        CAPTURE(i);
        ClientAndServer t{wire, saying_and_cutting(kCases[i].first)};
        const auto out = t.get();
        REQUIRE(out.has_error());
        CHECK(out.error().code == kCases[i].second);
        CHECK(t.client->stats().open == 0);
      }
    }
  }

  TEST_CASE("bytes after the answer: it counts, the connection does not") {
    ClientAndServer t{Wire::kPlain, answer_and_more};
    CHECK(t.get().value().body == "ok");
    CHECK(t.client->stats().kept == 0);
  }

  TEST_CASE("cancelled while it connects") {
    const FullPort full;
    boost::asio::io_context io;
    HttpClient client{io.get_executor(), full.endpoint(), nullptr, HttpClient::Limits{}};
    Started<Answer> started{io, client.request(ClientAndServer::to("/"))};
    REQUIRE(run_until(io, [&] { return client.stats().open == 1; }));
    io.poll();
    check_cancelled(io, started);
    CHECK(client.stats().open == 0);
  }

  TEST_CASE("cancelled in the TLS handshake") {
    ClientAndServer t{Wire::kTls, saying("")};
    t.server.set_mute(true);
    Started<Answer> started{t.io, t.client->request(ClientAndServer::to("/"))};
    REQUIRE(run_until(t.io, [&] { return t.server.accepted() == 1; }));
    check_cancelled(t.io, started);
  }

  TEST_CASE("cancelled while it waits for the answer, and while it reads it") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, half_a_body};
      Started<Answer> reading{t.io, t.client->request(ClientAndServer::to("/silent"))};
      REQUIRE(run_until(t.io, [&] { return t.server.requests().size() == 1; }));
      check_cancelled(t.io, reading);
      t.server.set_script(silent());
      Started<Answer> waiting{t.io, t.client->request(ClientAndServer::to("/"))};
      REQUIRE(run_until(t.io, [&] { return t.server.requests().size() == 2; }));
      check_cancelled(t.io, waiting);
      CHECK(run_until(t.io, [&] { return t.server.connections() == 0; }));
    }
  }

  TEST_CASE("cancelled while a stream is read") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, half_a_body};
      auto stream = t.open("/silent").value();
      REQUIRE(t.read(*stream).value() == "half");
      Started<Result<std::string>> read{t.io, stream->read(std::chrono::minutes{1})};
      t.io.restart();
      t.io.poll();
      REQUIRE(!read.done());
      read.cancel();
      REQUIRE(run_until(t.io, [&] { return read.done(); }));
      CHECK(says(read.out().error(), "cancelled"));
      CHECK(t.client->stats().open == 0);
    }
  }

  TEST_CASE(
      "a client destroyed with requests in progress: they end, and nothing is touched after") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, half_a_body};
      auto stream = t.open("/silent").value();
      Started<Answer> reading{t.io, t.client->request(ClientAndServer::to("/silent"))};
      REQUIRE(run_until(t.io, [&] { return t.server.requests().size() == 2; }));
      t.server.set_mute(true);
      Started<Answer> connecting{t.io, t.client->request(ClientAndServer::to("/"))};
      REQUIRE(run_until(t.io, [&] { return t.server.accepted() == 3; }));
      t.client.reset();
      REQUIRE(run_until(t.io, [&] { return reading.done(); }));
      CHECK(reading.out().error().code == Errc::kIo);
      if (wire == Wire::kTls) {
        REQUIRE(run_until(t.io, [&] { return connecting.done(); }));
        CHECK(says(connecting.out().error(), "closed by the client"));
      }
      // The piece that came with the head is still there; after it comes the error.
      auto piece = t.read(*stream);
      if (piece && *piece == "half") piece = t.read(*stream);
      REQUIRE(piece.has_error());
      CHECK(piece.error().code == Errc::kIo);
    }
  }

  TEST_CASE("a loop that dies with requests in progress takes them along") {
    for (const Wire wire : kWires) {
      auto t = std::make_unique<ClientAndServer>(wire, half_a_body);
      auto stream = t->open("/silent").value();
      Started<Answer> reading{t->io, t->client->request(ClientAndServer::to("/silent"))};
      REQUIRE(run_until(t->io, [&] { return t->server.requests().size() == 2; }));
      stream.reset();
      t.reset();
      CHECK(!reading.done());
    }
  }
}

}  // namespace koordlet::test
