#pragma once

#include <cstddef>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "modules/status_api/metric_source.hpp"
#include "net/http_server.hpp"

namespace koordlet::status_api {

/// GET /api/v1/series, /api/v1/query and /api/v1/samples. Reading happens in the source, a piece at
/// a time; the loop only does the arithmetic of a piece. Bounded in time (503), in answers under
/// way (503) and in size (pages). `source` outlives it.
class MetricRoutes {
 public:
  static constexpr std::size_t kMaxUnderWay = 4;
  explicit MetricRoutes(MetricSource& source) : source_{source} {}
  static bool serves(std::string_view path);
  boost::asio::awaitable<net::HttpResponse> respond(net::HttpRequest request);

 private:
  boost::asio::awaitable<net::HttpResponse> guarded(const net::HttpRequest& request);
  boost::asio::awaitable<net::HttpResponse> series(std::string_view query);
  boost::asio::awaitable<net::HttpResponse> metrics(std::vector<store::SeriesKey> all);
  boost::asio::awaitable<net::HttpResponse> query(std::string_view query);
  boost::asio::awaitable<net::HttpResponse> samples(std::string_view query);

  MetricSource& source_;
  std::size_t under_way_ = 0;
};

}  // namespace koordlet::status_api
