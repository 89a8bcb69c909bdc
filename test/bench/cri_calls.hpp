#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "net/grpc_client.hpp"
#include "support/async.hpp"

/// Calls of the CRI, one at a time, and how long they took.
namespace koordlet::bench {

inline constexpr std::chrono::seconds kPatience{60};
inline const std::string kRuntimeService = "/runtime.v1.RuntimeService/";

struct CriCaller {
  explicit CriCaller(const std::string& socket)
      : client{io.get_executor(), {socket, kPatience, 16u << 20}} {}
  std::string call(const std::string& method, const std::string& message) {
    auto out = test::run(io, net::grpc_call(client, kRuntimeService + method, message, kPatience));
    if (!out) throw std::runtime_error{out.error().context};
    return std::move(*out);
  }
  /// The call's time, us.
  double time(const std::string& method,
              const std::string& message,
              std::string* answer = nullptr) {
    const auto start = std::chrono::steady_clock::now();
    auto out = call(method, message);
    const auto took = std::chrono::steady_clock::now() - start;
    if (answer != nullptr) *answer = std::move(out);
    return std::chrono::duration<double, std::micro>(took).count();
  }
  boost::asio::io_context io;
  net::Http2Client client;
};

inline std::vector<double> version_times(CriCaller& to, int warm, int count) {
  std::vector<double> us;
  for (int i = 0; i < warm + count; ++i) {
    const auto took = to.time("Version", "\n\2v1");
    if (i >= warm) us.push_back(took);
  }
  return us;
}

inline double quantile(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

}  // namespace koordlet::bench
