#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.hpp"

namespace koordlet::reactor {

/// Directory watches on one inotify descriptor. Not recursive. One thread, one reader at a time.
class Inotify {
 public:
  struct Event {
    std::string dir;   ///< path as given to watch(); empty on overflow
    std::string name;  ///< entry; empty for events on the directory itself
    std::uint32_t mask = 0;
    bool overflow = false;  ///< the queue overflowed: rescan everything
  };
  /// No descriptor or inotify instance left (EMFILE) throws boost::system::system_error.
  explicit Inotify(const boost::asio::any_io_executor& ex);
  /// A second call for a directory replaces its mask; two names of one directory are one watch
  /// under the later name. kNotFound: no such directory; kBusy: the watch limit
  /// (fs.inotify.max_user_watches) is reached.
  Result<void> watch(const std::string& dir, std::uint32_t mask);
  void unwatch(const std::string& dir);  ///< its events that were not read yet are dropped
  /// At least one event, or the error (errno of operation_aborted, ECANCELED, as kIo after a
  /// cancel). A watch that the kernel ended is reported once with IN_IGNORED and forgotten.
  boost::asio::awaitable<Result<std::vector<Event>>> read();
  std::size_t watches() const { return by_wd_.size(); }

 private:
  void take_events(const char* data, std::size_t size, std::vector<Event>& out);

  boost::asio::posix::stream_descriptor fd_;
  std::map<int, std::string> by_wd_;
  std::map<std::string, int> by_dir_;
};

}  // namespace koordlet::reactor
