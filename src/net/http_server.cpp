#include "net/http_server.hpp"

#include <cerrno>
#include <list>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/http_session.hpp"
#include "net/listener.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
using reactor::use_ec;
namespace {

constexpr int kAcceptsAtOnce = 16;           // then the other handlers have their turn
constexpr std::size_t kRefusingAtOnce = 16;  // beyond it a connection is closed without a word
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kJoinStep{1000};

/// A connection that died in the queue is no fault of the listener.
bool is_peer_fault(int err) {
  return err == EINTR || err == ECONNABORTED || err == EPROTO || err == ENETDOWN ||
         err == EHOSTUNREACH || err == ENETUNREACH || err == EPERM;
}

}  // namespace

struct HttpServer::Impl {
  Impl(asio::any_io_executor executor, Limits limits)
      : ex{std::move(executor)},
        context{std::make_shared<SessionContext>()},
        acceptors{ex, nullptr},
        sessions{ex, nullptr} {
    context->limits = limits;
  }

  void start(int fd, bool unix_peer);
  asio::awaitable<void> accept(Listener& listener);
  asio::awaitable<void> end(reactor::TaskGroup& group);

  asio::any_io_executor ex;
  std::shared_ptr<SessionContext> context;
  std::list<Listener> listeners;
  reactor::TaskGroup acceptors;
  reactor::TaskGroup sessions;
};

void HttpServer::Impl::start(int fd, bool unix_peer) {
  auto kind = HttpSession::Kind::kServe;
  if (context->open.size() >= context->limits.max_connections && !context->evict_oldest_idle()) {
    if (context->refusing >= kRefusingAtOnce) {
      ::close(fd);
      return;
    }
    kind = HttpSession::Kind::kRefuse;
  }
  if (!unix_peer) {
    // Answers are written whole; waiting for more would only delay them. A failure costs time only.
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  const asio::generic::stream_protocol protocol{unix_peer ? AF_UNIX : AF_INET, 0};
  HttpSession::Socket socket{ex};
  boost::system::error_code ec;
  socket.assign(protocol, fd, ec);
  if (ec) {
    ::close(fd);
    return;
  }
  auto session = std::make_shared<HttpSession>(context, std::move(socket), unix_peer, kind);
  sessions.spawn("http session", HttpSession::run(std::move(session)));
}

asio::awaitable<void> HttpServer::Impl::accept(Listener& listener) {
  asio::steady_timer pause{ex};
  for (;;) {
    const auto [ec] =
        co_await listener.descriptor().async_wait(asio::posix::descriptor_base::wait_read, use_ec);
    if (ec) co_return;
    bool exhausted = false;
    for (int i = 0; i < kAcceptsAtOnce && !exhausted; ++i) {
      const int fd = ::accept4(
          listener.descriptor().native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        start(fd, listener.is_unix());
      } else if (errno == EAGAIN) {
        break;
      } else if (!is_peer_fault(errno)) {
        exhausted = true;  // no descriptors or memory: the queue stays readable, so do not spin
      }
    }
    if (exhausted) {
      context->evict_oldest_idle();
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(use_ec);
    }
  }
}

asio::awaitable<void> HttpServer::Impl::end(reactor::TaskGroup& group) {
  bool ended = false;
  while (!ended) {
    group.request_stop();
    ended = co_await group.join(kJoinStep);
  }
}

HttpServer::HttpServer(asio::any_io_executor ex, Handler handler, Limits limits)
    : impl_{std::make_unique<Impl>(std::move(ex), limits)} {
  impl_->context->handler = std::move(handler);
}

HttpServer::HttpServer(asio::any_io_executor ex, AsyncHandler handler, Limits limits)
    : impl_{std::make_unique<Impl>(std::move(ex), limits)} {
  impl_->context->async_handler = std::move(handler);
}

HttpServer::~HttpServer() = default;

Result<void> HttpServer::listen_tcp(const std::string& address) {
  auto made = Listener::tcp(impl_->ex, address);
  if (!made) return made.error();
  impl_->listeners.push_back(std::move(*made));
  return {};
}

Result<void> HttpServer::listen_unix(const std::string& path) {
  auto made = Listener::unix_socket(impl_->ex, path);
  if (!made) return made.error();
  impl_->listeners.push_back(std::move(*made));
  return {};
}

std::string HttpServer::tcp_address() const {
  for (const auto& listener : impl_->listeners)
    if (!listener.is_unix()) return listener.address();
  return {};
}

asio::awaitable<void> HttpServer::run() {
  for (auto& listener : impl_->listeners)
    impl_->acceptors.spawn("accept " + listener.address(), impl_->accept(listener));
  asio::steady_timer until_cancelled{impl_->ex, asio::steady_timer::time_point::max()};
  co_await until_cancelled.async_wait(use_ec);
  co_await asio::this_coro::reset_cancellation_state();
  // Acceptors first: no session starts behind the back of the one that stops them.
  co_await impl_->end(impl_->acceptors);
  impl_->listeners.clear();
  co_await impl_->end(impl_->sessions);
}

std::uint64_t HttpServer::requests() const { return impl_->context->requests; }
std::size_t HttpServer::connections() const { return impl_->context->open.size(); }

}  // namespace koordlet::net
