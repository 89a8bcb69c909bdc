#pragma once

#include <optional>
#include <string>

#include "modules/status_api/metric_query.hpp"
#include "modules/status_api/metric_walk.hpp"
#include "modules/status_api/series_page.hpp"
#include "net/http_server.hpp"

/// GET /api/v1/samples: what is stored, as it is, for exports. A page ends in the middle of a
/// series when it is full.
namespace koordlet::status_api {

struct SamplesQuery {
  MetricSelector selector;
  MetricWindow window;
  std::optional<PageStart> start;
  std::optional<store::StoredTime> shown_to;  ///< of the first series, by the page before
  std::string filter;
};

/// match= (all series), window=1h, end=, continue=. kParse and kRange with one line.
Result<SamplesQuery> parse_samples(const Parameters& parameters, store::StoredTime now);

/// Text of one page. `query` and `selected` outlive it.
class SamplesPage {
 public:
  static constexpr std::size_t kMaxPoints = 4000;  ///< 200 KB of text
  static constexpr std::size_t kMaxSeries = 1000;  ///< looked at: most may have nothing to show

  SamplesPage(const SamplesQuery& query, const SeriesPage& selected);
  const SamplesQuery& query() const { return query_; }
  const SeriesPage& selected() const { return selected_; }
  bool full() const { return points_ >= kMaxPoints; }
  bool has_begun() const { return open_; }  ///< a point of the series in hand is shown
  void add(const store::SeriesKey& series, const HistoryPoint& point);
  /// No more of this series on this page: it is done, or the page goes on with it after `point`.
  void close(const store::SeriesKey& series, bool done);
  net::HttpResponse finish();

 private:
  const SamplesQuery& query_;
  const SeriesPage& selected_;
  std::string body_, rollups_, token_;
  bool open_ = false;
  std::size_t points_ = 0, samples_ = 0, shown_ = 0, done_ = 0;
  store::StoredTime last_at_{0};
};

/// Fills the page from the source until it is full, or the deadline has passed.
boost::asio::awaitable<Result<void>> write_samples(MetricSource& source,
                                                   SamplesPage& page,
                                                   Deadline deadline);

}  // namespace koordlet::status_api
