#include "net/client_connection.hpp"

#include <array>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "net/client_request.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
using reactor::use_ec;
using Step = Transport::Step;
namespace {

/// Reading never suspends, so one buffer serves all connections: a quiet one holds no memory.
thread_local std::array<char, ClientConnection::kBufferBytes> arrived;

}  // namespace

ClientConnection::ClientConnection(asio::any_io_executor ex, HttpEndpoint endpoint)
    : endpoint_{std::move(endpoint)},
      peer_{peer_name(endpoint_)},
      socket_{ex},
      timer_{std::move(ex)} {}

ClientConnection::~ClientConnection() { close(); }

void ClientConnection::close() {
  if (std::exchange(closed_, true)) return;
  on_idle_end_ = nullptr;
  if (transport_) transport_->say_goodbye();
  boost::system::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
}

Error ClientConnection::late(const Deadline& deadline) const {
  return {Errc::kBusy,
          fmt::format("{}: no {} within {} ms", peer_, deadline.missing, deadline.limit.count())};
}

Error ClientConnection::broken(const std::string& why) {
  lost_ = true;
  return {Errc::kIo, fmt::format("{}: {}", peer_, why)};
}

void ClientConnection::arm(std::chrono::steady_clock::time_point at) {
  timed_out_ = false;
  timer_.expires_at(at);
  timer_.async_wait([weak = weak_from_this(), id = ++armed_](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || self->armed_ != id) return;
    self->timed_out_ = true;
    boost::system::error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void ClientConnection::disarm() {
  ++armed_;
  timer_.cancel();
}

/// Why nothing more may be waited for. A cancel that came between two waits reaches no operation:
/// only the state of the coroutine tells.
asio::awaitable<std::optional<Error>> ClientConnection::stopped(Deadline deadline) const {
  if (closed_) co_return Error{Errc::kIo, peer_ + ": closed by the client"};
  const auto state = co_await asio::this_coro::cancellation_state;
  if (reactor::is_stopped(state)) co_return Error{Errc::kIo, peer_ + ": cancelled"};
  if (std::chrono::steady_clock::now() >= deadline.at) co_return late(deadline);
  co_return std::nullopt;
}

asio::awaitable<Result<void>> ClientConnection::wait_for(Step step, Deadline deadline) {
  auto stop = co_await stopped(deadline);
  if (stop) co_return *stop;
  arm(deadline.at);
  const auto what = step == Step::kWantWrite ? Socket::wait_write : Socket::wait_read;
  const auto [ec] = co_await socket_.async_wait(what, use_ec);
  disarm();
  if (!ec) co_return Result<void>{};
  if (timed_out_) co_return late(deadline);
  stop = co_await stopped(deadline);
  if (stop) co_return *stop;
  co_return broken(ec.message());
}

asio::awaitable<Result<void>> ClientConnection::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto stop = co_await stopped(deadline);
    if (stop) co_return *stop;
    const auto outcome = transport_->write(bytes);
    if (outcome.step == Step::kDone) {
      bytes.remove_prefix(outcome.size);
    } else if (outcome.step == Step::kWantRead || outcome.step == Step::kWantWrite) {
      const auto ready = co_await wait_for(outcome.step, deadline);
      if (!ready) co_return ready.error();
    } else {
      co_return broken(outcome.why);
    }
  }
  co_return Result<void>{};
}

asio::awaitable<Result<bool>> ClientConnection::fill(Deadline deadline) {
  bool waited = false;
  for (;;) {
    const auto stop = co_await stopped(deadline);
    if (stop) co_return *stop;
    const auto outcome = transport_->read(arrived.data(), arrived.size() - unread_.size());
    if (outcome.step == Step::kDone) {
      unread_.append(arrived.data(), outcome.size);
      break;
    }
    if (outcome.step == Step::kEnd) {
      lost_ = true;
      co_return false;
    }
    if (outcome.step == Step::kLost || outcome.step == Step::kFault) co_return broken(outcome.why);
    const auto ready = co_await wait_for(outcome.step, deadline);
    if (!ready) co_return ready.error();
    waited = true;
  }
  // A peer that is faster than its reader must not keep the loop from everybody else.
  if (!waited) co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  co_return true;
}

void ClientConnection::start_idle(std::chrono::milliseconds limit, std::function<void()> on_end) {
  unread_.shrink_to_fit();
  on_idle_end_ = std::move(on_end);
  ++idle_;
  timer_.expires_after(limit);
  timer_.async_wait([weak = weak_from_this(), id = idle_](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self && self->idle_ == id) self->finish_idle();
  });
  watch_idle();
}

void ClientConnection::watch_idle() {
  const auto on_ready = [weak = weak_from_this(), id = idle_](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!self || self->closed_ || self->idle_ != id) return;
    if (!ec && self->is_quiet()) {
      self->watch_idle();
    } else {
      self->finish_idle();
    }
  };
  socket_.async_wait(Socket::wait_read, on_ready);
}

/// Whether the peer has said nothing. A TLS session ticket is no word.
bool ClientConnection::is_quiet() {
  char byte = 0;
  const auto step = transport_->read(&byte, 1).step;
  return step == Step::kWantRead || step == Step::kWantWrite;
}

void ClientConnection::finish_idle() {
  ++idle_;
  const auto on_end = std::exchange(on_idle_end_, nullptr);
  if (on_end) on_end();
}

bool ClientConnection::end_idle() {
  ++idle_;
  on_idle_end_ = nullptr;
  if (closed_) return false;
  timer_.cancel();
  boost::system::error_code ignored;
  socket_.cancel(ignored);
  return is_quiet();
}

}  // namespace koordlet::net
