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

/// Directory watches on one inotify descriptor.
class Inotify {
 public:
  struct Event {
    std::string dir;   ///< path as given to watch()
    std::string name;  ///< entry; empty for events on the directory itself
    std::uint32_t mask = 0;
    bool overflow = false;  ///< the queue overflowed: rescan everything
  };
  explicit Inotify(const boost::asio::any_io_executor& ex);
  /// kNotFound: no such directory; kBusy: the watch limit (fs.inotify.max_user_watches) is reached.
  Result<void> watch(const std::string& dir, std::uint32_t mask);
  void unwatch(const std::string& dir);
  /// At least one event, or the error (operation_aborted after a cancel). IN_IGNORED watches are
  /// forgotten.
  boost::asio::awaitable<Result<std::vector<Event>>> read();
  std::size_t watches() const { return by_wd_.size(); }

 private:
  boost::asio::posix::stream_descriptor fd_;
  std::map<int, std::string> by_wd_;
  std::map<std::string, int> by_dir_;
};

}  // namespace koordlet::reactor
