#include "runtime/cri_client.hpp"

#include <fmt/format.h>

#include "cri.pb.h"
#include "net/grpc_client.hpp"
#include "net/http2_client.hpp"
#include "runtime/cri_messages.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
namespace {

constexpr const char* kApis[] = {"v1", "v1alpha2"};  // newest first

std::string path_of(std::string_view api, std::string_view method) {
  return fmt::format("/runtime.{}.RuntimeService/{}", api, method);
}

}  // namespace

struct CriClient::Impl {
  Options options;
  net::Http2Client http;
  std::optional<Version> version;
  std::uint64_t version_of = 0;  ///< the connection that `version` was asked on

  Impl(asio::any_io_executor ex, Options o)
      : options{o}, http{std::move(ex), {o.socket, o.timeout, o.max_message_bytes}} {}

  asio::awaitable<Result<std::string>> call(std::string path, std::string message) {
    auto answer = co_await net::grpc_call(http, path, std::move(message), options.timeout);
    if (!answer) co_return wrap(options.socket, answer.error());
    co_return answer;
  }

  asio::awaitable<Result<Version>> ask_version() {
    Result<Version> out = Error{Errc::kNotSupported, options.socket + ": no known CRI version"};
    for (const auto* api : kApis) {
      cri::VersionRequest request;
      request.set_version(api);
      const auto answer = co_await call(path_of(api, "Version"), request.SerializeAsString());
      if (!answer) {
        if (answer.error().code == Errc::kNotSupported) continue;
        out = answer.error();
        co_return out;
      }
      cri::VersionResponse response;
      if (!response.ParseFromString(*answer)) {
        out = Error{Errc::kParse, options.socket + ": expected a message VersionResponse"};
        co_return out;
      }
      version = Version{api, response.runtime_name(), response.runtime_version()};
      version_of = http.connections();
      out = *version;
      co_return out;
    }
    co_return out;
  }

  asio::awaitable<Result<std::string>> ask(std::string method) {
    // A runtime that was restarted may be another one.
    if (!version || version_of != http.connections()) {
      const auto asked = co_await ask_version();
      if (!asked) co_return asked.error();
    }
    auto answer = co_await call(path_of(version->api, method), {});
    if (version_of != http.connections()) version.reset();
    co_return answer;
  }
};

CriClient::CriClient(asio::any_io_executor ex, Options options)
    : impl_{std::make_unique<Impl>(std::move(ex), std::move(options))} {}
CriClient::~CriClient() = default;

asio::awaitable<Result<CriClient::Version>> CriClient::version() { return impl_->ask_version(); }

asio::awaitable<Result<std::vector<ContainerStats>>> CriClient::list_container_stats() {
  const auto answer = co_await impl_->ask("ListContainerStats");
  if (!answer) co_return answer.error();
  auto stats = parse_container_stats(*answer);
  if (!stats) co_return wrap(impl_->options.socket, stats.error());
  co_return stats;
}

asio::awaitable<Result<std::vector<ContainerStats>>> CriClient::list_pod_sandbox_stats() {
  const auto answer = co_await impl_->ask("ListPodSandboxStats");
  if (!answer) co_return answer.error();
  auto stats = parse_pod_sandbox_stats(*answer);
  if (!stats) co_return wrap(impl_->options.socket, stats.error());
  co_return stats;
}

}  // namespace koordlet::runtime
