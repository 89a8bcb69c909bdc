#include "net/tls_context.hpp"

#include <doctest/doctest.h>

#include "support/test_certs.hpp"

namespace koordlet::test {
namespace {

Error fault_of(const std::string& ca, const std::string& cert, const std::string& key) {
  const auto made = net::TlsContext::make({ca, cert, key});
  REQUIRE(made.has_error());
  CHECK(made.error().code == Errc::kParse);
  return made.error();
}

/// A certificate whose bytes are not those of one.
std::string damaged(std::string pem) {
  const auto at = pem.find('\n') + 1;
  for (std::size_t i = 0; i < 8; ++i) pem[at + i] = 'A';
  return pem;
}

}  // namespace

TEST_SUITE("tls_context") {
  TEST_CASE("the system's store, one CA, several, a client certificate with its key") {
    const TestCa ca, other{"other CA"};
    const auto client = ca.client("n1");
    CHECK(net::TlsContext::make({}).has_value());
    CHECK(net::TlsContext::make({ca.pem(), {}, {}}).has_value());
    CHECK(net::TlsContext::make({"# a comment\n" + ca.pem() + "\n" + other.pem(), {}, {}})
              .has_value());
    CHECK(net::TlsContext::make({ca.pem() + ca.pem(), {}, {}}).has_value());
    const auto lower = ca.intermediate("lower CA").client("n2");
    CHECK(net::TlsContext::make({ca.pem(), client.cert_pem, client.key_pem}).has_value());
    CHECK(net::TlsContext::make({ca.pem(), lower.cert_pem, lower.key_pem}).has_value());
  }

  TEST_CASE("a CA text without a certificate, or with a damaged one") {
    const TestCa ca;
    CHECK(fault_of("\n", {}, {}).context.starts_with("ca: "));
    CHECK(fault_of("no PEM", {}, {}).context.starts_with("ca: "));
    CHECK(fault_of(damaged(ca.pem()), {}, {}).context.starts_with("ca: "));
    CHECK(fault_of(ca.pem() + damaged(ca.pem()), {}, {}).context.starts_with("ca: "));
    CHECK(fault_of(ca.client().key_pem, {}, {}).context.starts_with("ca: "));
  }

  TEST_CASE("certificate and key: bad, alone, not of each other") {
    const TestCa ca;
    const auto one = ca.client("n1"), two = ca.client("n2");
    CHECK(fault_of(ca.pem(), "no PEM", one.key_pem).context.starts_with("certificate: "));
    CHECK(fault_of(ca.pem(), damaged(one.cert_pem), one.key_pem)
              .context.starts_with("certificate: "));
    CHECK(fault_of(ca.pem(), one.cert_pem, {}).context.starts_with("key: "));
    CHECK(fault_of(ca.pem(), {}, one.key_pem).context.starts_with("certificate: "));
    CHECK(fault_of(ca.pem(), one.cert_pem, two.key_pem).context.starts_with("key: "));
    CHECK(fault_of(ca.pem(), one.cert_pem, one.cert_pem).context.starts_with("key: "));
  }

  TEST_CASE("the text of a key never shows") {
    const TestCa ca;
    const auto client = ca.client();
    const auto secret = client.key_pem.substr(client.key_pem.find('\n') + 1, 40);
    const auto error = fault_of(ca.pem(), client.cert_pem, damaged(client.key_pem) + secret);
    CHECK(error.context.find(secret.substr(8, 20)) == std::string::npos);
  }
}

}  // namespace koordlet::test
