#include "runtime/docker_client.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/fake_tree.hpp"
#include "support/unix_peer.hpp"
#include "unit/net/client_fixture.hpp"

namespace koordlet::test {
namespace {

using runtime::DockerClient;
using Then = UnixPeer::Then;
using Stats = Result<runtime::ContainerStats>;

constexpr const char* kBody =
    R"({"read":"2023-11-14T22:13:20Z","id":"other","cpu_stats":{"cpu_usage":{"total_usage":5}}})";

std::string http(const std::string& status, const std::string& body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

bool says(const Error& error, std::string_view what) {
  return error.context.find(what) != std::string::npos;
}

struct DockerPair {
  explicit DockerPair(std::string answer,
                      Then then = Then::kClose,
                      std::chrono::milliseconds timeout = std::chrono::seconds{10})
      : peer{io.get_executor(), tree.path("d"), std::move(answer), then},
        client{std::make_unique<DockerClient>(io.get_executor(),
                                              DockerClient::Options{tree.path("d"), timeout})} {}
  Stats stats(const std::string& id = "abc") { return run(io, client->stats(id)); }

  FakeTree tree;
  boost::asio::io_context io;
  UnixPeer peer;
  std::unique_ptr<DockerClient> client;
};

}  // namespace

TEST_SUITE("docker_client") {
  TEST_CASE("the question, and the figures of its answer under the id that was asked for") {
    DockerPair t{http("200 OK", kBody)};
    const auto out = t.stats("abc-1_2");
    REQUIRE(out.has_value());
    CHECK(out->id == "abc-1_2");
    CHECK(out->cpu_usage == std::chrono::nanoseconds{5});
    CHECK(t.peer.heard().starts_with(
        "GET /containers/abc-1_2/stats?stream=false&one-shot=true HTTP/1.1\r\n"));
    CHECK(t.peer.heard().find("Host: localhost\r\n") != std::string::npos);
    CHECK(t.peer.heard().find("Connection: close\r\n") != std::string::npos);
    REQUIRE(t.stats().has_value());
    CHECK(t.peer.accepted() == 2);
  }

  TEST_CASE("a chunked body, on a connection that stays open") {
    const std::string body = kBody;
    DockerPair t{fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "a\r\n{}\r\n{:x};x=y\r\n{}\r\n0\r\n\r\n",
                             body.substr(0, 10),
                             body.size() - 10,
                             body.substr(10)),
                 Then::kKeep};
    const auto out = t.stats();
    REQUIRE(out.has_value());
    CHECK(out->cpu_usage == std::chrono::nanoseconds{5});
  }

  TEST_CASE("a body that ends with the connection") {
    DockerPair t{std::string{"HTTP/1.0 200 OK\r\n\r\n"} + kBody};
    REQUIRE(t.stats().has_value());
  }

  TEST_CASE("Docker's refusals: code and words") {
    const std::pair<const char*, Errc> kCases[] = {{"404 Not Found", Errc::kNotFound},
                                                   {"403 Forbidden", Errc::kDenied},
                                                   {"401 Unauthorized", Errc::kDenied},
                                                   {"429 Too Many Requests", Errc::kBusy},
                                                   {"503 Service Unavailable", Errc::kBusy},
                                                   {"400 Bad Request", Errc::kIo},
                                                   {"409 Conflict", Errc::kIo},
                                                   {"500 Internal Server Error", Errc::kIo},
                                                   {"204 No Content", Errc::kIo}};
    for (const auto& [status, code] : kCases) {
      CAPTURE(status);
      DockerPair t{http(status, R"({"message":"No such container: abc"})")};
      const auto out = t.stats();
      REQUIRE(out.has_error());
      CHECK(out.error().code == code);
      CHECK(says(out.error(), t.tree.path("d")));
      CHECK(says(out.error(), "HTTP " + std::string{status}.substr(0, 3)));
      if (code != Errc::kIo) CHECK(says(out.error(), "No such container: abc"));
    }
  }

  TEST_CASE("a refusal of another form is shown as it is, printable and cut") {
    DockerPair t{http("500 Oops", "<html>\x1b[31m" + std::string(500, 'x'))};
    const auto out = t.stats();
    REQUIRE(out.has_error());
    CHECK(says(out.error(), "<html>?[31mxxx"));
    CHECK(out.error().context.size() < 400);
  }

  TEST_CASE("statistics of wrong types are kParse, of a container at rest kGone") {
    DockerPair wrong{http("200 OK", R"({"read":"2023-11-14T22:13:20Z","cpu_stats":7})")};
    const auto out = wrong.stats();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kParse);
    CHECK(says(out.error(), "container abc: cpu_stats.cpu_usage.total_usage"));
    DockerPair rests{http("200 OK", R"({"read":"0001-01-01T00:00:00Z"})")};
    CHECK(rests.stats().error().code == Errc::kGone);
  }

  TEST_CASE("an answer that ends early, or is no HTTP, is kParse") {
    for (const char* answer : {"",
                               "HTTP/1.1 200",
                               "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
                               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
                               "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}",
                               "SSH-2.0-OpenSSH_9.2\r\n\r\n"}) {
      CAPTURE(answer);
      DockerPair t{answer};
      const auto out = t.stats();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
    }
  }

  TEST_CASE("a body above 1 MiB is kRange, told or not told before") {
    const std::string large((1u << 20) + 1, ' ');
    DockerPair told{http("200 OK", large)};
    CHECK(told.stats().error().code == Errc::kRange);
    DockerPair untold{"HTTP/1.0 200 OK\r\n\r\n" + large};
    CHECK(untold.stats().error().code == Errc::kRange);
  }

  TEST_CASE("headers without end are kParse") {
    DockerPair t{"HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x')};
    CHECK(t.stats().error().code == Errc::kParse);
  }

  TEST_CASE("Docker never answers, or stops in the middle: kBusy") {
    for (const char* answer : {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"}) {
      DockerPair t{answer, Then::kKeep, std::chrono::milliseconds{40}};
      const auto out = t.stats();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kBusy);
      CHECK(says(out.error(), "no answer in time"));
    }
  }

  TEST_CASE("no socket, and nobody behind it") {
    boost::asio::io_context io;
    const FakeTree tree{{"stale", ""}};
    const auto code = [&](const std::string& path) {
      DockerClient client{io.get_executor(), {path}};
      const auto out = run(io, client.stats("abc"));
      REQUIRE(out.has_error());
      return out.error().code;
    };
    CHECK(code(tree.path("absent")) == Errc::kNotFound);
    CHECK(code(tree.path("stale")) == Errc::kBusy);
    CHECK(code("") == Errc::kRange);
  }

  TEST_CASE("an id of other characters is kRange and never sent") {
    DockerPair t{http("200 OK", kBody)};
    for (const auto& id : {std::string{},
                           std::string{"a/b"},
                           std::string{".."},
                           std::string{"a b"},
                           std::string{"a%2fb"},
                           std::string{"a?x=1"},
                           std::string{"a\r\nX: y"},
                           std::string("a\0b", 3),
                           std::string{"\xc3\xa4"},
                           std::string(129, 'a')}) {
      const auto out = t.stats(id);
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kRange);
    }
    CHECK(t.peer.accepted() == 0);
    REQUIRE(t.stats(std::string(128, 'a')).has_value());
  }

  TEST_CASE("a question that is cancelled, and one whose client is gone") {
    DockerPair t{"", Then::kKeep};
    Started<Stats> call{t.io, t.client->stats("abc")};
    REQUIRE(run_until(t.io, [&] { return t.peer.accepted() == 1; }));
    call.cancel();
    REQUIRE(run_until(t.io, [&] { return call.done(); }));
    REQUIRE(call.out().has_error());
    CHECK(call.out().error().code == Errc::kIo);
    CHECK(says(call.out().error(), "cancelled"));

    DockerPair other{http("200 OK", kBody)};
    Started<Stats> left{other.io, other.client->stats("abc")};
    other.client.reset();
    REQUIRE(run_until(other.io, [&] { return left.done(); }));
    CHECK(left.out().has_value());
  }
}

}  // namespace koordlet::test
