#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "runtime/container_stats.hpp"

namespace koordlet::runtime {

/// Body of GET /containers/{id}/stats?stream=false&one-shot=true of the Docker Engine API.
Result<ContainerStats> parse_docker_stats(std::string_view json);

/// The Docker daemon on its unix socket. Loop thread.
class DockerClient {
 public:
  struct Options {
    std::string socket = "/var/run/docker.sock";
    std::chrono::milliseconds timeout{2'000};
  };
  DockerClient(boost::asio::any_io_executor ex, Options options);
  ~DockerClient();
  /// kRange: the id is not [A-Za-z0-9_-]{1,128}; kNotFound: no such container, or no socket.
  boost::asio::awaitable<Result<ContainerStats>> stats(const std::string& id);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::runtime
