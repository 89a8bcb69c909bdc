#pragma once

#include <memory>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "client_fixture.hpp"
#include "net/http2_client.hpp"
#include "support/async.hpp"
#include "support/fake_cri_server.hpp"
#include "support/fake_tree.hpp"

namespace koordlet::test {

inline GrpcAnswer saying_grpc(std::string body, GrpcFault fault = GrpcFault::kNone) {
  GrpcAnswer out;
  out.body = std::move(body);
  out.fault = fault;
  return out;
}

inline FakeCriServer::Script always(GrpcAnswer answer) {
  return [answer](const GrpcCall&) { return answer; };
}

/// The first call is answered by `first`, the others by the body "ok".
inline FakeCriServer::Script once(GrpcAnswer first) {
  const auto said = std::make_shared<bool>(false);
  return [first, said](const GrpcCall&) {
    return std::exchange(*said, true) ? saying_grpc("ok") : first;
  };
}

/// An HTTP/2 client and its scripted server on one loop.
struct Http2Pair {
  using Answer = Result<net::Http2Answer>;
  static constexpr std::chrono::seconds kLong{10};        ///< for calls that are answered
  static constexpr std::chrono::milliseconds kShort{40};  ///< for those that are not

  explicit Http2Pair(FakeCriServer::Script script, std::size_t max_body = 16u << 20)
      : server{io.get_executor(), tree.path("s"), std::move(script)},
        client{std::make_unique<net::Http2Client>(
            io.get_executor(), net::Http2Client::Options{tree.path("s"), kLong, max_body})} {}

  static net::Http2Request to(std::string path, std::string body = "question") {
    net::Http2Request out;
    out.path = std::move(path);
    out.body = std::move(body);
    return out;
  }
  Answer post(std::string path = "/a", std::chrono::milliseconds timeout = kLong) {
    auto request = to(std::move(path));
    request.timeout = timeout;
    return run(io, client->post(std::move(request)));
  }
  std::unique_ptr<Started<Answer>> start(std::string path = "/a") {
    return std::make_unique<Started<Answer>>(io, client->post(to(std::move(path))));
  }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }

  FakeTree tree;
  boost::asio::io_context io;
  FakeCriServer server;
  std::unique_ptr<net::Http2Client> client;
};

}  // namespace koordlet::test
