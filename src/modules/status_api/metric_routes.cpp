#include "modules/status_api/metric_routes.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <variant>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "model/metric_kind.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/list_writer.hpp"
#include "modules/status_api/metric_answer.hpp"
#include "modules/status_api/metric_samples.hpp"
#include "modules/status_api/series_page.hpp"

namespace koordlet::status_api {
namespace {

namespace asio = boost::asio;
using net::HttpRequest;
using net::HttpResponse;

constexpr std::string_view kSeries = "/api/v1/series";
constexpr std::string_view kQuery = "/api/v1/query";
constexpr std::string_view kSamples = "/api/v1/samples";
// The command line waits 10 s. A page ends after the first of these, a disk that hangs is given up
// after the second.
constexpr std::chrono::milliseconds kPageTime{4000};
constexpr std::chrono::milliseconds kAnswerTime{8000};

/// Counts itself among the answers under way, also when it is cancelled.
class UnderWay {
 public:
  explicit UnderWay(std::size_t& count) : count_{count} { ++count_; }
  ~UnderWay() { --count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::size_t& count_;
};

HttpResponse refused(const Error& error) {
  const bool asked_wrong =
      error.code == Errc::kParse || error.code == Errc::kRange || error.code == Errc::kNotFound;
  return problem(asked_wrong ? 400 : 503, error.context);
}

/// Names that the registry does not have are a fault, unless the store has such series (of another
/// version).
Result<void> check_selector(const MetricSelector& selector, bool matched) {
  const bool foreign = matched && find_metric_kind(selector.metric) == nullptr;
  return foreign && !selector.metric.empty() ? Result<void>{} : check_names(selector);
}

std::optional<PageStart> start_of(const Page& page) {
  if (!page.after) return std::nullopt;
  return PageStart{series_named(*page.after), false};
}

json::object query_head(const MetricQuery& query) {
  json::object out;
  out["metric"] = text_value(query.selector.metric, {});
  out["unit"] = unit_json(query.selector.metric);
  out["from_ms"] = query.from.count();
  out["to_ms"] = query.to.count();
  if (query.grid) {
    out["start_ms"] = query.grid->start_ms;
    out["step_ms"] = query.grid->step_ms;
  }
  return out;
}

}  // namespace

bool MetricRoutes::serves(std::string_view path) {
  return path == kSeries || path == kQuery || path == kSamples;
}

asio::awaitable<HttpResponse> MetricRoutes::respond(HttpRequest request) {
  using asio::experimental::awaitable_operators::operator||;
  if (under_way_ >= kMaxUnderWay)
    co_return problem(
        503, fmt::format("{} queries are under way: expected fewer at once", kMaxUnderWay));
  const UnderWay counted{under_way_};
  asio::steady_timer patience{co_await asio::this_coro::executor, kAnswerTime};
  auto answer = guarded(request);
  auto late = patience.async_wait(asio::use_awaitable);
  auto either = std::move(answer) || std::move(late);
  auto done = co_await std::move(either);
  if (done.index() == 0) co_return std::get<0>(std::move(done));
  co_return problem(503, "the metric store does not answer in time");
}

/// What a source throws is answered, or the race against the timer would go on without it.
asio::awaitable<HttpResponse> MetricRoutes::guarded(const HttpRequest& request) {
  HttpResponse out;
  try {
    if (request.path == kSeries) {
      out = co_await series(request.query);
    } else if (request.path == kQuery) {
      out = co_await query(request.query);
    } else {
      out = co_await samples(request.query);
    }
  } catch (const std::exception& e) {
    out = problem(500, fmt::format("{}: {}", request.path, e.what()));
  }
  co_return out;
}

asio::awaitable<HttpResponse> MetricRoutes::series(std::string_view query) {
  const auto parameters = parse_query(query, {"match", "by", "limit", "continue"});
  if (!parameters) co_return refused(parameters.error());
  MetricSelector selector;
  const auto match = parameters->find("match");
  if (match != parameters->end() && !match->second.empty()) {
    auto parsed = parse_selector(match->second);
    if (!parsed) co_return problem(400, parsed.error().context);
    selector = std::move(*parsed);
  }
  const auto by = parameters->find("by");
  if (by != parameters->end() && (by->second != "metric" || parameters->size() > 1))
    co_return problem(400, "by: expected by=metric, alone");
  const auto filter = "series " + selector.text();
  const auto page = parse_page(*parameters, filter);
  if (!page) co_return refused(page.error());
  auto all = co_await source_.series();
  if (!all) co_return refused(all.error());
  if (by != parameters->end()) {
    auto counted = co_await metrics(std::move(*all));
    co_return counted;
  }
  auto selected = co_await select_series(
      std::move(*all), selector, start_of(*page), static_cast<std::size_t>(page->limit));
  const auto known = check_selector(selector, selected.matched > 0);
  if (!known) co_return refused(known.error());
  ListWriter writer{"items", *page, selected.series.size()};
  for (std::size_t i = 0; i < selected.before; ++i) writer.take(false);
  for (std::size_t i = 0; i < selected.matched - selected.before; ++i) {
    const bool shown = writer.take(true);
    if (!shown) continue;
    if (i % 256 == 255) co_await asio::post(asio::use_awaitable);
    const auto& key = selected.series[i];
    const json::object item{{"metric", text_value(key.kind, {})},
                            {"unit", unit_json(key.kind)},
                            {"labels", labels_json(key)}};
    writer.add(item, series_name(key));
  }
  co_return writer.finish(filter);
}

/// The metrics that have series, by name, with their number.
asio::awaitable<HttpResponse> MetricRoutes::metrics(std::vector<store::SeriesKey> all) {
  std::map<std::string_view, std::size_t> counts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 1024 == 1023) co_await asio::post(asio::use_awaitable);
    ++counts[all[i].kind];
  }
  ListWriter writer{"items", Page{Page::kMaxLimit, std::nullopt}, counts.size()};
  for (const auto& [name, count] : counts) {
    const bool shown = writer.take(true);
    if (!shown) continue;
    const auto* kind = find_metric_kind(name);
    json::array labels;
    json::value about = nullptr;
    if (kind != nullptr) {
      for (const auto label : kind->labels()) labels.emplace_back(label);
      about = kind->about;
    }
    const json::object item{{"metric", text_value(name, {})},
                            {"unit", unit_json(name)},
                            {"labels", std::move(labels)},
                            {"about", std::move(about)},
                            {"series", static_cast<std::uint64_t>(count)}};
    writer.add(item, name);
  }
  co_return writer.finish("by=metric");
}

asio::awaitable<HttpResponse> MetricRoutes::query(std::string_view text) {
  const auto parameters = parse_query(text, metric_query_parameters());
  if (!parameters) co_return refused(parameters.error());
  const auto query = parse_metric_query(*parameters, source_.now());
  if (!query) co_return refused(query.error());
  auto page = query->page;
  if (query->grid) {
    const auto points = query->grid->size * query->plotted.size();
    const auto most = std::max<std::size_t>(1, MetricQuery::kMaxPagePoints / points);
    page.limit = std::min(page.limit, static_cast<std::int64_t>(most));
  }
  auto all = co_await source_.series();
  if (!all) co_return refused(all.error());
  const auto selected = co_await select_series(
      std::move(*all), query->selector, start_of(page), static_cast<std::size_t>(page.limit));
  const auto known = check_selector(query->selector, selected.matched > 0);
  if (!known) co_return refused(known.error());
  const auto deadline = std::chrono::steady_clock::now() + kPageTime;
  ListWriter writer{"items", page, selected.series.size()};
  for (std::size_t i = 0; i < selected.before; ++i) writer.take(false);
  for (std::size_t i = 0; i < selected.matched - selected.before; ++i) {
    if (i > 0 && std::chrono::steady_clock::now() > deadline) writer.stop();
    const bool shown = writer.take(true);
    if (!shown) continue;
    const auto answer = co_await answer_series(source_, *query, selected.series[i], deadline);
    if (!answer && answer.error().code == Errc::kBusy && i > 0) {
      // The page before it stands; this series is the first of the next one.
      writer.give_back();
      continue;
    }
    if (!answer) co_return refused(answer.error());
    writer.add(series_answer_json(*query, *answer), series_name(answer->series));
  }
  co_return writer.finish(query->filter, query_head(*query));
}

asio::awaitable<HttpResponse> MetricRoutes::samples(std::string_view text) {
  const auto parameters = parse_query(text, {"match", "window", "end", "continue"});
  if (!parameters) co_return refused(parameters.error());
  const auto asked = parse_samples(*parameters, source_.now());
  if (!asked) co_return refused(asked.error());
  auto all = co_await source_.series();
  if (!all) co_return refused(all.error());
  const auto selected = co_await select_series(
      std::move(*all), asked->selector, asked->start, SamplesPage::kMaxSeries);
  const auto known = check_selector(asked->selector, selected.matched > 0);
  if (!known) co_return refused(known.error());
  SamplesPage page{*asked, selected};
  const auto deadline = std::chrono::steady_clock::now() + kPageTime;
  auto written = co_await write_samples(source_, page, deadline);
  if (!written) co_return refused(written.error());
  co_return page.finish();
}

}  // namespace koordlet::status_api
