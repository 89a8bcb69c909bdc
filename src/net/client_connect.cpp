#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include "net/client_connection.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
using asio::ip::tcp;
using reactor::use_ec;
using std::chrono::milliseconds;
using Addresses = std::vector<asio::ip::address>;
namespace {

/// Half of `dead_peer` until the first probe, the rest for three of them. A kernel that refuses an
/// option only finds a dead peer later; every wait has its own end.
void watch_peer(int fd, milliseconds dead_peer) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  if (dead_peer <= milliseconds{0}) return;
  const auto seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(dead_peer).count());
  constexpr int kProbes = 3;
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 2));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / (2 * kProbes)));
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(dead_peer.count()));
}

}  // namespace

/// getaddrinfo() on Asio's thread cannot be called off: it outlives whoever has asked.
struct ClientConnection::Lookup {
  explicit Lookup(const asio::any_io_executor& ex) : resolver{ex} {}
  tcp::resolver resolver;
  bool done = false;
  boost::system::error_code ec;
  Addresses found;
};

asio::awaitable<Result<Addresses>> ClientConnection::resolve(Deadline deadline) {
  boost::system::error_code not_literal;
  const auto literal = asio::ip::make_address(endpoint_.host, not_literal);
  if (!not_literal) co_return Addresses(1, literal);

  const auto lookup = std::make_shared<Lookup>(socket_.get_executor());
  lookup->resolver.async_resolve(
      endpoint_.host,
      std::to_string(endpoint_.port),
      tcp::resolver::numeric_service,
      [lookup, weak = weak_from_this()](const boost::system::error_code& ec,
                                        const tcp::resolver::results_type& results) {
        lookup->done = true;
        lookup->ec = ec;
        for (const auto& entry : results) lookup->found.push_back(entry.endpoint().address());
        if (const auto self = weak.lock()) self->timer_.cancel();
      });
  while (!lookup->done) {
    const auto stop = co_await stopped(deadline);
    if (stop) co_return *stop;
    timer_.expires_at(deadline.at);
    co_await timer_.async_wait(use_ec);
  }
  if (lookup->ec)
    co_return Error{Errc::kNotFound, fmt::format("{}: resolve: {}", peer_, lookup->ec.message())};
  if (lookup->found.empty())
    co_return Error{Errc::kNotFound, fmt::format("{}: resolve: no address", peer_)};
  co_return std::move(lookup->found);
}

asio::awaitable<Result<void>> ClientConnection::connect_one(tcp::endpoint at,
                                                            Deadline deadline,
                                                            milliseconds dead_peer) {
  const auto stop = co_await stopped(deadline);
  if (stop) co_return *stop;
  boost::system::error_code ec;
  socket_.close(ec);
  const int family = at.protocol().family();
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (fd < 0) co_return errno_error(errno, peer_, "socket");
  socket_.assign(at.protocol(), fd, ec);
  if (ec) {
    ::close(fd);
    co_return broken("socket: " + ec.message());
  }
  watch_peer(fd, dead_peer);
  arm(deadline.at);
  const auto [failure] = co_await socket_.async_connect(at, use_ec);
  disarm();
  if (!failure) co_return Result<void>{};
  if (timed_out_) co_return late(deadline);
  const auto why = co_await stopped(deadline);
  if (why) co_return *why;
  co_return broken(fmt::format("connect {}: {}", at.address().to_string(), failure.message()));
}

asio::awaitable<Result<void>> ClientConnection::handshake(std::shared_ptr<TlsContext> tls,
                                                          Deadline deadline) {
  const auto& name = endpoint_.server_name.empty() ? endpoint_.host : endpoint_.server_name;
  const auto prepared = transport_->use_tls(*tls, name);
  if (!prepared) co_return wrap(peer_, prepared.error());
  deadline.missing = "end of the TLS handshake";
  for (;;) {
    const auto outcome = transport_->handshake();
    if (outcome.step == Transport::Step::kDone) co_return Result<void>{};
    if (outcome.step != Transport::Step::kWantRead && outcome.step != Transport::Step::kWantWrite) {
      static constexpr std::string_view kCertificate = "certificate: ";
      if (!outcome.why.starts_with(kCertificate)) co_return broken(outcome.why);
      co_return Error{
          Errc::kIo,
          fmt::format("certificate of {}: {}", peer_, outcome.why.substr(kCertificate.size()))};
    }
    const auto ready = co_await wait_for(outcome.step, deadline);
    if (!ready) co_return ready.error();
  }
}

asio::awaitable<Result<void>> ClientConnection::connect(std::shared_ptr<TlsContext> tls,
                                                        milliseconds limit,
                                                        milliseconds dead_peer) {
  const auto all = Deadline::in(limit, "connection");
  auto looking = all;
  looking.missing = "address (DNS)";
  const auto addresses = co_await resolve(looking);
  if (!addresses) co_return addresses.error();

  Result<void> connected;
  auto left = static_cast<int>(addresses->size());
  for (const auto& address : *addresses) {
    // A silent address must not use up the time of the next one.
    Deadline share = all;
    const auto now = std::chrono::steady_clock::now();
    if (now < all.at) {
      share.limit = std::chrono::ceil<milliseconds>((all.at - now) / left--);
      share.at = now + share.limit;
    }
    const tcp::endpoint at{address, endpoint_.port};
    connected = co_await connect_one(at, share, dead_peer);
    if (connected) break;
    const auto stop = co_await stopped(all);
    if (stop) co_return *stop;
  }
  if (!connected) co_return connected.error();
  lost_ = false;  // an address that refused is no loss of this one
  transport_ = std::make_unique<Transport>(socket_.native_handle());
  if (tls) co_return co_await handshake(std::move(tls), all);
  co_return Result<void>{};
}

}  // namespace koordlet::net
