#pragma once

#include <chrono>
#include <cstdint>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.hpp"

namespace koordlet::reactor {

/// Periodic timer on CLOCK_MONOTONIC with absolute deadlines: no drift, and deadlines missed during
/// a stall are skipped and counted, never caught up in a burst.
class TimerFd {
 public:
  /// The first deadline is one interval from now. An interval of zero or less throws
  /// std::invalid_argument; no descriptor left (EMFILE) throws boost::system::system_error.
  TimerFd(const boost::asio::any_io_executor& ex, std::chrono::nanoseconds interval);
  /// The next deadline is one new interval from now, for a wait in progress too.
  void set_interval(std::chrono::nanoseconds interval);
  /// Waits for the next deadline. The error is operation_aborted after a cancel.
  boost::asio::awaitable<boost::system::error_code> wait();
  /// Deadlines skipped since construction.
  std::uint64_t missed() const { return missed_; }

 private:
  boost::asio::posix::stream_descriptor fd_;
  std::uint64_t missed_ = 0;
};

}  // namespace koordlet::reactor
