#include "net/listener.hpp"

#include <cstring>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using koordlet::Errc;
using koordlet::net::Listener;
using koordlet::test::FakeTree;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

/// A socket file that nobody serves any more.
void leave_stale(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.data(), path.size());
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  ::close(fd);
}

}  // namespace

TEST_SUITE("net/listener") {
  TEST_CASE("port 0 picks a port, and the address shows it") {
    boost::asio::io_context io;
    const auto got = Listener::tcp(io.get_executor(), "127.0.0.1:0");
    REQUIRE(got.has_value());
    CHECK(got->address().starts_with("127.0.0.1:"));
    CHECK(got->address() != "127.0.0.1:0");
    CHECK_FALSE(got->is_unix());
    const auto named = Listener::tcp(io.get_executor(), "localhost:0");
    REQUIRE(named.has_value());
    CHECK(named->address().starts_with("127.0.0.1:"));
  }

  TEST_CASE("a port in use is kBusy and names the address") {
    boost::asio::io_context io;
    const auto first = Listener::tcp(io.get_executor(), "127.0.0.1:0");
    REQUIRE(first.has_value());
    const auto second = Listener::tcp(io.get_executor(), first->address());
    REQUIRE(second.has_error());
    CHECK(second.error().code == Errc::kBusy);
    CHECK(second.error().context.find(first->address()) != std::string::npos);
  }

  TEST_CASE("addresses beyond loopback are kDenied") {
    boost::asio::io_context io;
    for (const char* address : {"0.0.0.0:0", "10.0.0.1:6060", "[::]:0", "[fe80::1]:1"}) {
      CAPTURE(address);
      const auto got = Listener::tcp(io.get_executor(), address);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kDenied);
      CHECK(got.error().context.find(address) != std::string::npos);
    }
  }

  TEST_CASE("anything else is kParse") {
    boost::asio::io_context io;
    for (const char* address : {"",
                                "6060",
                                ":6060",
                                "127.0.0.1",
                                "127.0.0.1:",
                                "127.0.0.1:x",
                                "127.0.0.1:65536",
                                "127.0.0.1:-1",
                                "::1:80",
                                "[127.0.0.1]:80",
                                "node1:80"}) {
      CAPTURE(address);
      const auto got = Listener::tcp(io.get_executor(), address);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kParse);
    }
  }

  TEST_CASE("a unix socket is 0600, its new folders 0700, and it goes with its owner") {
    boost::asio::io_context io;
    const FakeTree tree;
    const auto path = tree.path("run/koordlet/k.sock");
    const mode_t before = ::umask(0);
    {
      const auto got = Listener::unix_socket(io.get_executor(), path);
      ::umask(before);
      REQUIRE(got.has_value());
      CHECK(got->is_unix());
      CHECK(mode_of(path) == 0600);
      CHECK(mode_of(tree.path("run")) == 0700);
      CHECK(mode_of(tree.path("run/koordlet")) == 0700);
    }
    CHECK_FALSE(fs::exists(path));
  }

  TEST_CASE("an existing folder keeps its mode") {
    boost::asio::io_context io;
    const FakeTree tree;
    tree.mkdir("run");
    REQUIRE(::chmod(tree.path("run").c_str(), 0755) == 0);
    REQUIRE(Listener::unix_socket(io.get_executor(), tree.path("run/k.sock")).has_value());
    CHECK(mode_of(tree.path("run")) == 0755);
  }

  TEST_CASE("a stale socket is replaced, a live one is kBusy and stays") {
    boost::asio::io_context io;
    const FakeTree tree;
    const auto path = tree.path("k.sock");
    leave_stale(path);
    REQUIRE(fs::exists(path));
    const auto first = Listener::unix_socket(io.get_executor(), path);
    REQUIRE(first.has_value());
    const auto second = Listener::unix_socket(io.get_executor(), path);
    REQUIRE(second.has_error());
    CHECK(second.error().code == Errc::kBusy);
    CHECK(second.error().context.find(path) != std::string::npos);
    CHECK(fs::exists(path));
  }

  TEST_CASE("a file that is no socket is never removed") {
    boost::asio::io_context io;
    const FakeTree tree{{"k.sock", "precious"}};
    const auto got = Listener::unix_socket(io.get_executor(), tree.path("k.sock"));
    REQUIRE(got.has_error());
    CHECK(got.error().code == Errc::kInvalid);
    CHECK(tree.read("k.sock") == "precious");
  }

  TEST_CASE("a successor's socket at the same path is left alone") {
    boost::asio::io_context io;
    const FakeTree tree;
    const auto path = tree.path("k.sock");
    {
      const auto mine = Listener::unix_socket(io.get_executor(), path);
      REQUIRE(mine.has_value());
      tree.remove("k.sock");
      leave_stale(path);
    }
    CHECK(fs::exists(path));
  }

  TEST_CASE("a path that does not fit is kRange") {
    boost::asio::io_context io;
    for (const std::string& path : {std::string{}, "/tmp/" + std::string(103, 'a')}) {
      const auto got = Listener::unix_socket(io.get_executor(), path);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kRange);
    }
  }
}
