#pragma once

#include <string>
#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.hpp"

namespace koordlet::net {

/// One listening socket: non-blocking, closed and (unix) its file removed on destruction.
class Listener {
 public:
  /// Errors as HttpServer::listen_tcp and listen_unix.
  static Result<Listener> tcp(const boost::asio::any_io_executor& ex, const std::string& address);
  static Result<Listener> unix_socket(const boost::asio::any_io_executor& ex,
                                      const std::string& path);
  Listener(Listener&& o) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  boost::asio::posix::stream_descriptor& descriptor() { return fd_; }
  bool is_unix() const { return !path_.empty(); }
  const std::string& address() const { return address_; }  ///< with the real port; or the path

 private:
  explicit Listener(const boost::asio::any_io_executor& ex) : fd_{ex} {}
  Result<void> take(int fd);

  boost::asio::posix::stream_descriptor fd_;
  std::string address_;
  std::string path_;  ///< file to remove, if it is still this one
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace koordlet::net
