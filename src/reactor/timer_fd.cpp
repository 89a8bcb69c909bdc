#include "reactor/timer_fd.hpp"

#include <cerrno>
#include <stdexcept>
#include <sys/timerfd.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace koordlet::reactor {
namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw boost::system::system_error{errno, boost::system::system_category(), what};
}

}  // namespace

TimerFd::TimerFd(const boost::asio::any_io_executor& ex, std::chrono::nanoseconds interval)
    : fd_{ex} {
  const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw_errno("timerfd_create");
  boost::system::error_code ec;
  fd_.assign(fd, ec);
  if (ec) {
    ::close(fd);
    throw boost::system::system_error{ec, "timerfd"};
  }
  set_interval(interval);
}

void TimerFd::set_interval(std::chrono::nanoseconds interval) {
  if (interval <= std::chrono::nanoseconds::zero())
    throw std::invalid_argument{"timer interval must be above zero"};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
  itimerspec spec{};
  spec.it_interval.tv_sec = seconds.count();
  spec.it_interval.tv_nsec = (interval - seconds).count();
  spec.it_value = spec.it_interval;
  if (::timerfd_settime(fd_.native_handle(), 0, &spec, nullptr) != 0)
    throw_errno("timerfd_settime");
}

boost::asio::awaitable<boost::system::error_code> TimerFd::wait() {
  constexpr auto kUseEc = boost::asio::as_tuple(boost::asio::use_awaitable);
  std::uint64_t expirations = 0;
  const auto target = boost::asio::buffer(&expirations, sizeof expirations);
  const auto [ec, size] = co_await fd_.async_read_some(target, kUseEc);
  // The kernel counts every deadline since the last read: one of them is this wake-up.
  if (!ec && size == sizeof expirations && expirations > 1) missed_ += expirations - 1;
  co_return ec;
}

}  // namespace koordlet::reactor
