#include <cri.pb.h>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "net/protobuf.hpp"
#include "reactor/task_group.hpp"
#include "runtime/cri_client_impl.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
using std::chrono::milliseconds;
using Stats = Result<std::vector<ContainerStats>>;
namespace {

constexpr const char* kApis[] = {"v1", "v1alpha2"};  // newest first
constexpr std::size_t kEntriesAtOnce = 100;          // of a list, between two turns of the loop

std::string path_of(std::string_view api, std::string_view method) {
  return fmt::format("/runtime.{}.RuntimeService/{}", api, method);
}

}  // namespace

asio::awaitable<Result<std::string>> CriClient::Impl::call(std::string path,
                                                           std::string message,
                                                           Deadline until) {
  if (!http) co_return Error{Errc::kIo, options.socket + ": the client ended"};
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  if (left <= milliseconds{0})
    co_return Error{Errc::kBusy, fmt::format("{}: {}: no answer in time", options.socket, path)};
  auto answer = co_await net::grpc_call(*http, path, std::move(message), left);
  if (!answer) co_return wrap(options.socket, answer.error());
  co_return answer;
}

asio::awaitable<Result<CriClient::Version>> CriClient::Impl::ask_version(Deadline until) {
  Result<Version> out = Error{Errc::kNotSupported, options.socket + ": no known CRI version"};
  for (const auto* api : kApis) {
    cri::VersionRequest request;
    request.set_version(api);
    const auto answer = co_await call(path_of(api, "Version"), request.SerializeAsString(), until);
    if (!answer && answer.error().code == Errc::kNotSupported) continue;
    if (!answer) {
      out = answer.error();
      co_return out;
    }
    cri::VersionResponse response;
    if (!response.ParseFromString(*answer)) {
      out = Error{Errc::kParse, options.socket + ": expected a message VersionResponse"};
      co_return out;
    }
    known = Version{api, response.runtime_name(), response.runtime_version()};
    known_of = http ? http->connections() : 0;
    out = *known;
    co_return out;
  }
  co_return out;
}

asio::awaitable<Result<std::string>> CriClient::Impl::ask(std::string method, std::string message) {
  const auto until = deadline();
  for (bool again = false;; again = true) {
    // A runtime that was restarted may be another one.
    if (!is_known()) {
      const auto asked = co_await ask_version(until);
      if (!asked) co_return asked.error();
    }
    auto answer = co_await call(path_of(known->api, method), message, until);
    // The connection may have been made anew under the call, to one that does not know that API.
    const bool moved = !answer && answer.error().code == Errc::kNotSupported && !is_known();
    if (!moved || again) co_return answer;
  }
}

asio::awaitable<Result<CriClient::Version>> CriClient::Impl::version(Self self) {
  co_return co_await self->ask_version(self->deadline());
}

asio::awaitable<Stats> CriClient::Impl::list(Self self, std::string method, StatsList::Kind kind) {
  auto answer = co_await self->ask(method, {});
  if (!answer) co_return answer.error();
  StatsList list{kind, std::move(*answer)};
  std::vector<ContainerStats> out;
  for (;;) {
    const auto more = list.take(kEntriesAtOnce, out);
    if (!more) co_return wrap(self->options.socket, more.error());
    if (!*more) co_return out;
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state))
      co_return Error{Errc::kIo, self->options.socket + ": cancelled"};
    co_await asio::post(self->ex, asio::use_awaitable);
  }
}

CriClient::CriClient(asio::any_io_executor ex, Options options)
    : impl_{std::make_shared<Impl>(std::move(ex), std::move(options))} {
  net::silence_protobuf();
}
CriClient::~CriClient() { impl_->http.reset(); }

asio::awaitable<Result<CriClient::Version>> CriClient::version() { return Impl::version(impl_); }

asio::awaitable<Stats> CriClient::list_container_stats() {
  return Impl::list(impl_, "ListContainerStats", StatsList::Kind::kContainers);
}

asio::awaitable<Stats> CriClient::list_pod_sandbox_stats() {
  return Impl::list(impl_, "ListPodSandboxStats", StatsList::Kind::kPodSandboxes);
}

}  // namespace koordlet::runtime
