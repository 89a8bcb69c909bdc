#include "net/http2_server.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/listener.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
using reactor::use_ec;
namespace {

constexpr int kAcceptsAtOnce = 16;
constexpr std::chrono::milliseconds kAcceptPause{100};  // when descriptors or memory ran out
constexpr std::chrono::milliseconds kDrainStep{20};

bool is_peer_fault(int error) { return error == ECONNABORTED || error == EINTR; }

}  // namespace

struct Http2Server::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::any_io_executor e, Options o, Http2Link::OnStream s)
      : ex{std::move(e)}, options{o}, on_stream{std::move(s)} {}

  asio::any_io_executor ex;
  Options options;
  Http2Link::OnStream on_stream;
  std::optional<Listener> listener = {};
  std::vector<std::shared_ptr<Http2Link>> links = {};

  void start(int fd) {
    Http2Link::Socket socket{ex};
    boost::system::error_code ec;
    socket.assign(asio::local::stream_protocol{}, fd, ec);
    if (ec || links.size() >= options.max_connections) {
      if (ec) ::close(fd);
      return;
    }
    Http2Link::Options made;
    made.name = listener->address();
    made.max_streams = options.max_streams;
    made.on_stream = on_stream;
    made.on_close = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->forget();
    };
    const auto link = std::make_shared<Http2Link>(std::move(socket), made);
    links.push_back(link);
    if (!link->start()) link->close();
  }

  void forget() {
    std::erase_if(links, [](const auto& link) { return !link->is_open(); });
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause{ex};
    for (;;) {
      const auto [ec] = co_await listener->descriptor().async_wait(
          asio::posix::descriptor_base::wait_read, use_ec);
      if (ec) co_return;
      bool exhausted = false;
      for (int i = 0; i < kAcceptsAtOnce && !exhausted; ++i) {
        const int fd = ::accept4(
            listener->descriptor().native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
          start(fd);
        } else if (errno == EAGAIN) {
          break;
        } else {
          exhausted = !is_peer_fault(errno);
        }
      }
      if (!exhausted) continue;
      pause.expires_after(kAcceptPause);
      const auto [stopped] = co_await pause.async_wait(use_ec);
      if (stopped) co_return;
    }
  }

  asio::awaitable<void> drain() {
    for (const auto& link : std::vector{links}) link->drain();
    const auto until = std::chrono::steady_clock::now() + options.grace;
    asio::steady_timer pause{ex};
    while (!links.empty() && std::chrono::steady_clock::now() < until) {
      pause.expires_after(kDrainStep);
      const auto [stopped] = co_await pause.async_wait(use_ec);
      if (stopped) break;
    }
    close();
  }

  void close() {
    for (const auto& link : std::exchange(links, {})) link->close();  // which calls forget()
  }
};

Http2Server::Http2Server(asio::any_io_executor ex, Options options, Http2Link::OnStream on_stream)
    : impl_{std::make_shared<Impl>(std::move(ex), options, std::move(on_stream))} {}

Http2Server::~Http2Server() {
  impl_->listener.reset();
  impl_->close();
}

Result<void> Http2Server::listen_unix(const std::string& path) {
  auto made = Listener::unix_socket(impl_->ex, path);
  if (!made) return made.error();
  impl_->listener.emplace(std::move(*made));
  return {};
}

asio::awaitable<void> Http2Server::run() {
  const auto impl = impl_;
  co_await impl->accept();
  co_await asio::this_coro::reset_cancellation_state();
  impl->listener.reset();
  co_await impl->drain();
}

std::size_t Http2Server::connections() const {
  return static_cast<std::size_t>(std::count_if(
      impl_->links.begin(), impl_->links.end(), [](const auto& link) { return link->is_open(); }));
}

std::size_t Http2Server::streams() const {
  std::size_t out = 0;
  for (const auto& link : impl_->links) out += link->streams();
  return out;
}

std::size_t Http2Server::waiting_bytes() const {
  std::size_t out = 0;
  for (const auto& link : impl_->links) out += link->waiting_bytes();
  return out;
}

}  // namespace koordlet::net
