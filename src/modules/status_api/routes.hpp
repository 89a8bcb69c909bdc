#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "modules/status_api/metric_routes.hpp"
#include "modules/status_api/prometheus.hpp"
#include "modules/status_api/status_view.hpp"
#include "net/http_server.hpp"

namespace koordlet::status_api {

/// Which listener a request came through.
enum class Surface {
  kApi,      ///< unix socket and loopback TCP: everything (restore on the socket only)
  kMetrics,  ///< /metrics, /healthz, /readyz
};

/// The answer to a GET from the view alone; no I/O, no state. /metrics is the Router's.
net::HttpResponse answer(const StatusView& view, const net::HttpRequest& request);

/// From request to response. Asks for a view only when the path and the method are right and the
/// answer needs one. What a source throws is answered with 500: a request never ends the loop.
class Router {
 public:
  using ViewSource = std::function<StatusView()>;
  using Restore = std::function<std::vector<Outcome>()>;
  /// `metrics` outlives the router; nullptr: no history is kept, its endpoints answer 503.
  Router(ViewSource view, Restore restore, MetricSource* metrics = nullptr)
      : view_{std::move(view)}, restore_{std::move(restore)} {
    if (metrics != nullptr) history_.emplace(*metrics);
  }
  /// Every answer that needs no waiting; 503 for those that do.
  net::HttpResponse handle(const net::HttpRequest& request, Surface surface);
  /// All answers. The router outlives the coroutine.
  boost::asio::awaitable<net::HttpResponse> respond(net::HttpRequest request, Surface surface);

 private:
  /// Why this request is not answered at all.
  std::optional<net::HttpResponse> refusal(const net::HttpRequest& request, Surface surface);
  net::HttpResponse dispatch(const net::HttpRequest& request, Surface surface);
  net::HttpResponse restore(const net::HttpRequest& request);

  ViewSource view_;
  Restore restore_;
  MetricsExporter metrics_;
  std::optional<MetricRoutes> history_;
};

}  // namespace koordlet::status_api
