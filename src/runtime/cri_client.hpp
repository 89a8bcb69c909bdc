#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "model/hook.hpp"
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
  /// All pods and containers; resources of those that have not ended, as the runtime has them. What
  /// the CRI does not tell is empty: cgroup_parent, env, pid. Each call of it has its own timeout.
  boost::asio::awaitable<Result<HookInventory>> inventory();
  /// What is not said stays as it is. kNotSupported besides: a resctrl group.
  boost::asio::awaitable<Result<void>> update_container(std::string id, HookResources resources);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  ///< calls that run hold it too
};

}  // namespace koordlet::runtime
