#include <filesystem>

#include <doctest/doctest.h>

#include "client_fixture.hpp"
#include "net/http_client.hpp"

namespace koordlet::test {
namespace {

using boost::asio::awaitable;
using std::chrono::hours;
using std::chrono::milliseconds;

/// The error of a request to a server with that certificate, by a client that trusts `ca_pem`.
Error refusal_of(const CertAndKey& server, const std::string& ca_pem) {
  ClientAndServer t{FakeHttpServer::Tls{server, {}}, trusting(ca_pem), saying("secret")};
  const auto out = t.get();
  CHECK(t.server.requests().empty());
  REQUIRE(out.has_error());
  CHECK(out.error().code == Errc::kIo);
  CHECK(out.error().context.starts_with("certificate of 127.0.0.1:"));
  return out.error();
}

bool says(const Error& error, std::string_view what) {
  return error.context.find(what) != std::string::npos;
}

CertOptions named(std::vector<std::string> names) {
  CertOptions out;
  out.names = std::move(names);
  return out;
}

Result<net::ClientResponse> get_from(ClientAndServer& t, const net::HttpEndpoint& endpoint) {
  net::HttpClient client{
      t.io.get_executor(), endpoint, trusting(client_test_ca().pem()), net::HttpClient::Limits{}};
  return run(t.io, client.request(ClientAndServer::to("/")));
}

awaitable<void> answer_and_close(FakeConnection& c) {
  co_await c.write_raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
}

awaitable<void> event_and_silence(FakeConnection& c) {
  co_await c.start_chunks();
  co_await c.write_chunk("one\n");
  co_await c.silence();
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    ++count;
  return count;
}

}  // namespace

TEST_SUITE("http_client/tls") {
  TEST_CASE("a server of another CA is refused") {
    const TestCa other{"other CA"};
    CHECK(says(refusal_of(other.server(), client_test_ca().pem()), "issuer certificate"));
  }

  TEST_CASE("a self-signed server is refused") {
    CHECK(says(refusal_of(self_signed(), client_test_ca().pem()), "self-signed"));
  }

  TEST_CASE("an expired certificate is refused") {
    CertOptions options;
    options.from = hours{-48};
    options.until = hours{-24};
    CHECK(says(refusal_of(client_test_ca().server(options), client_test_ca().pem()), "expired"));
  }

  TEST_CASE("a certificate that is not valid yet is refused") {
    CertOptions options;
    options.from = hours{24};
    options.until = hours{48};
    CHECK(says(refusal_of(client_test_ca().server(options), client_test_ca().pem()),
               "not yet valid"));
  }

  TEST_CASE("a certificate for another host is refused, an address by its addresses only") {
    const auto& ca = client_test_ca();
    const auto other = refusal_of(ca.server(named({"10.0.0.1", "localhost"})), ca.pem());
    CHECK(says(other, "mismatch (expected '127.0.0.1')"));
    // A DNS name that looks like an address is no address.
    CertOptions bare = named({});
    bare.subject = "127.0.0.1";
    CHECK(says(refusal_of(ca.server(bare), ca.pem()), "mismatch"));
  }

  TEST_CASE("a client's certificate is no server's") {
    CHECK(says(refusal_of(client_test_ca().client(), client_test_ca().pem()), "purpose"));
  }

  TEST_CASE("the name is the endpoint's host, or the server name where one is set") {
    const auto cert = client_test_ca().server(named({"api.example", "localhost"}));
    ClientAndServer t{FakeHttpServer::Tls{cert, {}}, nullptr, saying("ok")};
    auto endpoint = t.server.endpoint();
    CHECK(get_from(t, endpoint).has_error());
    endpoint.server_name = "api.example";
    CHECK(get_from(t, endpoint).has_value());
    endpoint.server_name = "other.example";
    CHECK(says(get_from(t, endpoint).error(), "hostname mismatch (expected 'other.example')"));
    endpoint.server_name.clear();
    endpoint.host = "localhost";  // ::1 may come first, and refuses
    CHECK(get_from(t, endpoint).has_value());
  }

  TEST_CASE("a chain with an intermediate is verified up to the CA, or to the intermediate") {
    const auto lower = client_test_ca().intermediate("lower CA");
    const auto cert = lower.server();
    for (const auto& pem : {client_test_ca().pem(), lower.pem()}) {
      ClientAndServer t{FakeHttpServer::Tls{cert, {}}, trusting(pem), saying("ok")};
      CHECK(t.get().has_value());
    }
  }

  TEST_CASE("a server that wants a client certificate gets it") {
    const auto& ca = client_test_ca();
    const auto shown = ca.client("system:node:n1");
    const FakeHttpServer::Tls tls{ca.server(), ca.pem()};
    const auto context = net::TlsContext::make({ca.pem(), shown.cert_pem, shown.key_pem}).value();
    ClientAndServer with{tls, context, saying("ok")};
    REQUIRE(with.get().has_value());
    CHECK(with.server.requests().front().client_subject == "system:node:n1");

    ClientAndServer without{tls, trusting(ca.pem()), saying("ok")};
    const auto out = without.get();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kIo);
    CHECK(says(out.error(), "certificate required"));
    CHECK(without.server.requests().empty());
  }

  TEST_CASE("a server that changes to another CA is refused from then on, until it is trusted") {
    const TestCa next{"next CA"};
    ClientAndServer t{Wire::kTls, answer_and_close};
    REQUIRE(t.get().has_value());
    t.server.set_tls({next.server(), {}});
    CHECK(t.get().has_error());
    t.client->set_tls(trusting(client_test_ca().pem() + next.pem()));
    CHECK(t.get().has_value());
  }

  TEST_CASE("TLS to a plain server, plain to a TLS server, and TLS without a context") {
    ClientAndServer plain{Wire::kPlain, saying("ok")};
    auto endpoint = plain.server.endpoint();
    endpoint.tls = true;
    net::HttpClient::Limits limits;
    limits.connect_timeout = milliseconds{200};
    net::HttpClient secure{
        plain.io.get_executor(), endpoint, trusting(client_test_ca().pem()), limits};
    CHECK(run(plain.io, secure.request(ClientAndServer::to("/"))).has_error());
    net::HttpClient bare{plain.io.get_executor(), endpoint, nullptr, limits};
    CHECK(run(plain.io, bare.request(ClientAndServer::to("/"))).error().code == Errc::kInvalid);

    ClientAndServer tls{Wire::kTls, saying("ok")};
    endpoint = tls.server.endpoint();
    endpoint.tls = false;
    CHECK(get_from(tls, endpoint).has_error());
  }

  TEST_CASE("row 32: 500 reconnects leave nothing behind") {
    ClientAndServer t{Wire::kTls, answer_and_close};
    REQUIRE(t.get().has_value());
    REQUIRE(run_until(t.io, [&] { return t.server.connections() == 0; }));
    const auto files = open_files();
    for (int i = 0; i < 500; ++i) REQUIRE(t.get().has_value());
    CHECK(run_until(t.io, [&] { return t.server.connections() == 0; }));
    CHECK(t.client->stats().connects == 501);
    CHECK(t.client->stats().open == 0);
    CHECK(t.client->stats().kept == 0);
    CHECK(open_files() == files);
  }

  TEST_CASE("row 32: streams dropped with a read in progress leave nothing behind") {
    ClientAndServer t{Wire::kTls, event_and_silence};
    const auto files = open_files();
    for (int i = 0; i < 100; ++i) {
      auto stream = t.open().value();
      CHECK(t.read(*stream).value() == "one\n");
      Started<Result<std::string>> read{t.io, stream->read(std::chrono::minutes{1})};
      t.io.restart();
      t.io.poll();
      stream.reset();
      REQUIRE(run_until(t.io, [&] { return read.done(); }));
      CHECK(read.out().error().code == Errc::kIo);
    }
    CHECK(run_until(t.io, [&] { return t.server.connections() == 0; }));
    CHECK(t.client->stats().open == 0);
    CHECK(open_files() == files);
  }
}

}  // namespace koordlet::test
