#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/cri_client.hpp"
#include "unit/net/http2_fixture.hpp"
#include "wire.hpp"

namespace koordlet::test {

inline constexpr const char* kVersion1 = "/runtime.v1.RuntimeService/Version";
inline constexpr const char* kVersion1Alpha2 = "/runtime.v1alpha2.RuntimeService/Version";
inline constexpr const char* kList1 = "/runtime.v1.RuntimeService/ListContainerStats";
inline constexpr const char* kList1Alpha2 = "/runtime.v1alpha2.RuntimeService/ListContainerStats";
inline constexpr const char* kSandboxes1 = "/runtime.v1.RuntimeService/ListPodSandboxStats";

inline GrpcAnswer saying_message(const WireMessage& message) {
  return saying_grpc(grpc_message(message.str()));
}

inline GrpcAnswer with_status(unsigned status, std::string words = {}) {
  GrpcAnswer out;
  out.fault = GrpcFault::kTrailersOnly;
  out.status = status;
  out.words = std::move(words);
  return out;
}

/// A runtime that knows `api` and answers every list by `list`.
inline FakeCriServer::Script runtime_of(std::string api, GrpcAnswer list) {
  return [api, list](const GrpcCall& call) {
    if (!call.path.starts_with("/runtime." + api + ".")) return with_status(12, "unknown service");
    if (!call.path.ends_with("/Version")) return list;
    return saying_message(
        WireMessage{}.bytes(1, "0.1.0").bytes(2, "containerd").bytes(3, "1.7.24").bytes(4, api));
  };
}

inline WireMessage list_of(int count) {
  WireMessage out;
  for (int n = 0; n < count; ++n) out.part(1, container_entry(n));
  return out;
}

struct CriPair {
  using Stats = Result<std::vector<runtime::ContainerStats>>;
  using Version = Result<runtime::CriClient::Version>;

  explicit CriPair(FakeCriServer::Script script,
                   std::chrono::milliseconds timeout = std::chrono::seconds{10},
                   std::size_t max_message = 16u << 20)
      : server{io.get_executor(), tree.path("s"), std::move(script)},
        client{std::make_unique<runtime::CriClient>(
            io.get_executor(), runtime::CriClient::Options{tree.path("s"), timeout, max_message})} {
  }

  Version version() { return run(io, client->version()); }
  Stats list() { return run(io, client->list_container_stats()); }
  Stats sandboxes() { return run(io, client->list_pod_sandbox_stats()); }
  std::unique_ptr<Started<Stats>> start() {
    return std::make_unique<Started<Stats>>(io, client->list_container_stats());
  }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  std::vector<std::string> paths() const {
    std::vector<std::string> out;
    for (const auto& call : server.calls()) out.push_back(call.path);
    return out;
  }

  FakeTree tree;
  boost::asio::io_context io;
  FakeCriServer server;
  std::unique_ptr<runtime::CriClient> client;
};

}  // namespace koordlet::test
