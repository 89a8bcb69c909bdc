#include "modules/status_api/metric_samples.hpp"

#include <algorithm>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/metric_answer.hpp"

namespace koordlet::status_api {
namespace {

namespace asio = boost::asio;

/// What a token remembers: the last time that was shown, or nothing for a series that is done.
std::string mark(const store::SeriesKey& series, std::optional<store::StoredTime> at) {
  return (at ? std::to_string(at->count()) : std::string{}) + '\0' + series_name(series);
}

Result<void> read_mark(std::string_view text, SamplesQuery& out) {
  const auto cut = std::min(text.find('\0'), text.size());
  const auto time = text.substr(0, cut);
  const auto series = series_named(text.substr(std::min(cut + 1, text.size())));
  out.start = PageStart{series, !time.empty()};
  if (time.empty()) return {};
  const auto at = parse_i64(time);
  if (!at) return wrap("continue", at.error());
  out.shown_to = store::StoredTime{*at};
  return {};
}

}  // namespace

Result<SamplesQuery> parse_samples(const Parameters& parameters, store::StoredTime now) {
  SamplesQuery out;
  const auto match = parameters.find("match");
  if (match != parameters.end() && !match->second.empty()) {
    auto selector = parse_selector(match->second);
    if (!selector) return selector.error();
    out.selector = std::move(*selector);
  }
  const auto window = parse_metric_window(parameters, "1h", now);
  if (!window) return window.error();
  out.window = *window;
  out.filter = "samples " + out.selector.text();
  const auto page = parse_page(parameters, out.filter);
  if (!page) return page.error();
  if (page->after) {
    if (const auto read = read_mark(*page->after, out); !read) return read.error();
  }
  return out;
}

SamplesPage::SamplesPage(const SamplesQuery& query, const SeriesPage& selected)
    : query_{query}, selected_{selected}, body_{"{\"items\":["} {
  body_.reserve(64 * 1024);
}

void SamplesPage::add(const store::SeriesKey& series, const HistoryPoint& p) {
  if (!open_) {
    if (shown_++ > 0) body_ += ',';
    const json::object head{{"metric", text_value(series.kind, {})},
                            {"unit", unit_json(series.kind)},
                            {"labels", labels_json(series)}};
    const auto text = json::serialize(head);
    body_ += std::string_view{text}.substr(0, text.size() - 1);
    body_ += ",\"samples\":[";
    open_ = true;
    samples_ = 0;
    rollups_.clear();
  }
  ++points_;
  last_at_ = p.at;
  if (p.rollup) {
    fmt::format_to(std::back_inserter(rollups_),
                   "{}[{},{},{},{},{},{}]",
                   rollups_.empty() ? "" : ",",
                   p.at.count(),
                   p.count,
                   p.min,
                   p.max,
                   p.mean,
                   p.last);
  } else {
    fmt::format_to(
        std::back_inserter(body_), "{}[{},{}]", samples_++ == 0 ? "" : ",", p.at.count(), p.last);
  }
}

void SamplesPage::close(const store::SeriesKey& series, bool done) {
  if (open_) {
    body_ += "],\"rollups\":[";
    body_ += rollups_;
    body_ += "]}";
  }
  token_ = mark(series, done ? std::nullopt : std::optional{last_at_});
  if (done) ++done_;
  open_ = false;
}

net::HttpResponse SamplesPage::finish() {
  const auto done = selected_.before + done_;
  json::object rest{{"from_ms", query_.window.from.count()},
                    {"to_ms", query_.window.to.count()},
                    {"series", selected_.matched},
                    {"series_done", done},
                    {"continue", nullptr}};
  if (done < selected_.matched) rest["continue"] = make_token(token_, query_.filter);
  const auto text = json::serialize(rest);
  body_ += "],";
  body_ += std::string_view{text}.substr(1);
  body_ += '\n';
  net::HttpResponse out;
  out.body = std::move(body_);
  return out;
}

asio::awaitable<Result<void>> write_samples(MetricSource& source,
                                            SamplesPage& page,
                                            Deadline deadline) {
  const auto& query = page.query();
  bool first = true;
  for (const auto& series : page.selected().series) {
    const bool late = std::chrono::steady_clock::now() > deadline;
    if (page.full() || (late && !first)) break;
    auto from = query.window.from;
    if (query.shown_to && query.start && query.start->series == series)
      from = std::max(from, *query.shown_to + store::StoredTime{1});
    first = false;
    const auto summary = co_await source.summarize(series, from, query.window.to, {});
    if (!summary) co_return summary.error();
    bool whole = true;
    if (*summary) {
      auto visit = [&](const HistoryPoint& p) {
        whole = !page.full();
        if (whole) page.add(series, p);
        return whole;
      };
      const auto window = narrow(from, query.window.to, **summary);
      const auto walked = co_await walk_series(source, series, window, deadline, std::move(visit));
      const bool late_now = !walked && walked.error().code == Errc::kBusy;
      if (late_now && page.has_begun()) {
        page.close(series, false);
        co_return Result<void>{};
      }
      if (!walked) co_return walked.error();
    }
    page.close(series, whole);
  }
  co_return Result<void>{};
}

}  // namespace koordlet::status_api
