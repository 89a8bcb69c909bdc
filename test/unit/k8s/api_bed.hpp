#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"
#include "k8s/api_client.hpp"
#include "support/fake_api_server.hpp"
#include "support/fake_tree.hpp"
#include "support/test_certs.hpp"

namespace koordlet::test {

/// A fake API server over TLS, and how to reach it with a token in a file.
class ApiBed {
 public:
  ApiBed() : server{io.get_executor(), FakeHttpServer::Tls{ca.server()}} {
    tree.write("ca.crt", ca.pem());
    tree.write("token", "first");
    server.set_token("first");
    server.serve("/api/v1/pods", "Pod");
    server.serve("/api/v1/nodes", "Node");
  }

  k8s::ApiAccess access() const {
    k8s::ApiAccess out;
    out.endpoint = server.http().endpoint();
    out.ca_file = tree.path("ca.crt");
    out.token_file = tree.path("token");
    return out;
  }

  /// Limits that only a hang meets, also on a machine that is busy with other things.
  static k8s::ApiClient::Options patient() {
    k8s::ApiClient::Options out;
    out.http.connect_timeout = std::chrono::minutes{2};
    out.http.head_timeout = std::chrono::minutes{2};
    out.http.request_timeout = std::chrono::minutes{2};
    return out;
  }

  /// Runs the loop until `done`; false when that has not come in four minutes.
  bool until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{4};
    io.restart();
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io.run_one_for(std::chrono::milliseconds{50});
      if (io.stopped()) io.restart();
    }
    return true;
  }

  boost::asio::io_context io;
  SystemClock clock;
  TestCa ca;
  FakeTree tree;
  mutable FakeApiServer server;
};

inline std::string pod_text(const std::string& name, const std::string& more = "") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"d"},"spec":{"nodeName":"n1")" +
         more + "}}";
}

}  // namespace koordlet::test
