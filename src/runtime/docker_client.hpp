#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "runtime/container_stats.hpp"

namespace koordlet::runtime {

/// Body of GET /containers/{id}/stats?stream=false&one-shot=true of the Docker Engine API. What is
/// not there stays nullopt. kParse: no such object, or a value of another type; kGone: the
/// container does not run (Docker then gives the year 1 and counters of 0).
Result<ContainerStats> parse_docker_stats(std::string_view json);

/// The Docker daemon on its unix socket, one connection a question. Loop thread.
class DockerClient {
 public:
  struct Options {
    std::string socket = "/var/run/docker.sock";
    std::chrono::milliseconds timeout{2'000};
  };
  DockerClient(boost::asio::any_io_executor ex, Options options);
  ~DockerClient();
  /// kRange: the id is not [A-Za-z0-9_-]{1,128}, or the answer has more than 1 MiB; kNotFound: no
  /// such container, or no socket; kGone: the container does not run; kDenied; kBusy: nobody
  /// listens, no answer in time, or Docker says so; kParse: no HTTP, or no such statistics; kIo:
  /// the connection broke, another HTTP status, or "cancelled". A call may outlive the client.
  boost::asio::awaitable<Result<ContainerStats>> stats(const std::string& id);

 private:
  boost::asio::any_io_executor ex_;
  Options options_;
};

}  // namespace koordlet::runtime
