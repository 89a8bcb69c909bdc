#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "app/export_text.hpp"
#include "app/json_path.hpp"
#include "app/query_command.hpp"
#include "app/query_options.hpp"
#include "app/render.hpp"
#include "base/parse.hpp"
#include "kernel/fd.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

/// Answers of a daemon, in turn; the targets that were asked for.
struct Script {
  std::vector<net::HttpResponse> answers;
  std::vector<std::string> asked;
  Ask ask() {
    return [this](const std::string&, const std::string& target) -> Result<net::HttpResponse> {
      asked.push_back(target);
      if (asked.size() > answers.size()) return Error{Errc::kNotFound, "nothing listens there"};
      return answers[asked.size() - 1];
    };
  }
  void add(std::string body, unsigned status = 200) {
    answers.push_back({status, "application/json", std::move(body)});
  }
};

CommandLine query_of(std::string metric, bool as_json = false) {
  CommandLine out;
  out.verb = Verb::kQuery;
  out.json = as_json;
  out.query.metric = std::move(metric);
  return out;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kMetrics = R"({"items": [
  {"metric": "node_cpu_usage", "unit": "milli-cores", "labels": [], "about": "CPU", "series": 1},
  {"metric": "pod_psi", "unit": "permille", "about": "stalls", "series": 12,
   "labels": ["pod_uid", "psi_resource"]}]})";

constexpr const char* kAnswer = R"({"metric": "pod_cpu_usage", "unit": "milli-cores",
 "from_ms": 1000000, "to_ms": 4600000, "continue": null, "items": [
  {"labels": {"pod_uid": "u1"}, "count": 9, "exact": true,
   "values": {"last": 1500, "mean": 1234.4, "p95": 1600, "max": 2000,
              "trend": {"direction": "rising", "slope_per_hour": 250.0}},
   "lacks": {}, "points": {"last": [9], "mean": [1, null, 8], "max": [1]}},
  {"labels": {"pod_uid": "u2"}, "count": 0, "exact": null,
   "values": {"last": null, "mean": null, "p95": null, "max": null, "trend": null},
   "lacks": {"last": "not enough samples: 0, expected 1 or more"},
   "points": {"mean": [null, null, null]}}]})";

}  // namespace

TEST_SUITE("query command") {
  TEST_CASE("one row a series: cores, trend arrow, sparkline; what is not known is '-'") {
    Script daemon;
    daemon.add(kAnswer);
    const auto out = run_query(query_of("pod_cpu_usage"), "/s", daemon.ask());
    CHECK(out.exit_code == 0);
    CHECK(out.out ==
          "pod_cpu_usage, cores, last 1 h 0 min\n"
          "POD_UID  LAST   MEAN  P95  MAX  TREND      HISTORY\n"
          "u1        1.5  1.234  1.6    2  ↑ +0.25/h  |▁ █|\n"
          "u2          -      -    -    -  -          |   |\n");
  }
  TEST_CASE("the question: selector, window, functions, and a step for 32 blocks") {
    Script daemon;
    daemon.add(kAnswer);
    auto command = query_of("pod_psi{psi_degree=\"some\"}");
    command.query.labels = {"pod_uid=a\"b"};
    command.query.window = "64m";
    CHECK(run_query(command, "/s", daemon.ask()).exit_code == 0);
    REQUIRE(daemon.asked.size() == 1);
    CHECK(daemon.asked[0] ==
          "/api/v1/query?query=pod_psi%7Bpsi_degree%3D%22some%22,pod_uid%3D%22a%5C%22b%22%7D"
          "&window=64m&func=last,mean,p95,max,trend&step=120000ms");
  }
  TEST_CASE("a short window has a block a second") {
    Script daemon;
    daemon.add(kAnswer);
    auto command = query_of("pod_cpu_usage");
    command.query.window = "5s";
    run_query(command, "/s", daemon.ask());
    CHECK(has(daemon.asked[0], "&step=1000ms"));
  }
  TEST_CASE("pages are one answer, and end where the first one ended") {
    Script daemon;
    daemon.add(R"({"to_ms": 77, "continue": "tok", "items": [{"labels": {}}]})");
    daemon.add(R"({"to_ms": 99, "continue": null, "items": [{"labels": {}}, {"labels": {}}]})");
    const auto out = run_query(query_of("node_cpu_usage", true), "/s", daemon.ask());
    const auto body = boost::json::parse(out.out);
    CHECK(json_array(body, "items").size() == 3);
    CHECK(json_integer(body, "to_ms") == 77);
    REQUIRE(daemon.asked.size() == 2);
    CHECK(daemon.asked[1].ends_with("&end=77&continue=tok"));
  }
  TEST_CASE("without a metric: the metrics with the number of their series") {
    Script daemon;
    daemon.add(kMetrics);
    const auto out = run_query(query_of(""), "/s", daemon.ask());
    CHECK(daemon.asked[0] == "/api/v1/series?by=metric");
    CHECK(out.out ==
          "METRIC          SERIES  UNIT         LABELS                 WHAT\n"
          "node_cpu_usage       1  milli-cores  -                      CPU\n"
          "pod_psi             12  permille     pod_uid, psi_resource  stalls\n");
  }
  TEST_CASE("no daemon, a refusal, no JSON: one line, exit 1") {
    Script nobody;
    const auto none = run_query(query_of("pod_cpu_usage"), "/s", nobody.ask());
    CHECK(none.exit_code == 1);
    CHECK(none.err == "koordlet is not running: no answer on /s\n");
    Script refusing;
    refusing.add(R"({"detail": "metric 'x': unknown; did you mean y?"})", 400);
    CHECK(run_query(query_of("x"), "/s", refusing.ask()).err ==
          "koordlet: metric 'x': unknown; did you mean y?\n");
    Script odd;
    odd.add("<html>");
    CHECK(has(run_query(query_of("x"), "/s", odd.ask()).err, "not JSON"));
  }
  TEST_CASE("an answer of another shape is shown as far as it is known, and never a crash") {
    for (const char* body :
         {"{}",
          "[]",
          "null",
          R"({"items": 3})",
          R"({"items": [null, 3, {}, {"labels": 3, "values": [], "points": 1}]})",
          R"({"items": [{"values": {"last": "x"}, "points": {"mean": 3}}]})",
          R"({"items": [{"values": {"last": 1e300}, "points": {}}],
                                 "unit": "bytes", "from_ms": "x"})"}) {
      CAPTURE(body);
      Script daemon;
      daemon.add(body);
      CHECK(run_query(query_of("pod_cpu_usage"), "/s", daemon.ask()).exit_code == 0);
      Script metrics;
      metrics.add(body);
      CHECK(run_query(query_of(""), "/s", metrics.ask()).exit_code == 0);
    }
  }
  TEST_CASE("labels from the store cannot steer the terminal") {
    const auto text = render_query(boost::json::parse(
        R"({"items": [{"labels": {"a\u001b[2J": "x\u001b[31m"}, "values": {"last": 1}}]})"));
    CHECK(text.find('\x1b') == std::string::npos);
  }
}

TEST_SUITE("query flags") {
  TEST_CASE("a query with everything") {
    const auto c = parse_command_line({"query",
                                       "pod_psi",
                                       "--label",
                                       "pod_uid=u1",
                                       "--label=psi_degree=some",
                                       "--window",
                                       "1h30m",
                                       "--func",
                                       "mean,p99",
                                       "--step",
                                       "1m"});
    REQUIRE(c.has_value());
    CHECK(c->verb == Verb::kQuery);
    CHECK(c->query.labels == std::vector<std::string>{"pod_uid=u1", "psi_degree=some"});
    CHECK(c->query.window == "1h30m");
    CHECK(selector_of(c->query).value() == "pod_psi{pod_uid=\"u1\",psi_degree=\"some\"}");
    const auto e = parse_command_line({"query", "--export", "csv", "--output", "a.csv"});
    REQUIRE(e.has_value());
    CHECK(e->query.format == "csv");
    CHECK(e->query.output == "a.csv");
    CHECK(parse_command_line({"query"}).has_value());
  }
  TEST_CASE("usage faults name the flag") {
    struct Row {
      std::vector<std::string> args;
      const char* part;
    };
    const Row table[] = {
        {{"query", "a", "--window", "0s"}, "--window: 0s: expected more than 0 s"},
        {{"query", "a", "--window", "-5m"}, "--window"},
        {{"query", "a", "--window", "x"}, "--window: expected a duration"},
        {{"query", "a", "--step", "0s"}, "--step: 0s: expected more than 0 s"},
        {{"query", "a", "--func", "foo"}, "--func: 'foo': expected last"},
        {{"query", "a", "--label", "x"}, "--label: x: expected NAME=VALUE"},
        {{"query", "a", "--label", "=x"}, "expected NAME=VALUE"},
        {{"query", "a", "--label", "b-c=x"}, "selector"},
        {{"query", "--label", "a=b"}, "--label: expected a METRIC"},
        {{"query", "--func", "mean"}, "expected a METRIC"},
        {{"query", "--window", "5m"}, "--window: expected a METRIC"},
        {{"query", "{a=\"b\"}"}, "expected a METRIC"},
        {{"query", "a{"}, "at byte 3"},
        {{"query", "a", "b"}, "unexpected argument"},
        {{"query", "a", "--export", "xml"}, "expected openmetrics or csv"},
        {{"query", "a", "--output", "f"}, "expected --export"},
        {{"query", "a", "--export", "csv", "--output", ""}, "--output: expected a value"},
        {{"query", "a", "--export", "csv", "--json"}, "--export: takes no --json"},
        {{"query", "a", "--export", "csv", "--step", "1m"}, "--export: takes no"},
        {{"pods", "--window", "5m"}, "pods takes no --window"},
        {{"status", "--label", "a=b"}, "status takes no --label"},
    };
    for (const auto& row : table) {
      CAPTURE(row.part);
      const auto parsed = parse_command_line(row.args);
      REQUIRE(parsed.has_error());
      CHECK(has(parsed.error().context, row.part));
      CHECK(parsed.error().context.find('\n') == std::string::npos);
    }
  }
}
