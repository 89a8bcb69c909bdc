#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace koordlet::test {

/// A certificate and its private key, both PEM.
struct CertAndKey {
  std::string cert_pem;
  std::string key_pem;
};

struct CertOptions {
  std::string subject = "koordlet test";
  /// Subject alternative names: what parses as an address becomes an IP name, the rest DNS names.
  std::vector<std::string> names{"127.0.0.1", "localhost"};
  /// Validity, counted from now; negative is the past.
  std::chrono::seconds from = std::chrono::hours{-1};
  std::chrono::seconds until = std::chrono::hours{24};
};

/// A certificate authority made for one test run: EC P-256, nothing touches the disk. Throws
/// std::runtime_error when OpenSSL refuses.
class TestCa {
 public:
  explicit TestCa(const std::string& name = "koordlet test CA");
  ~TestCa();
  TestCa(TestCa&&) noexcept;

  const std::string& pem() const;
  CertAndKey server(const CertOptions& options = {}) const;
  CertAndKey client(const std::string& subject = "koordlet test client") const;
  /// A lower authority. Certificates it signs are sent together with its own.
  TestCa intermediate(const std::string& name) const;

 private:
  struct Impl;
  explicit TestCa(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A server certificate that nobody but its own key vouches for.
CertAndKey self_signed(const CertOptions& options = {});

}  // namespace koordlet::test
