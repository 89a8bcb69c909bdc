#include <cmath>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/command_line.hpp"
#include "app/predict_command.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::app;
using namespace std::chrono_literals;

namespace {

/// A value each five minutes for so many hours.
SeriesTable table(int hours, double (*value)(int), int columns = 1) {
  SeriesTable out;
  for (int i = 0; i < hours * 12; ++i) out.times_s.push_back(i * 300);
  for (int c = 0; c < columns; ++c) {
    out.columns.push_back(fmt::format("c{}", c));
    out.values.emplace_back();
    for (int i = 0; i < hours * 12; ++i) out.values.back().push_back(value(i));
  }
  return out;
}
double one(int) { return 1; }
const auto kQuiet = [](std::size_t, std::size_t) {};

std::string refusal(std::vector<std::string> args) {
  args.insert(args.begin(), "predict");
  const auto r = parse_command_line(args);
  return r ? "" : Error{r.error()}.context;
}

}  // namespace

TEST_SUITE("app/predict replay") {
  TEST_CASE("a constant series: one decision an hour after the warm-up, all covered") {
    const auto r = replay(table(72, one), {}, kQuiet);
    REQUIRE(r.has_value());
    CHECK(r->warmup == 24h);
    CHECK(r->horizon == 1h);
    CHECK_FALSE(r->horizon_cut);
    const auto& chosen = r->rows.back();
    CHECK(chosen.predictor == "chosen");
    CHECK(chosen.score.windows == 48);  // after hour 24, 25, ..., 71; the end of hour 72 is seen
    CHECK(chosen.score.violations == 0);
    CHECK(chosen.score.mean_over() < 0.03);
    // the original: 1.1 times the end of the bucket, 1.0358
    CHECK(r->rows.front().score.mean_over() == doctest::Approx(1.1 * 1.0357619 - 1));
  }
  TEST_CASE("a day only: half of it warms up, the rest is one window of 12 hours") {
    ReplayOptions options;
    options.horizon = 24h;
    const auto r = replay(table(24, one), options, kQuiet);
    REQUIRE(r.has_value());
    CHECK(r->warmup == 12h);
    CHECK(r->horizon == 12h);
    CHECK(r->horizon_cut);
    CHECK(r->rows.back().score.windows == 1);
  }
  TEST_CASE("the realised peak is that of the rows after the decision, up to the horizon") {
    // A single burst in hour 30: the decision of hour 30 (and no other) is violated.
    auto t = table(48, one);
    t.values[0][30 * 12] = 10;
    ReplayOptions options;
    const auto r = replay(t, options, kQuiet);
    REQUIRE(r.has_value());
    CHECK(r->rows.back().score.violations == 1);
    CHECK(r->rows.back().score.mean_shortfall() == doctest::Approx(0.9).epsilon(0.01));
  }
  TEST_CASE("sums of columns drawn at random, the same ones each time") {
    ReplayOptions options;
    options.sum = 3;
    options.nodes = 5;
    const auto t = table(72, one, 6);
    const auto r = replay(t, options, kQuiet);
    REQUIRE(r.has_value());
    CHECK(r->series == 5);
    CHECK(r->rows.back().score.windows == 5 * 48);
    CHECK(r->rows.back().score.peak_sum == doctest::Approx(3 * 5 * 48));
    CHECK(replay(t, options, kQuiet)->rows.back().score == r->rows.back().score);
  }
  TEST_CASE("windows over a gap and peaks of zero are not scored") {
    auto t = table(72, one);
    for (int i = 40 * 12; i < 42 * 12; ++i) t.values[0][static_cast<std::size_t>(i)] = NAN;
    for (int i = 50 * 12; i < 51 * 12; ++i) t.values[0][static_cast<std::size_t>(i)] = 0;
    const auto r = replay(t, {}, kQuiet);
    REQUIRE(r.has_value());
    CHECK(r->unknown_peaks == 3);
    CHECK(r->rows.back().score.windows == 45);
  }
  TEST_CASE("no forecast above the capacity") {
    ReplayOptions options;
    options.capacity = 1;
    const auto r = replay(table(72, one), options, kQuiet);
    CHECK(r->rows.back().score.mean_over() == 0);
  }
  TEST_CASE("what cannot be replayed is named") {
    ReplayOptions options;
    options.column = "x";
    CHECK(replay(table(72, one), options, kQuiet).has_error());
    options = {};
    options.sum = 2;
    CHECK(replay(table(72, one), options, kQuiet).has_error());
    CHECK(replay(table(1, one), {}, kQuiet).has_error());
    auto slow = table(72, one);
    for (auto& s : slow.times_s) s *= 24;
    CHECK(replay(slow, {}, kQuiet).has_error());
  }
}

TEST_SUITE("app/predict command") {
  TEST_CASE("options of the command line") {
    const auto c = parse_command_line({"predict",
                                       "--replay",
                                       "a.csv",
                                       "--horizon",
                                       "24h",
                                       "--sum=20",
                                       "--nodes=100",
                                       "--warmup=12h",
                                       "--capacity=2000",
                                       "--json"});
    REQUIRE(c.has_value());
    CHECK(c->verb == Verb::kPredict);
    CHECK(c->replay_file == "a.csv");
    CHECK(c->replay.horizon == 24h);
    CHECK(c->replay.warmup == 12h);
    CHECK(c->replay.sum == 20);
    CHECK(c->replay.nodes == 100);
    CHECK(c->replay.capacity == 2000);
    CHECK(c->json);
  }
  TEST_CASE("faults of the command line") {
    CHECK(refusal({}) == "predict: expected --replay FILE; see `koordlet help`");
    for (const std::vector<std::string>& bad : {std::vector<std::string>{"--replay="},
                                                {"--replay=a", "--horizon=25h"},
                                                {"--replay=a", "--horizon=90s"},
                                                {"--replay=a", "--horizon=x"},
                                                {"--replay=a", "--sum=0"},
                                                {"--replay=a", "--sum=2", "--column=b"},
                                                {"--replay=a", "--nodes=3"},
                                                {"--replay=a", "--capacity=-1"},
                                                {"--replay=a", "--capacity=nan"},
                                                {"--replay=a", "surplus"}}) {
      CAPTURE(bad.back());
      CHECK(refusal(bad) != "");
    }
    CHECK(parse_command_line({"status", "--replay=a"}).has_error());
  }
  TEST_CASE("table and JSON of a file; a missing or damaged file is a failure of one line") {
    std::string csv = "minute,v\n";
    for (int i = 0; i < 72 * 12; ++i) csv += fmt::format("{},2\n", i * 5);
    const test::FakeTree tree{{"a.csv", csv}, {"bad.csv", "minute,v\n0,x\n"}};
    const auto quiet = [](const std::string&) {};
    const auto text = run_replay(tree.path("a.csv"), {}, false, quiet);
    CHECK(text.exit_code == kExitOk);
    CHECK(text.out.find("VIOLATIONS") != std::string::npos);
    const auto json = boost::json::parse(run_replay(tree.path("a.csv"), {}, true, quiet).out);
    CHECK(json.at("predictors").as_array().back().at("predictor").as_string() == "chosen");
    CHECK(json.at("predictors").as_array().back().at("windows").as_double() == 48);
    const auto bad = run_replay(tree.path("bad.csv"), {}, false, quiet);
    CHECK(bad.exit_code == kExitFailed);
    CHECK(bad.err.ends_with("bad.csv: line 2: v: 'x': expected a number of at least 0\n"));
    CHECK(run_replay(tree.path("none.csv"), {}, false, quiet).exit_code == kExitFailed);
  }
}
