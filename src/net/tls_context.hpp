#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace boost::asio::ssl {
class context;
}

namespace koordlet::net {

/// What a client trusts and what it shows. PEM texts, not file names: who reads a file bounds it.
struct TlsOptions {
  std::string ca_pem;    ///< one or more certificates; empty: the system's store
  std::string cert_pem;  ///< client certificate with its chain; empty: none
  std::string key_pem;   ///< its key, set together with cert_pem
};

/// Client side of TLS 1.2 and later. The peer's certificate is always verified: chain, validity and
/// name; there is no way to switch that off. Immutable and shared by the connections made with it.
class TlsContext {
 public:
  /// kParse with "ca: ...", "certificate: ..." or "key: ...": not PEM, an empty CA text, a key that
  /// does not belong to the certificate. The text of a key never shows in an error.
  static Result<std::shared_ptr<TlsContext>> make(const TlsOptions& options);
  ~TlsContext();
  boost::asio::ssl::context& get() { return *context_; }

 private:
  explicit TlsContext(std::unique_ptr<boost::asio::ssl::context> context);
  std::unique_ptr<boost::asio::ssl::context> context_;
};

}  // namespace koordlet::net
