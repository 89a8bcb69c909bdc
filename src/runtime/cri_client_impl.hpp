#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/grpc_client.hpp"
#include "net/http2_client.hpp"
#include "runtime/cri_client.hpp"
#include "runtime/cri_messages.hpp"

namespace koordlet::runtime {

/// Each call holds it: it may outlive the CriClient until it ends.
struct CriClient::Impl {
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;
  using Deadline = std::chrono::steady_clock::time_point;
  using Self = std::shared_ptr<Impl>;
  boost::asio::any_io_executor ex;
  Options options;
  std::optional<net::Http2Client> http;  ///< nullopt: the CriClient is gone
  std::optional<Version> known = {};
  std::uint64_t known_of = 0;  ///< the connection that `known` was asked on

  Impl(boost::asio::any_io_executor e, Options o) : ex{e}, options{std::move(o)} {
    http.emplace(
        e,
        net::Http2Client::Options{
            options.socket, options.timeout, options.max_message_bytes + net::kGrpcPrefix});
  }
  Deadline deadline() const { return std::chrono::steady_clock::now() + options.timeout; }
  bool is_known() const { return known && http && known_of == http->connections(); }

  Awaitable<Result<std::string>> call(std::string path, std::string message, Deadline until);
  Awaitable<Result<Version>> ask_version(Deadline until);
  /// In the API that the runtime knows.
  Awaitable<Result<std::string>> ask(std::string method, std::string message);
  static Awaitable<Result<Version>> version(Self self);
  static Awaitable<Result<std::vector<ContainerStats>>> list(Self self,
                                                             std::string method,
                                                             StatsList::Kind kind);
  static Awaitable<Result<HookInventory>> inventory(Self self);
  Awaitable<Result<void>> complete(HookContainer& container);
  static Awaitable<Result<void>> update(Self self, std::string id, HookResources resources);
};

}  // namespace koordlet::runtime
