#include "modules/status_api/status_api.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

#include "modules/status_api/routes.hpp"
#include "net/http_server.hpp"
#include "reactor/task_group.hpp"

namespace koordlet {

namespace asio = boost::asio;
using status_api::Router;
using status_api::Surface;

struct StatusApi::Impl {
  Impl(asio::any_io_executor executor,
       Config c,
       ViewSource view,
       Restore restore,
       MetricSource* history)
      : ex{std::move(executor)},
        config{std::move(c)},
        router{std::move(view), std::move(restore), history},
        socket{ex, answering(Surface::kApi), net::HttpServer::Limits{}},
        api{ex, answering(Surface::kApi), net::HttpServer::Limits{}},
        metrics{ex, answering(Surface::kMetrics), net::HttpServer::Limits{}} {}

  net::HttpServer::AsyncHandler answering(Surface surface) {
    return [this, surface](net::HttpRequest r) { return router.respond(std::move(r), surface); };
  }
  asio::awaitable<void> serve(net::HttpServer& server, bool configured);

  asio::any_io_executor ex;
  Config config;
  Router router;
  // A server each, so that no crowd on one listener takes the connections of another: any local
  // user reaches loopback, and root's socket must answer all the same.
  net::HttpServer socket;
  net::HttpServer api;
  net::HttpServer metrics;
};

StatusApi::StatusApi(asio::any_io_executor ex,
                     Config config,
                     ViewSource view,
                     Restore restore,
                     MetricSource* metrics)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), std::move(view), std::move(restore), metrics)} {}

StatusApi::~StatusApi() = default;

Result<void> StatusApi::open() {
  const auto& config = impl_->config;
  if (!config.socket.empty()) {
    if (auto r = impl_->socket.listen_unix(config.socket); !r) {
      return wrap("status.socket " + config.socket, r.error());
    }
  }
  if (!config.listen.empty()) {
    if (auto r = impl_->api.listen_tcp(config.listen); !r) {
      return wrap("status.listen " + config.listen, r.error());
    }
  }
  if (!config.metrics_listen.empty()) {
    if (auto r = impl_->metrics.listen_tcp(config.metrics_listen); !r) {
      return wrap("metrics.listen " + config.metrics_listen, r.error());
    }
  }
  return {};
}

/// A listener that is not configured waits for the cancel, as the others do.
asio::awaitable<void> StatusApi::Impl::serve(net::HttpServer& server, bool configured) {
  if (configured) {
    co_await server.run();
    co_return;
  }
  asio::steady_timer never{ex, asio::steady_timer::time_point::max()};
  co_await never.async_wait(reactor::use_ec);
}

asio::awaitable<void> StatusApi::run() {
  using asio::experimental::awaitable_operators::operator&&;
  auto socket = impl_->serve(impl_->socket, !impl_->config.socket.empty());
  auto api = impl_->serve(impl_->api, !impl_->config.listen.empty());
  auto metrics = impl_->serve(impl_->metrics, !impl_->config.metrics_listen.empty());
  auto two = std::move(socket) && std::move(api);
  auto all = std::move(two) && std::move(metrics);
  co_await std::move(all);
}

std::string StatusApi::listen_address() const { return impl_->api.tcp_address(); }
std::string StatusApi::metrics_address() const { return impl_->metrics.tcp_address(); }

}  // namespace koordlet
