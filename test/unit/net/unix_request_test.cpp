#include <array>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "net/http_server.hpp"
#include "support/fake_tree.hpp"
#include "support/http_fixture.hpp"

using namespace std::chrono_literals;
using koordlet::Errc;
using koordlet::net::HttpServer;
using koordlet::net::unix_request;
using koordlet::test::echo;
using koordlet::test::FakeTree;
using koordlet::test::RunningServer;

namespace {

/// Takes one connection, says `answer`, and closes, or keeps it open until destroyed.
class Peer {
 public:
  Peer(const std::string& path, std::string answer, bool keep_open)
      : fd_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.data(), path.size());
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(fd_, 1) == 0);
    thread_ = std::thread{[this, answer = std::move(answer), keep_open] {
      const int peer = ::accept(fd_, nullptr, nullptr);
      if (peer < 0) return;
      std::array<char, 4096> request{};
      if (::recv(peer, request.data(), request.size(), 0) > 0)
        ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (keep_open) ::recv(peer, request.data(), request.size(), 0);  // until the client goes
      ::close(peer);
    }};
  }
  ~Peer() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }

 private:
  int fd_;
  std::thread thread_;
};

}  // namespace

TEST_SUITE("net/unix_request") {
  TEST_CASE("status, type and body come back") {
    const FakeTree tree;
    const auto path = tree.path("k.sock");
    RunningServer server{echo, {}, [&](HttpServer& s) { return s.listen_unix(path); }};
    const auto got = unix_request(path, "GET", "/api/v1/status?x=1", 10s);
    REQUIRE(got.has_value());
    CHECK(got->status == 200);
    CHECK(got->content_type == "text/plain");
    CHECK(got->body == "GET /api/v1/status?x=1|localhost||unix");
    const auto post = unix_request(path, "POST", "/api/v1/restore", 10s);
    REQUIRE(post.has_value());
    CHECK(post->body == "POST /api/v1/restore?|localhost||unix");
    const auto head = unix_request(path, "HEAD", "/", 10s);
    REQUIRE(head.has_value());
    CHECK(head->status == 200);
    CHECK(head->body.empty());
    const auto refused = unix_request(path, "GET", "/%2e%2e", 10s);
    REQUIRE(refused.has_value());
    CHECK(refused->status == 400);
  }

  TEST_CASE("nobody there is kNotFound: no file, no folder, a stale socket, a file") {
    const FakeTree tree{{"file", ""}};
    { const Peer gone{tree.path("stale"), "", false}; }
    for (const char* name : {"absent", "no/folder", "stale", "file"}) {
      CAPTURE(name);
      const auto got = unix_request(tree.path(name), "GET", "/", 10s);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kNotFound);
      CHECK(got.error().context.find(tree.path(name)) != std::string::npos);
    }
  }

  TEST_CASE("a silent or half answering server is kBusy after the timeout") {
    for (const char* answer : {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"}) {
      CAPTURE(answer);
      const FakeTree tree;
      const Peer peer{tree.path("s"), answer, true};
      const auto got = unix_request(tree.path("s"), "GET", "/", 50ms);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kBusy);
    }
  }

  TEST_CASE("an answer that is cut short or no HTTP is kParse") {
    for (const char* answer : {"",
                               "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                               "HTTP/1.1 200",
                               "SSH-2.0-OpenSSH_9.2\r\n\r\n"}) {
      CAPTURE(answer);
      const FakeTree tree;
      const Peer peer{tree.path("s"), answer, false};
      const auto got = unix_request(tree.path("s"), "GET", "/", 10s);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kParse);
    }
  }

  TEST_CASE("a body without a length ends with the connection") {
    const FakeTree tree;
    const Peer peer{tree.path("s"), "HTTP/1.0 200 OK\r\nContent-Type: a/b\r\n\r\nall of it", false};
    const auto got = unix_request(tree.path("s"), "GET", "/", 10s);
    REQUIRE(got.has_value());
    CHECK(got->body == "all of it");
  }

  TEST_CASE("what would break the request line is kInvalid") {
    for (const auto& [method, target] : {std::pair{"GET", "no-slash"},
                                         std::pair{"GET", "/a b"},
                                         std::pair{"GET", "/a\r\nX: y"},
                                         std::pair{"get", "/"},
                                         std::pair{"G ET", "/"},
                                         std::pair{"", "/"}}) {
      const auto got = unix_request("/nowhere", method, target, 1s);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kInvalid);
    }
  }
}
