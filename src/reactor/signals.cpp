#include "reactor/signals.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <stdexcept>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace koordlet::reactor {
namespace asio = boost::asio;
namespace {

constexpr std::array kCaught{SIGTERM, SIGINT, SIGHUP};
constexpr std::array kChanged{SIGTERM, SIGINT, SIGHUP, SIGPIPE};

// All that the handler touches: lock-free atomics, write and _exit.
std::atomic<int> g_pipe{-1};
std::atomic<int> g_stops{0};
std::atomic<int> g_exit_code{1};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<struct sigaction, kChanged.size()> g_former;

void on_signal(int number) {
  const int saved = errno;
  if (number != SIGHUP && g_stops.fetch_add(1) > 0) ::_exit(g_exit_code);
  const auto byte = static_cast<unsigned char>(number);
  // A full pipe holds thousands of unread signals: one more says nothing new.
  if (::write(g_pipe, &byte, 1) < 0) errno = saved;
  errno = saved;
}

}  // namespace

Signals::Signals(const asio::any_io_executor& ex, int forced_exit_code) : pipe_{ex} {
  if (g_pipe >= 0) throw std::logic_error{"a second Signals object"};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0)
    throw boost::system::system_error{errno, boost::system::system_category(), "pipe2"};
  boost::system::error_code ec;
  pipe_.assign(ends[0], ec);
  if (ec) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw boost::system::system_error{ec, "signal pipe"};
  }
  g_pipe = ends[1];
  g_stops = 0;
  g_exit_code = forced_exit_code;
  for (std::size_t i = 0; i < kChanged.size(); ++i) {
    struct sigaction action {};
    action.sa_flags = SA_RESTART;
    // The caught signals wait for each other: two handlers never interleave.
    for (const int number : kCaught) sigaddset(&action.sa_mask, number);
    action.sa_handler = kChanged[i] == SIGPIPE ? SIG_IGN : on_signal;
    ::sigaction(kChanged[i], &action, &g_former[i]);
  }
}

Signals::~Signals() {
  for (std::size_t i = 0; i < kChanged.size(); ++i) ::sigaction(kChanged[i], &g_former[i], nullptr);
  ::close(g_pipe.exchange(-1));
}

asio::awaitable<Result<int>> Signals::next() {
  constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
  unsigned char number = 0;
  const auto target = asio::buffer(&number, 1);
  const auto [ec, size] = co_await pipe_.async_read_some(target, kUseEc);
  if (ec || size != 1) co_return errno_error(ec ? ec.value() : EIO, "signal pipe", "read");
  co_return static_cast<int>(number);
}

}  // namespace koordlet::reactor
