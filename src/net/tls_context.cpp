#include "net/tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string_view>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/system/system_error.hpp>

namespace koordlet::net {
namespace asio = boost::asio;
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Cert = std::unique_ptr<X509, Freer<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

Error fault(std::string_view subject, std::string_view what) {
  std::string text{subject};
  text += ": ";
  text += what;
  return {Errc::kParse, std::move(text)};
}

/// OpenSSL's reason is a fixed text: nothing of what was parsed is in it.
Error openssl_fault(std::string_view subject, std::string_view otherwise) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return fault(subject, reason != nullptr ? std::string_view{reason} : otherwise);
}

/// OpenSSL would ask on the terminal for the pass phrase of an encrypted key.
int no_pass_phrase(char*, int, int, void*) { return -1; }

Bio reader_of(const std::string& text) {
  ERR_clear_error();
  return Bio{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

Cert next_cert(BIO* from) {
  return Cert{PEM_read_bio_X509(from, nullptr, no_pass_phrase, nullptr)};
}

/// True after the last certificate; false when the text holds one that cannot be read.
bool at_end() {
  const auto last = ERR_peek_last_error();
  const bool end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (end) ERR_clear_error();
  return end;
}

Result<void> trust(SSL_CTX* context, const std::string& pem) {
  static constexpr std::string_view kSubject = "ca";
  if (pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1)
      return openssl_fault(kSubject, "the system's store cannot be used");
    return {};
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // Who is named is trusted, also when somebody else has signed it: kubeconfigs hold such CAs.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  const Bio from = reader_of(pem);
  int count = 0;
  for (Cert cert = next_cert(from.get()); cert; cert = next_cert(from.get()), ++count)
    if (X509_STORE_add_cert(store, cert.get()) != 1)
      return openssl_fault(kSubject, "a certificate cannot be used");
  if (!at_end()) return openssl_fault(kSubject, "a certificate cannot be read");
  if (count == 0) return fault(kSubject, "expected PEM certificates, found none");
  return {};
}

Result<void> show(SSL_CTX* context, const std::string& pem) {
  static constexpr std::string_view kSubject = "certificate";
  const Bio from = reader_of(pem);
  const Cert own = next_cert(from.get());
  if (!own) {
    if (at_end()) return fault(kSubject, "expected a PEM certificate, found none");
    return openssl_fault(kSubject, "cannot be read");
  }
  if (SSL_CTX_use_certificate(context, own.get()) != 1)
    return openssl_fault(kSubject, "cannot be used");
  for (Cert cert = next_cert(from.get()); cert; cert = next_cert(from.get()))
    if (SSL_CTX_add1_chain_cert(context, cert.get()) != 1)
      return openssl_fault(kSubject, "its chain cannot be used");
  if (!at_end()) return openssl_fault(kSubject, "its chain cannot be read");
  return {};
}

Result<void> use_key(SSL_CTX* context, const std::string& pem) {
  static constexpr std::string_view kSubject = "key";
  const Bio from = reader_of(pem);
  const Key key{PEM_read_bio_PrivateKey(from.get(), nullptr, no_pass_phrase, nullptr)};
  if (!key) {
    ERR_clear_error();
    return fault(kSubject, "expected a PEM private key without a pass phrase");
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return fault(kSubject, "does not belong to the certificate");
  }
  return {};
}

void configure(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A quiet connection gives its record buffers back (34 KiB); partial and moving writes because
  // the caller's loop, not OpenSSL, keeps what is left to send.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // else two system calls a record
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

}  // namespace

TlsContext::TlsContext(std::unique_ptr<asio::ssl::context> context)
    : context_{std::move(context)} {}

TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::make(const TlsOptions& options) {
  if (options.cert_pem.empty() != options.key_pem.empty())
    return options.key_pem.empty() ? fault("key", "missing beside the certificate")
                                   : fault("certificate", "missing beside the key");
  std::unique_ptr<asio::ssl::context> context;
  try {
    context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  } catch (const boost::system::system_error& e) {
    return Error{Errc::kIo, "TLS context: " + e.code().message()};
  }
  SSL_CTX* raw = context->native_handle();
  configure(raw);
  const auto trusted = trust(raw, options.ca_pem);
  if (!trusted) return trusted.error();
  if (!options.cert_pem.empty()) {
    const auto shown = show(raw, options.cert_pem);
    if (!shown) return shown.error();
    const auto keyed = use_key(raw, options.key_pem);
    if (!keyed) return keyed.error();
  }
  return std::shared_ptr<TlsContext>{new TlsContext{std::move(context)}};
}

}  // namespace koordlet::net
