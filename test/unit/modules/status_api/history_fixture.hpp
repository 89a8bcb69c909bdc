#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "modules/status_api/metric_source.hpp"
#include "modules/status_api/routes.hpp"
#include "support/async.hpp"
#include "view_fixture.hpp"

namespace koordlet::test {

/// 2026-01-02T03:00:00Z: a whole hour.
inline constexpr store::StoredTime kHour{1'767'322'800'000};

/// History in memory. Samples and roll-ups are what the test puts there; a summary is exact when no
/// roll-up of the window is older than its first sample.
class FakeHistory final : public MetricSource {
 public:
  store::StoredTime time = kHour + minutes(10);
  std::map<store::SeriesKey, std::vector<store::TimedValue>> samples;
  std::map<store::SeriesKey, std::vector<store::RollupPoint>> minutes_of;
  std::optional<Error> failure;
  bool hangs = false;
  bool throws = false;
  std::size_t questions = 0;

  static store::StoredTime minutes(std::int64_t n) { return store::StoredTime{n * 60'000}; }
  static store::StoredTime seconds(std::int64_t n) { return store::StoredTime{n * 1000}; }
  void put(const std::string& kind,
           const std::string& owner,
           std::initializer_list<std::pair<std::int64_t, std::int64_t>> second_and_value) {
    auto& list = samples[{kind, owner}];
    for (const auto& [s, v] : second_and_value) list.push_back({kHour + seconds(s), v});
  }

  store::StoredTime now() const override { return time; }
  Answer<std::vector<store::SeriesKey>> series() override {
    auto ready = co_await enter();
    if (!ready) co_return ready.error();
    std::vector<store::SeriesKey> out;
    for (const auto& [key, list] : samples) out.push_back(key);
    std::reverse(out.begin(), out.end());  // no order is promised
    co_return out;
  }
  Answer<std::optional<store::SeriesSummary>> summarize(store::SeriesKey key,
                                                        store::StoredTime from,
                                                        store::StoredTime to,
                                                        std::vector<double> quantiles) override {
    auto ready = co_await enter();
    if (!ready) co_return ready.error();
    std::vector<std::int64_t> values;
    store::SeriesSummary out;
    double sum = 0;
    const auto add = [&](store::StoredTime at, const auto& v, std::uint64_t count, double mean) {
      if (out.count == 0) out.first_at = at;
      out.min = out.count == 0 ? v.first : std::min(out.min, v.first);
      out.max = out.count == 0 ? v.second : std::max(out.max, v.second);
      out.count += count;
      out.last_at = at;
      sum += mean * static_cast<double>(count);
    };
    for (const auto& r : within(minutes_of[key], from, to)) {
      if (!samples[key].empty() && r.at >= samples[key].front().at) continue;
      add(r.at, std::pair{r.min, r.max}, r.count, r.mean);
      out.last = r.last;
      out.exact = false;
      values.push_back(r.last);
    }
    for (const auto& s : within(samples[key], from, to)) {
      add(s.at, std::pair{s.value, s.value}, 1, static_cast<double>(s.value));
      out.last = s.value;
      values.push_back(s.value);
    }
    if (out.count == 0) co_return std::optional<store::SeriesSummary>{};
    out.mean = sum / static_cast<double>(out.count);
    std::sort(values.begin(), values.end());
    for (const double p : quantiles) {  // nearest rank
      const auto rank = std::ceil(p * static_cast<double>(values.size()) - 1e-9);
      const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
      out.quantiles.push_back(static_cast<double>(values[index]));
    }
    co_return std::optional{std::move(out)};
  }
  Answer<std::vector<store::TimedValue>> range(store::SeriesKey key,
                                               store::StoredTime from,
                                               store::StoredTime to) override {
    auto ready = co_await enter();
    if (!ready) co_return ready.error();
    co_return within(samples[key], from, to);
  }
  Answer<std::vector<store::RollupPoint>> rollups(store::SeriesKey key,
                                                  store::StoredTime from,
                                                  store::StoredTime to) override {
    auto ready = co_await enter();
    if (!ready) co_return ready.error();
    co_return within(minutes_of[key], from, to);
  }

 private:
  template <class T>
  static std::vector<T> within(const std::vector<T>& all,
                               store::StoredTime from,
                               store::StoredTime to) {
    std::vector<T> out;
    for (const auto& p : all) {
      if (from <= p.at && p.at <= to) out.push_back(p);
    }
    return out;
  }
  boost::asio::awaitable<Result<void>> enter() {
    ++questions;
    if (throws) throw std::runtime_error{"no memory"};
    if (hangs) {
      boost::asio::steady_timer never{co_await boost::asio::this_coro::executor,
                                      boost::asio::steady_timer::time_point::max()};
      co_await never.async_wait(boost::asio::use_awaitable);
    }
    Result<void> out;
    if (failure) out = *failure;
    co_return out;
  }
};

/// A router over a fake history.
struct HistoryBed {
  FakeHistory history;
  boost::asio::io_context io;
  status_api::Router router{[] { return StatusView{}; }, {}, &history};

  net::HttpResponse ask(const std::string& path, const std::string& query = "") {
    auto request = get(path);
    request.query = query;
    return run(io, router.respond(request, status_api::Surface::kApi));
  }
  json::value json_of(const std::string& path, const std::string& query = "") {
    const auto response = ask(path, query);
    if (response.status != 200) throw std::runtime_error{response.body};
    return json::parse(response.body);
  }
  /// The reason of a 400 (or another status).
  std::string refusal(const std::string& path, const std::string& query, unsigned status = 400) {
    const auto response = ask(path, query);
    if (response.status != status)
      throw std::runtime_error{fmt::format("status {}: {}", response.status, response.body)};
    const auto body = json::parse(response.body);
    return std::string{body.at("detail").as_string()};
  }
};

}  // namespace koordlet::test
