#include "support/test_certs.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdexcept>
#include <utility>

#include <boost/asio/ip/address.hpp>

namespace koordlet::test {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freer<X509_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

void need(bool ok, const char* what) {
  if (!ok) throw std::runtime_error{std::string{"test certificate: "} + what};
}

Key make_key() {
  Key key{EVP_EC_gen("P-256")};
  need(key != nullptr, "key");
  return key;
}

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string to_pem(X509* cert) {
  const Bio bio{BIO_new(BIO_s_mem())};
  need(PEM_write_bio_X509(bio.get(), cert) == 1, "write");
  return text_of(bio);
}

std::string to_pem(EVP_PKEY* key) {
  const Bio bio{BIO_new(BIO_s_mem())};
  need(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
       "write key");
  return text_of(bio);
}

void set_subject(X509* cert, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(cert);
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.c_str());
  need(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, bytes, -1, -1, 0) == 1, "subject");
}

void add(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const Extension extension{X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str())};
  need(extension != nullptr && X509_add_ext(cert, extension.get(), -1) == 1, "extension");
}

std::string alternative_names(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) {
    boost::system::error_code ec;
    boost::asio::ip::make_address(name, ec);
    out += (out.empty() ? "" : ",") + std::string{ec ? "DNS:" : "IP:"} + name;
  }
  return out;
}

enum class Kind { kCa, kServer, kClient };

/// `issuer` nullptr: signed by its own key.
Cert make_cert(
    Kind kind, const CertOptions& options, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  Cert cert{X509_new()};
  need(cert != nullptr && X509_set_version(cert.get(), X509_VERSION_3) == 1, "new");
  std::uint64_t serial = 0;
  need(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "serial");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), options.from.count());
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), options.until.count());
  set_subject(cert.get(), options.subject);
  X509* by = issuer != nullptr ? issuer : cert.get();
  need(X509_set_issuer_name(cert.get(), X509_get_subject_name(by)) == 1, "issuer");
  need(X509_set_pubkey(cert.get(), key) == 1, "public key");
  add(cert.get(), by, NID_basic_constraints, kind == Kind::kCa ? "critical,CA:TRUE" : "CA:FALSE");
  add(cert.get(),
      by,
      NID_key_usage,
      kind == Kind::kCa ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  if (kind != Kind::kCa)
    add(cert.get(), by, NID_ext_key_usage, kind == Kind::kServer ? "serverAuth" : "clientAuth");
  if (kind == Kind::kServer && !options.names.empty())
    add(cert.get(), by, NID_subject_alt_name, alternative_names(options.names));
  EVP_PKEY* signer = issuer_key != nullptr ? issuer_key : key;
  need(X509_sign(cert.get(), signer, EVP_sha256()) > 0, "sign");
  return cert;
}

CertOptions ca_options(const std::string& name) {
  CertOptions out;
  out.subject = name;
  out.from = std::chrono::hours{-24 * 365};  // older than the oldest certificate it signs
  out.until = std::chrono::hours{24 * 365};
  return out;
}

}  // namespace

struct TestCa::Impl {
  Key key = make_key();
  Cert cert;
  std::string pem;
  std::string chain;  ///< what goes along with a certificate signed here

  CertAndKey sign(Kind kind, const CertOptions& options) const {
    const Key own = make_key();
    const Cert made = make_cert(kind, options, own.get(), cert.get(), key.get());
    return {to_pem(made.get()) + chain, to_pem(own.get())};
  }
};

TestCa::TestCa(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}

TestCa::TestCa(const std::string& name) : impl_{std::make_unique<Impl>()} {
  impl_->cert = make_cert(Kind::kCa, ca_options(name), impl_->key.get(), nullptr, nullptr);
  impl_->pem = to_pem(impl_->cert.get());
}

TestCa::~TestCa() = default;
TestCa::TestCa(TestCa&&) noexcept = default;

const std::string& TestCa::pem() const { return impl_->pem; }

CertAndKey TestCa::server(const CertOptions& options) const {
  return impl_->sign(Kind::kServer, options);
}

CertAndKey TestCa::client(const std::string& subject) const {
  CertOptions options;
  options.subject = subject;
  return impl_->sign(Kind::kClient, options);
}

TestCa TestCa::intermediate(const std::string& name) const {
  auto lower = std::make_unique<Impl>();
  lower->cert =
      make_cert(Kind::kCa, ca_options(name), lower->key.get(), impl_->cert.get(), impl_->key.get());
  lower->pem = to_pem(lower->cert.get());
  lower->chain = lower->pem + impl_->chain;
  return TestCa{std::move(lower)};
}

CertAndKey self_signed(const CertOptions& options) {
  const Key key = make_key();
  const Cert cert = make_cert(Kind::kServer, options, key.get(), nullptr, nullptr);
  return {to_pem(cert.get()), to_pem(key.get())};
}

}  // namespace koordlet::test
