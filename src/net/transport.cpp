#include "net/transport.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <fmt/format.h>

namespace koordlet::net {
namespace {

bool would_block(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

bool is_address(const std::string& text) {
  boost::system::error_code ec;
  boost::asio::ip::make_address(text, ec);
  return !ec;
}

std::ptrdiff_t receive(int fd, char* into, std::size_t size) {
  return ::recv(fd, into, size, MSG_DONTWAIT);
}

std::ptrdiff_t send_some(int fd, const char* from, std::size_t size) {
  return ::send(fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

/// What OpenSSL reads from and writes to. Its own socket BIO would raise SIGPIPE, and would not say
/// whether the peer ended or the network broke.
struct Transport::Pipe {
  int fd = -1;
  bool ended = false;
  int err = 0;

  static Pipe& of(BIO* bio) { return *static_cast<Pipe*>(BIO_get_data(bio)); }

  static int on_read(BIO* bio, char* into, int size) {
    Pipe& pipe = of(bio);
    BIO_clear_retry_flags(bio);
    const auto got = receive(pipe.fd, into, static_cast<std::size_t>(size));
    if (got == 0) pipe.ended = true;
    if (got < 0 && would_block(errno)) {
      BIO_set_retry_read(bio);
    } else if (got < 0) {
      pipe.err = errno;
    }
    return static_cast<int>(got);
  }

  static int on_write(BIO* bio, const char* from, int size) {
    Pipe& pipe = of(bio);
    BIO_clear_retry_flags(bio);
    const auto sent = send_some(pipe.fd, from, static_cast<std::size_t>(size));
    if (sent < 0 && would_block(errno)) {
      BIO_set_retry_write(bio);
    } else if (sent < 0) {
      pipe.err = errno;
    }
    return static_cast<int>(sent);
  }

  static long on_control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return of(bio).ended ? 1 : 0;
    return 0;
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* const kMethod = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "koordlet");
      if (made != nullptr) {
        BIO_meth_set_read(made, on_read);
        BIO_meth_set_write(made, on_write);
        BIO_meth_set_ctrl(made, on_control);
      }
      return made;
    }();
    return kMethod;
  }
};

Transport::Transport(int fd) : pipe_{std::make_unique<Pipe>()} { pipe_->fd = fd; }

Transport::~Transport() = default;

void Transport::FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }

Result<void> Transport::use_tls(TlsContext& context, const std::string& name) {
  const Error no_memory{Errc::kBusy, "TLS: no memory"};
  name_ = name;
  ssl_.reset(SSL_new(context.get().native_handle()));
  BIO* bio = ssl_ && Pipe::method() != nullptr ? BIO_new(Pipe::method()) : nullptr;
  if (bio == nullptr) return no_memory;
  BIO_set_data(bio, pipe_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);

  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl_.get());
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  ERR_clear_error();
  const bool named = is_address(name)
                         ? X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1
                         : !name.empty() && SSL_set1_host(ssl_.get(), name.c_str()) == 1 &&
                               SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1;
  if (!named) return Error{Errc::kInvalid, fmt::format("TLS: '{}' is no server name", name)};
  SSL_set_connect_state(ssl_.get());
  return {};
}

Transport::Outcome Transport::plain_outcome(std::ptrdiff_t moved) const {
  if (moved > 0) return {Step::kDone, static_cast<std::size_t>(moved), {}};
  return {Step::kLost, 0, std::strerror(errno)};
}

Transport::Outcome Transport::tls_outcome(int returned) {
  if (returned > 0) return {Step::kDone, static_cast<std::size_t>(returned), {}};
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {Step::kWantRead, 0, {}};
    case SSL_ERROR_WANT_WRITE:
      return {Step::kWantWrite, 0, {}};
    case SSL_ERROR_ZERO_RETURN:
      return {Step::kEnd, 0, {}};
    default:
      break;
  }
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  Outcome out{Step::kFault, 0, fmt::format("TLS: {}", reason != nullptr ? reason : "broken")};
  if (pipe_->ended) out = {Step::kLost, 0, "cut short (no TLS close_notify)"};
  if (pipe_->err != 0) out = {Step::kLost, 0, std::strerror(pipe_->err)};
  ERR_clear_error();
  broken_ = out;
  return out;
}

Transport::Outcome Transport::handshake() {
  if (broken_) return *broken_;
  ERR_clear_error();
  Outcome out = tls_outcome(SSL_do_handshake(ssl_.get()));
  if (out.step == Step::kEnd) out = {Step::kLost, 0, "closed during the TLS handshake"};
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (out.step == Step::kFault && verdict != X509_V_OK) {
    out.why = X509_verify_cert_error_string(verdict);
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
      out.why += fmt::format(" (expected '{}')", name_);
    out.why.insert(0, "certificate: ");
  }
  return out;
}

Transport::Outcome Transport::read(char* into, std::size_t size) {
  if (!ssl_) {
    const auto got = receive(pipe_->fd, into, size);
    if (got == 0) return {Step::kEnd, 0, {}};
    if (got < 0 && would_block(errno)) return {Step::kWantRead, 0, {}};
    return plain_outcome(got);
  }
  if (broken_) return *broken_;
  ERR_clear_error();
  // A record holds 16 KiB at most: go on while there are more at hand. What ends this shows again
  // in the next call.
  std::size_t total = 0;
  while (total < size) {
    const std::size_t room = std::min<std::size_t>(size - total, INT_MAX);
    const int got = SSL_read(ssl_.get(), into + total, static_cast<int>(room));
    if (got > 0) {
      total += static_cast<std::size_t>(got);
      if (SSL_has_pending(ssl_.get()) == 0) break;
      continue;
    }
    if (total == 0) return tls_outcome(got);
    tls_outcome(got);
    break;
  }
  return {Step::kDone, total, {}};
}

Transport::Outcome Transport::write(std::string_view bytes) {
  if (!ssl_) {
    const auto sent = send_some(pipe_->fd, bytes.data(), bytes.size());
    if (sent < 0 && would_block(errno)) return {Step::kWantWrite, 0, {}};
    return plain_outcome(sent);
  }
  if (broken_) return *broken_;
  ERR_clear_error();
  const auto size = std::min<std::size_t>(bytes.size(), INT_MAX);
  return tls_outcome(SSL_write(ssl_.get(), bytes.data(), static_cast<int>(size)));
}

void Transport::say_goodbye() {
  if (!ssl_ || broken_ || SSL_is_init_finished(ssl_.get()) == 0) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());  // its first half only; the answer is not waited for
  ERR_clear_error();
  broken_ = Outcome{Step::kLost, 0, "closed"};
}

}  // namespace koordlet::net
