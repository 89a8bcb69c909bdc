#include "modules/status_api/metric_query.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "history_fixture.hpp"
#include "modules/status_api/metric_walk.hpp"

using namespace koordlet;
using namespace koordlet::test;
using status_api::merge_history;
using status_api::parse_functions;

namespace {

constexpr const char* kQuery = "/api/v1/query";
constexpr const char* kPods = "query=pod_cpu_usage";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("status_api/query") {
  TEST_CASE("every function over one window") {
    HistoryBed bed;
    bed.history.put(
        "pod_cpu_usage",
        "u1",
        {{0, 1}, {10, 2}, {20, 3}, {30, 4}, {40, 5}, {50, 6}, {60, 7}, {70, 8}, {80, 9}, {90, 10}});
    const auto body = bed.json_of(
        kQuery,
        "query=pod_cpu_usage&window=10m&func=last,count,mean,min,max,p50,p95,quantile(0.9),rate,"
        "trend");
    CHECK(body.at("metric").as_string() == "pod_cpu_usage");
    CHECK(body.at("unit").as_string() == "milli-cores");
    CHECK(body.at("to_ms").as_int64() - body.at("from_ms").as_int64() == 600'000);
    REQUIRE(body.at("items").as_array().size() == 1);
    const auto& item = body.at("items").as_array()[0];
    CHECK(item.at("labels").at("pod_uid").as_string() == "u1");
    CHECK(item.at("exact").as_bool());
    CHECK(item.at("count").as_int64() == 10);
    CHECK(item.at("lacks").as_object().empty());
    CHECK_FALSE(item.as_object().contains("points"));
    const auto& v = item.at("values");
    CHECK(v.at("last").as_int64() == 10);
    CHECK(v.at("count").as_int64() == 10);
    CHECK(v.at("mean").as_double() == 5.5);
    CHECK(v.at("min").as_int64() == 1);
    CHECK(v.at("max").as_int64() == 10);
    CHECK(v.at("p50").as_int64() == 5);  // T13, nearest rank
    CHECK(v.at("p95").as_int64() == 10);
    CHECK(v.at("quantile(0.9)").as_int64() == 9);
    CHECK(v.at("rate").as_double() == doctest::Approx(0.1));
    CHECK(v.at("trend").at("direction").as_string() == "rising");
    CHECK(v.at("trend").at("slope_per_hour").to_number<double>() == doctest::Approx(360));
  }
  TEST_CASE("not enough samples is an answer of its own: null, and why") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "one", {{0, 7}});
    bed.history.put("pod_cpu_usage", "old", {{-7200, 7}});
    bed.history.put("pod_cpu_usage", "reset", {{0, 7}, {1, 6}});
    const auto body =
        bed.json_of(kQuery, "query=pod_cpu_usage&window=15m&func=last,count,rate,trend");
    const auto& items = body.at("items").as_array();
    REQUIRE(items.size() == 3);
    const auto& old = items[0];
    CHECK(old.at("labels").at("pod_uid").as_string() == "old");
    CHECK(old.at("values").at("last").is_null());
    CHECK(old.at("values").at("count").as_int64() == 0);
    CHECK(old.at("exact").is_null());
    CHECK(old.at("first_ms").is_null());
    CHECK(old.at("lacks").at("last").as_string() == "not enough samples: 0, expected 1 or more");
    const auto& one = items[1];
    CHECK(one.at("values").at("last").as_int64() == 7);
    CHECK(one.at("values").at("rate").is_null());
    CHECK(one.at("lacks").at("rate").as_string() == "not enough samples: 1, expected 2 or more");
    CHECK(one.at("lacks").at("trend").as_string() == "not enough samples: 1, expected 3 or more");
    CHECK(has(std::string{items[2].at("lacks").at("rate").as_string()}, "reset"));
  }
  TEST_CASE("a window is whole: both ends, and nothing outside") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{299, 1}, {300, 2}, {600, 3}, {601, 4}});
    const auto body = bed.json_of(kQuery, "query=pod_cpu_usage&window=5m&func=count,min,max");
    const auto& v = body.at("items").as_array()[0].at("values");
    CHECK(v.at("count").as_int64() == 2);
    CHECK(v.at("min").as_int64() == 2);
    CHECK(v.at("max").as_int64() == 3);
  }
  TEST_CASE("end= moves the window") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{0, 1}, {300, 2}});
    const auto end = (kHour + FakeHistory::seconds(10)).count();
    const auto body =
        bed.json_of(kQuery, fmt::format("query=pod_cpu_usage&window=1m&func=last&end={}", end));
    CHECK(body.at("to_ms").as_int64() == end);
    CHECK(body.at("items").as_array()[0].at("values").at("last").as_int64() == 1);
  }
  TEST_CASE("points stand at multiples of the step; empty ones are null") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{301, 4}, {309, 8}, {335, 5}});
    const auto end = (kHour + FakeHistory::seconds(339)).count();
    const auto body = bed.json_of(
        kQuery,
        fmt::format("query=pod_cpu_usage&window=36s&func=mean,max,p95&step=10s&end={}", end));
    CHECK(body.at("start_ms").as_int64() == (kHour + FakeHistory::seconds(300)).count());
    CHECK(body.at("step_ms").as_int64() == 10'000);
    const auto& points = body.at("items").as_array()[0].at("points");
    CHECK_FALSE(points.as_object().contains("p95"));
    CHECK(json::serialize(points.at("max")) == "[8,null,null,5]");
    CHECK(json::serialize(points.at("mean")) == "[8,null,null,5]");  // 301 s is before the window
  }
  TEST_CASE("points of the mean when no function asked for can be plotted") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{590, 4}});
    const auto body = bed.json_of(kQuery, "query=pod_cpu_usage&window=10s&func=p95&step=10s");
    CHECK(json::serialize(body.at("items").as_array()[0].at("points")) == R"({"mean":[4,null]})");
  }
  TEST_CASE("labels choose series") {
    HistoryBed bed;
    bed.history.put("pod_psi", "u1/cpu/10/some", {{590, 1}});
    bed.history.put("pod_psi", "u1/io/10/some", {{590, 2}});
    bed.history.put("pod_psi", "u2/io/10/some", {{590, 3}});
    const auto body = bed.json_of(
        kQuery, "query=pod_psi%7Bpod_uid=%22u1%22,psi_resource!=%22cpu%22%7D&func=last");
    REQUIRE(body.at("items").as_array().size() == 1);
    CHECK(body.at("items").as_array()[0].at("values").at("last").as_int64() == 2);
    CHECK(bed.json_of(kQuery, "query=pod_psi%7Bpod_uid=%22gone%22%7D")
              .at("items")
              .as_array()
              .empty());
  }
  TEST_CASE("pages: sorted, each series once, total and remaining") {
    HistoryBed bed;
    for (int i = 0; i < 25; ++i)
      bed.history.put("pod_cpu_usage", fmt::format("u{:02}", i), {{590, i}});
    std::vector<std::int64_t> seen;
    std::string query = std::string{kPods} + "&func=last&limit=10", next = query;
    for (int page = 0; page < 3; ++page) {
      const auto body = bed.json_of(kQuery, next);
      CHECK(body.at("total").as_int64() == 25);
      for (const auto& item : body.at("items").as_array())
        seen.push_back(item.at("values").at("last").as_int64());
      CHECK(body.at("remaining").as_int64() == std::max(0, 25 - 10 * (page + 1)));
      if (body.at("continue").is_null()) break;
      next = query + "&continue=" + std::string{body.at("continue").as_string()};
    }
    REQUIRE(seen.size() == 25);
    for (int i = 0; i < 25; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
    CHECK(has(bed.refusal(kQuery, "query=pod_psi&limit=10&" + next.substr(next.find("continue"))),
              "continue: not a token"));
  }
  TEST_CASE("a page ends when its points are many, and goes on with the next series") {
    HistoryBed bed;
    for (int i = 0; i < 30; ++i)
      bed.history.put("pod_cpu_usage", fmt::format("u{:02}", i), {{590, i}});
    const auto body = bed.json_of(kQuery, "query=pod_cpu_usage&func=mean&window=3900s&step=1s");
    CHECK(body.at("items").as_array().size() == 12);  // 50000 / 3901
    CHECK(body.at("remaining").as_int64() == 18);
    CHECK(body.at("continue").is_string());
  }
  TEST_CASE("1e18 and its negative: no overflow") {
    HistoryBed bed;
    constexpr std::int64_t kHuge = 1'000'000'000'000'000'000;
    bed.history.put("pod_memory_usage", "u1", {{590, -kHuge}, {595, kHuge}, {600, 0}});
    const auto body = bed.json_of(
        kQuery, "query=pod_memory_usage&window=1m&func=min,max,rate,trend,mean&step=10s");
    const auto& v = body.at("items").as_array()[0].at("values");
    CHECK(v.at("min").as_int64() == -kHuge);
    CHECK(v.at("max").as_int64() == kHuge);
    CHECK(v.at("rate").to_number<double>() == doctest::Approx(4e17));
    CHECK(v.at("trend").at("direction").as_string() == "flat");
  }
  TEST_CASE("older than the samples: minutes take their place, marked as not exact") {
    HistoryBed bed;
    const store::SeriesKey key{"pod_cpu_usage", "u1"};
    bed.history.put("pod_cpu_usage", "u1", {{330, 10}, {360, 20}, {390, 30}});
    // Minutes 3 to 6; of minute 5 only the half is left as samples.
    bed.history.minutes_of[key] = {{kHour + FakeHistory::minutes(3), 2, 1, 3, 3, 2},
                                   {kHour + FakeHistory::minutes(4), 2, 3, 5, 5, 4},
                                   {kHour + FakeHistory::minutes(5), 2, 6, 10, 10, 8},
                                   {kHour + FakeHistory::minutes(6), 2, 20, 30, 30, 25}};
    const auto body = bed.json_of(kQuery, "query=pod_cpu_usage&window=10m&func=mean,count&step=1m");
    const auto& item = body.at("items").as_array()[0];
    CHECK_FALSE(item.at("exact").as_bool());
    CHECK(json::serialize(item.at("points").at("mean")) ==
          "[null,null,null,2,4,8,25,null,null,null,null]");
    CHECK(json::serialize(item.at("points").at("count")) ==
          "[null,null,null,2,2,2,2,null,null,null,null]");
  }
  TEST_CASE("series of another version are answered by their name and owner") {
    HistoryBed bed;
    bed.history.put("new_kind", "a/b", {{590, 4}});
    const auto body = bed.json_of(kQuery, "query=new_kind&func=last");
    CHECK(body.at("unit").is_null());
    CHECK(body.at("items").as_array()[0].at("labels").at("owner").as_string() == "a/b");
  }
}

TEST_SUITE("status_api/query bad input") {
  TEST_CASE("windows and steps of zero, negative, absurd and unreadable length") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{590, 4}});
    const auto with = [&](const std::string& more) {
      return bed.refusal(kQuery, std::string{kPods} + "&" + more);
    };
    CHECK(with("window=0s") == "window: '0s': expected more than 0 s");
    CHECK(has(with("window=-5m"), "window: expected a duration"));
    CHECK(has(with("window="), "window: expected a duration"));
    CHECK(has(with("window=nan"), "window: expected a duration"));
    CHECK(with("window=32d") == "window: '32d': expected at most 31d");
    CHECK(has(with("window=99999999999999999999d"), "too long"));
    CHECK(has(with("step=0s"), "step: '0s': expected more than 0 s"));
    CHECK(has(with("window=1d&step=1s&func=mean"), "more than 4000 points a series"));
    CHECK(has(with("window=31d&step=1ms"), "more than 1333 points a series for 3 functions"));
    for (const char* end : {"end=x", "end=-1", "end=0", "end=1e18", "end=99999999999999999"})
      CHECK(has(with(end), "expected Unix time in milliseconds"));
  }
  TEST_CASE("functions that are none, and too many") {
    HistoryBed bed;
    for (const char* f : {"",
                          "foo",
                          "mean,",
                          "p",
                          "p101",
                          "p-1",
                          "pnan",
                          "quantile",
                          "quantile()",
                          "quantile(1.1)",
                          "quantile(nan)",
                          "quantile(-0.1)",
                          "quantile(inf)",
                          "quantile(1e-1)",
                          "quantile(0.5"}) {
      CAPTURE(f);
      CHECK(has(bed.refusal(kQuery, std::string{kPods} + "&func=" + f), "expected last, count"));
    }
    CHECK(has(bed.refusal(kQuery, std::string{kPods} + "&func=max,max"), "given twice"));
    std::string many = "p1";
    for (int i = 2; i < 20; ++i) many += fmt::format(",p{}", i);
    CHECK(has(bed.refusal(kQuery, std::string{kPods} + "&func=" + many), "more than 16"));
    CHECK(parse_functions("p99.9").value()[0].quantile == doctest::Approx(0.999));
    CHECK(parse_functions("quantile(0),quantile(1)").has_value());
  }
  TEST_CASE("unknown metrics, labels and parameters: near names in one line") {
    HistoryBed bed;
    CHECK(has(bed.refusal(kQuery, "query=pod_cpu_usge"), "did you mean pod_cpu_usage"));
    CHECK(has(bed.refusal(kQuery, "query=pod_psi%7Bpod_id=%22x%22%7D"), "did you mean pod_uid"));
    CHECK(has(bed.refusal(kQuery, ""), "query: missing"));
    CHECK(has(bed.refusal(kQuery, "query=%7Bpod_uid=%22x%22%7D"), "expected a metric"));
    CHECK(has(bed.refusal(kQuery, "query=pod_psi%7B"), "at byte 9"));
    CHECK(has(bed.refusal(kQuery, "query=pod_psi&windw=5m"), "unknown parameter"));
    CHECK(has(bed.refusal(kQuery, std::string{kPods} + "&limit=0"), "limit"));
    CHECK(has(bed.refusal("/api/v1/series", "match=pod_cpu_usge"), "did you mean"));
    CHECK(has(bed.refusal("/api/v1/series", "by=pod"), "by=metric"));
    CHECK(bed.refusal(kQuery, "query=%FF%FE").find('\xFF') == std::string::npos);
  }
  TEST_CASE("bad requests never reach the store") {
    HistoryBed bed;
    bed.refusal(kQuery, std::string{kPods} + "&window=0s");
    bed.refusal(kQuery, std::string{kPods} + "&func=foo");
    CHECK(bed.history.questions == 0);
  }
  TEST_CASE("a history that is not open is 503, one that throws 500") {
    HistoryBed bed;
    bed.history.failure = Error{Errc::kNotSupported, "metric history is not open"};
    for (const char* path : {"/api/v1/series", "/api/v1/samples"})
      CHECK(has(bed.refusal(path, "", 503), "not open"));
    CHECK(has(bed.refusal(kQuery, kPods, 503), "not open"));
    bed.history.failure.reset();
    bed.history.throws = true;
    CHECK(has(bed.refusal(kQuery, kPods, 500), "no memory"));
  }
  TEST_CASE("no history at all is 503; wrong methods and listeners are refused as elsewhere") {
    boost::asio::io_context io;
    status_api::Router router([] { return StatusView{}; }, {});
    auto request = get("/api/v1/series");
    CHECK(run(io, router.respond(request, status_api::Surface::kApi)).status == 503);
    HistoryBed bed;
    request.method = "POST";
    CHECK(run(bed.io, bed.router.respond(request, status_api::Surface::kApi)).status == 405);
    request.method = "GET";
    CHECK(run(bed.io, bed.router.respond(request, status_api::Surface::kMetrics)).status == 404);
    CHECK(bed.ask("/api/v1/pods").status == 200);
  }
  TEST_CASE(
      "four questions at a hanging disk, the fifth is 503 at once; a cancel frees the place") {
    HistoryBed bed;
    bed.history.hangs = true;
    boost::asio::cancellation_signal stop[4];
    int ended = 0;
    auto request = get("/api/v1/series");
    for (auto& s : stop) {
      boost::asio::co_spawn(bed.io,
                            bed.router.respond(request, status_api::Surface::kApi),
                            boost::asio::bind_cancellation_slot(
                                s.slot(), [&](std::exception_ptr, net::HttpResponse) { ++ended; }));
    }
    bed.io.poll();
    CHECK(bed.refusal("/api/v1/series", "", 503) ==
          "4 queries are under way: expected fewer at once");
    for (auto& s : stop) s.emit(boost::asio::cancellation_type::terminal);
    bed.io.restart();
    bed.io.poll();
    CHECK(ended == 4);
    bed.history.hangs = false;
    CHECK(bed.ask("/api/v1/series").status == 200);
  }
}

TEST_SUITE("status_api/history of both kinds") {
  using store::RollupPoint;
  using store::TimedValue;
  TEST_CASE("samples win where a minute is whole, the minute where it is not") {
    const std::vector<RollupPoint> minutes{{kHour, 2, 1, 2, 2, 1.5},
                                           {kHour + FakeHistory::minutes(1), 2, 3, 4, 4, 3.5},
                                           {kHour + FakeHistory::minutes(2), 2, 5, 6, 6, 5.5}};
    const std::vector<TimedValue> samples{{kHour + FakeHistory::seconds(90), 4},
                                          {kHour + FakeHistory::seconds(120), 5},
                                          {kHour + FakeHistory::seconds(150), 6},
                                          {kHour + FakeHistory::seconds(180), 7}};
    const auto all = merge_history(minutes, samples);
    REQUIRE(all.size() == 5);
    CHECK(all[0].rollup);
    CHECK(all[1].rollup);
    CHECK(all[1].count == 2);
    for (std::size_t i = 2; i < 5; ++i) CHECK_FALSE(all[i].rollup);
    CHECK(all[2].last == 5);
    CHECK(all[4].last == 7);
  }
  TEST_CASE("a minute cut by the end of the window does not take the place of its samples") {
    const std::vector<TimedValue> samples{{kHour, 1}, {kHour + FakeHistory::seconds(60), 2}};
    const std::vector<RollupPoint> minutes{{kHour, 1, 1, 1, 1, 1},
                                           {kHour + FakeHistory::minutes(1), 2, 2, 9, 9, 5}};
    const auto all = merge_history(minutes, samples);
    REQUIRE(all.size() == 2);
    CHECK(all[1].last == 2);
    CHECK_FALSE(all[1].rollup);
  }
  TEST_CASE("one kind alone, and none") {
    CHECK(merge_history({}, {}).empty());
    CHECK(merge_history({{kHour, 1, 1, 1, 1, 1}}, {}).size() == 1);
    CHECK(merge_history({}, {{kHour, 1}}).size() == 1);
  }
}
