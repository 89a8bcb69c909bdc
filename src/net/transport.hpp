#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/tls_context.hpp"

struct ssl_st;

namespace koordlet::net {

/// Bytes over a connected, non-blocking socket, with or without TLS. Every call returns at once and
/// says what to wait for, so that no operation is ever pending in here: whoever waits may go away
/// at any time. Borrows the descriptor. One thread.
class Transport {
 public:
  enum class Step {
    kDone,
    kWantRead,   ///< call again once the socket is readable
    kWantWrite,  ///< call again once it is writable
    kEnd,        ///< the peer has ended its side in order (FIN; with TLS: close_notify)
    kLost,       ///< the connection is gone: reset, or TLS that ends without close_notify
    kFault,      ///< TLS refused
  };
  struct Outcome {
    Step step = Step::kFault;
    std::size_t size = 0;  ///< bytes moved when kDone, at least 1
    std::string why;       ///< of kLost and kFault
  };

  explicit Transport(int fd);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Before the first handshake(). The peer must show a certificate for `name`: a DNS name (sent as
  /// SNI), or an address, which is looked for among the certificate's addresses.
  Result<void> use_tls(TlsContext& context, const std::string& name);
  Outcome handshake();
  Outcome read(char* into, std::size_t size);
  Outcome write(std::string_view bytes);
  /// Tells a TLS peer that no more comes, as far as the socket takes it now.
  void say_goodbye();

 private:
  struct Pipe;
  Outcome tls_outcome(int returned);
  Outcome plain_outcome(std::ptrdiff_t moved) const;

  std::unique_ptr<Pipe> pipe_;
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };
  std::unique_ptr<ssl_st, FreeSsl> ssl_;  ///< uses pipe_
  std::string name_;
  std::optional<Outcome> broken_;  ///< OpenSSL must not be called again after a fatal error
};

}  // namespace koordlet::net
