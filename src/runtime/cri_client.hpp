#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "runtime/container_stats.hpp"

namespace koordlet::runtime {

/// The CRI runtime on its unix socket: gRPC over HTTP/2, runtime.v1, else runtime.v1alpha2 when the
/// server does not know v1 (asked once a connection). One connection, made anew after it broke.
/// Loop thread; calls may overlap, and end with kIo when the client goes or they are cancelled.
class CriClient {
 public:
  struct Options {
    std::string socket;                        ///< absolute path: "/run/containerd/containerd.sock"
    std::chrono::milliseconds timeout{2'000};  ///< of one call, all that it asks included
    std::size_t max_message_bytes = 16u << 20;  ///< a larger answer is kRange
  };
  CriClient(boost::asio::any_io_executor ex, Options options);
  ~CriClient();

  struct Version {
    std::string api;  ///< "v1", "v1alpha2"
    std::string runtime_name, runtime_version;
  };
  /// kNotFound: no socket; kDenied; kBusy: nobody listens, or no answer within the timeout;
  /// kNotSupported: no known API version, or gRPC UNIMPLEMENTED; kParse: damaged frames or
  /// messages; kRange: an answer above max_message_bytes. The context names socket and method.
  boost::asio::awaitable<Result<Version>> version();
  boost::asio::awaitable<Result<std::vector<ContainerStats>>> list_container_stats();
  boost::asio::awaitable<Result<std::vector<ContainerStats>>> list_pod_sandbox_stats();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  ///< calls that run hold it too
};

}  // namespace koordlet::runtime
