#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/detached.hpp>

#include "http2_fixture.hpp"
#include "net/grpc_forward.hpp"
#include "net/http2_server.hpp"
#include "net/unix_connect.hpp"

namespace koordlet::test {

/// One side of a stream: what came, taken as it comes unless told not to.
struct StreamLog final : net::Http2Watcher {
  explicit StreamLog(std::shared_ptr<net::Http2Stream> s) : stream{std::move(s)} {}
  void changed(net::Http2Stream& s) override {
    if (reading) {
      body += s.waiting();
      s.take(s.waiting().size());
    }
    while (left() > 0 && s.room() > 0) {
      const auto n = std::min(s.room(), left());
      s.put(std::string_view{to_send}.substr(sent, n));
      sent += n;
    }
    if (left() == 0 && finishing) s.finish(std::exchange(out_trailers, {}));
    if (then) then(*this);
  }
  std::size_t left() const { return to_send.size() - sent; }
  void send(const std::string& bytes) {
    to_send += bytes;
    changed(*stream);
  }
  void finish(net::Http2Headers trailers = {}) {
    finishing = true;
    out_trailers = std::move(trailers);
    changed(*stream);
  }
  std::string header(std::string_view name) const {
    const auto* at = net::find_header(stream->head(), name);
    return at == nullptr ? std::string{} : *at;
  }
  std::string trailer(std::string_view name) const {
    const auto* at = net::find_header(stream->trailers(), name);
    return at == nullptr ? std::string{} : *at;
  }

  std::shared_ptr<net::Http2Stream> stream;
  bool reading = true, finishing = false;
  std::string body, to_send;
  std::size_t sent = 0;  ///< of to_send
  net::Http2Headers out_trailers;
  std::function<void(StreamLog&)> then;
};
using LogPtr = std::shared_ptr<StreamLog>;

inline const net::Http2Headers kAnswerHead{{":status", "200"},
                                           {"content-type", "application/grpc"}};

inline net::Http2Headers request_head(const std::string& path, net::Http2Headers more = {}) {
  net::Http2Headers out{{":method", "POST"},
                        {":scheme", "http"},
                        {":path", path},
                        {":authority", "localhost"},
                        {"content-type", "application/grpc"},
                        {"te", "trailers"}};
  for (auto& header : more) out.push_back(std::move(header));
  return out;
}

/// A server whose streams the test drives by hand.
struct OpenServer {
  OpenServer(boost::asio::io_context& io, const std::string& path)
      : server{io.get_executor(), {}, [this](const auto& stream) {
                 auto log = std::make_shared<StreamLog>(stream);
                 log->then = then;
                 streams.push_back(log);
                 stream->watch(log);
               }} {
    server.listen_unix(path).value();
    boost::asio::co_spawn(io, server.run(), boost::asio::detached);
  }
  std::vector<LogPtr> streams;
  std::function<void(StreamLog&)> then;  ///< of streams from now on
  net::Http2Server server;
};

/// A client whose streams the test drives by hand.
struct OpenClient {
  OpenClient(boost::asio::io_context& io, const std::string& path)
      : link{std::make_shared<net::Http2Link>(net::connect_unix(io.get_executor(), path).value(),
                                              net::Http2Link::Options{"t"})} {
    link->start().value();
  }
  ~OpenClient() { link->close(); }
  LogPtr open(const std::string& path, net::Http2Headers more = {}) const {
    auto log =
        std::make_shared<StreamLog>(link->open(request_head(path, std::move(more)), false).value());
    log->stream->watch(log);
    return log;
  }
  std::shared_ptr<net::Http2Link> link;
};

/// Whole calls in, whole calls out: client, proxy, and a runtime that is not made here.
struct ProxyRig {
  explicit ProxyRig(net::GrpcEditor* editor = nullptr, net::GrpcForward::Options options = {})
      : upstream{io.get_executor(), runtime_path()},
        forward{io.get_executor(), upstream, editor, options},
        proxy{io.get_executor(), {}, [this](const auto& stream) { forward.take(stream); }},
        client{io.get_executor(),
               net::Http2Client::Options{proxy_path(), Http2Pair::kLong, 20u << 20}} {
    proxy.listen_unix(proxy_path()).value();
    boost::asio::co_spawn(io, proxy.run(), boost::asio::detached);
  }
  std::string proxy_path() const { return tree.path("p"); }
  std::string runtime_path() const { return tree.path("r"); }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  Result<net::Http2Answer> post(std::string path,
                                std::string message,
                                net::Http2Headers headers = {}) {
    auto request = Http2Pair::to(std::move(path), grpc_message(message));
    request.headers = std::move(headers);
    return run(io, client.post(std::move(request)));
  }

  FakeTree tree;
  boost::asio::io_context io;
  net::GrpcUpstream upstream;
  net::GrpcForward forward;
  net::Http2Server proxy;
  net::Http2Client client;
};

inline std::string status_of(const net::Http2Answer& answer) {
  const auto* in_trailers = net::find_header(answer.trailers, "grpc-status");
  const auto* in_head = net::find_header(answer.headers, "grpc-status");
  return in_trailers != nullptr ? *in_trailers : in_head != nullptr ? *in_head : "";
}

}  // namespace koordlet::test
