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
  Impl(asio::any_io_executor executor, Config c, ViewSource view, Restore restore)
      : ex{std::move(executor)},
        config{std::move(c)},
        router{std::move(view), std::move(restore)},
        api{ex,
            [this](const net::HttpRequest& r) { return router.handle(r, Surface::kApi); },
            net::HttpServer::Limits{}},
        metrics{ex,
                [this](const net::HttpRequest& r) { return router.handle(r, Surface::kMetrics); },
                net::HttpServer::Limits{}} {}

  asio::any_io_executor ex;
  Config config;
  Router router;
  net::HttpServer api;
  net::HttpServer metrics;
};

StatusApi::StatusApi(asio::any_io_executor ex, Config config, ViewSource view, Restore restore)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), std::move(view), std::move(restore))} {}

StatusApi::~StatusApi() = default;

Result<void> StatusApi::open() {
  const auto& config = impl_->config;
  if (!config.socket.empty()) {
    if (auto r = impl_->api.listen_unix(config.socket); !r) {
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

asio::awaitable<void> StatusApi::run() {
  using asio::experimental::awaitable_operators::operator&&;
  const bool has_api = !impl_->config.socket.empty() || !impl_->config.listen.empty();
  const bool has_metrics = !impl_->config.metrics_listen.empty();
  if (has_api && has_metrics) {
    auto api = impl_->api.run();
    auto metrics = impl_->metrics.run();
    auto both = std::move(api) && std::move(metrics);
    co_await std::move(both);
  } else if (has_api) {
    co_await impl_->api.run();
  } else if (has_metrics) {
    co_await impl_->metrics.run();
  } else {
    asio::steady_timer never{impl_->ex, asio::steady_timer::time_point::max()};
    co_await never.async_wait(reactor::use_ec);
  }
}

std::string StatusApi::listen_address() const { return impl_->api.tcp_address(); }
std::string StatusApi::metrics_address() const { return impl_->metrics.tcp_address(); }

}  // namespace koordlet
