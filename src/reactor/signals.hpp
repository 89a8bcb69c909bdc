#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.hpp"

namespace koordlet::reactor {

/// SIGTERM, SIGINT and SIGHUP as a stream for main. The second SIGTERM or SIGINT ends the process
/// at once with `forced_exit_code` by _exit from the signal handler, so that this works even when
/// the loop is stuck (asio::signal_set needs a running loop) and as process 1 of a container (where
/// the default action is ignored). SIGPIPE is ignored: a broken pipe is an error of its write.
/// One object a process at a time: a second one throws std::logic_error. Make it before helper
/// threads start. The destructor puts the former dispositions back.
class Signals {
 public:
  explicit Signals(const boost::asio::any_io_executor& ex, int forced_exit_code = 1);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The next signal number, in order of arrival; kIo with ECANCELED after a cancel.
  boost::asio::awaitable<Result<int>> next();

 private:
  boost::asio::posix::stream_descriptor pipe_;
};

}  // namespace koordlet::reactor
