// What the CRI proxy adds to a call: runtime.v1 Version, one at a time, through it and without it.
// Client, proxy and runtime have a thread and a loop each, as they have a process each on a node.
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "bench/cri_calls.hpp"
#include "bench/report.hpp"
#include "net/grpc_forward.hpp"
#include "net/http2_server.hpp"
#include "support/fake_cri_server.hpp"

namespace {

using namespace koordlet;
namespace asio = boost::asio;

constexpr int kCalls = 10'000, kWarm = 500;

/// A loop with its thread; what runs on it is made and ended there.
class Loop {
 public:
  explicit Loop(std::function<std::shared_ptr<void>(asio::io_context&)> make)
      : thread_{[this, make = std::move(make)] {
          auto guest = make(io_);
          ready_.store(true);
          const auto work = asio::make_work_guard(io_);
          io_.run();
          guest.reset();
        }} {
    while (!ready_.load()) std::this_thread::yield();
  }
  ~Loop() {
    io_.stop();
    thread_.join();
  }

 private:
  asio::io_context io_;
  std::atomic<bool> ready_{false};
  std::thread thread_;
};

struct Proxy {
  Proxy(asio::io_context& io, const std::string& listen, std::string runtime)
      : upstream{io.get_executor(), std::move(runtime)},
        forward{io.get_executor(), upstream, nullptr, {}},
        server{io.get_executor(), {}, [this](const auto& stream) { forward.take(stream); }} {
    server.listen_unix(listen).value();
    asio::co_spawn(io, server.run(), asio::detached);
  }
  net::GrpcUpstream upstream;
  net::GrpcForward forward;
  net::Http2Server server;
};

std::vector<double> measure(const std::string& socket) {
  bench::CriCaller caller{socket};
  return bench::version_times(caller, kWarm, kCalls);
}

}  // namespace

int main() {
  const auto folder = fmt::format("/tmp/koordlet-bench-cri-{}", ::getpid());
  std::filesystem::create_directory(folder);
  {
    const auto runtime_socket = folder + "/r", proxy_socket = folder + "/p";
    const Loop runtime{[&](asio::io_context& io) {
      test::GrpcAnswer answer;
      answer.body = test::grpc_message("\n\0030.1\022\ncontainerd");
      return std::make_shared<test::FakeCriServer>(
          io.get_executor(), runtime_socket, [answer](const test::GrpcCall&) { return answer; });
    }};
    const Loop proxy{[&](asio::io_context& io) {
      return std::make_shared<Proxy>(io, proxy_socket, runtime_socket);
    }};
    const auto direct = measure(runtime_socket), through = measure(proxy_socket);
    bench::print("cri_proxy_call",
                 bench::quantile(through, 0.5),
                 "us (median, 10k calls)",
                 bench::quantile(direct, 0.5));
    bench::print("cri_proxy_call_p99",
                 bench::quantile(through, 0.99),
                 "us (p99)",
                 bench::quantile(direct, 0.99));
  }
  std::filesystem::remove_all(folder);
  return 0;
}
