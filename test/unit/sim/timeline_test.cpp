#include "sim/timeline.hpp"

#include <string>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <doctest/doctest.h>

#include "sim/plot.hpp"
#include "sim/svg.hpp"

using namespace koordlet;
using namespace koordlet::sim;
using namespace std::chrono_literals;
using doctest::Approx;
using policy::Level;

namespace {

/// Ten cores; each call adds a second.
struct Run {
  Scenario scenario;
  Timeline timeline;

  Run() {
    scenario.node.cpus = 10;
    scenario.duration = 1min;
  }
  Row& second(double percent, Level level, int factor) {
    Row row;
    row.at = timeline.rows.empty() ? 1000ms : timeline.rows.back().at + 1000ms;
    row.length = 1s;
    row.use.ls_used = percent / 10 - 1;
    row.use.be_used = 1;
    row.use_percent = percent;
    row.watched = true;
    row.level = level;
    row.factor_permille = factor;
    timeline.rows.push_back(row);
    return timeline.rows.back();
  }
  Summary sum() const { return summarize(scenario, timeline, 80, 300); }
};

void parse_xml(const std::string& text) {
  std::istringstream in{text};
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(in, tree);
  CHECK(tree.get_child("svg").size() > 10);
}

}  // namespace

TEST_SUITE("sim/summary") {
  TEST_CASE("one rise and fall is no flip; rising again is") {
    Run run;
    run.second(70, Level::kMid, 700);
    run.second(50, Level::kNone, 800);
    CHECK(run.sum().flips == 0);
    CHECK(run.sum().level_changes == 2);
    run.second(70, Level::kMid, 700);
    CHECK(run.sum().flips == 1);
    CHECK(run.sum().cuts == 2);  // 1000 to 700 at the start, 800 to 700
    CHECK(run.sum().cuts_per_hour == Approx(2400));
  }
  TEST_CASE("a cap of the BE root that falls is a cut; one that appears is none") {
    Run run;
    run.second(50, Level::kNone, 1000).root_cap = MilliCpu{0};
    run.second(50, Level::kNone, 1000).root_cap = MilliCpu{4000};
    CHECK(run.sum().cuts == 0);
    run.second(50, Level::kNone, 1000).root_cap = MilliCpu{3000};
    CHECK(run.sum().cuts == 1);
  }
  TEST_CASE("from step to cap: begin of the first second over it to the end of the one that caps") {
    Run run;
    run.second(50, Level::kNone, 1000);
    CHECK_FALSE(run.sum().step_to_cap);
    run.second(95, Level::kNone, 1000);
    run.second(95, Level::kNone, 1000);
    CHECK_FALSE(run.sum().step_to_cap);
    run.second(95, Level::kHigh, 300);
    run.second(95, Level::kHigh, 300);
    CHECK(run.sum().step_to_cap == 3000ms);
    CHECK(run.sum().percent_over_high == Approx(80));
  }
  TEST_CASE("what was before koordlet came, or before `from`, is not counted") {
    Run run;
    run.second(95, Level::kNone, 1000).watched = false;
    run.second(40, Level::kNone, 1000);
    CHECK(run.sum().mean_use_percent == Approx(40));
    run.second(60, Level::kNone, 1000);
    run.scenario.limits.from = 2s;
    CHECK(run.sum().mean_use_percent == Approx(60));
    CHECK(run.sum().length == 1000ms);
  }
  TEST_CASE("nothing watched: zeros, no division by nothing") {
    CHECK(Run{}.sum().mean_use_percent == 0);
    CHECK(Run{}.sum().cuts_per_hour == 0);
  }
}

TEST_SUITE("sim/expect") {
  TEST_CASE("one line for each figure that is off, with both values") {
    Run run;
    run.second(70, Level::kMid, 700);
    Expectation e;
    e.at = 1s;
    e.level = Level::kHigh;
    e.factor_permille = 700;
    e.be_used = 1.02;
    e.use_percent = 70.005;
    e.be_cap = 3;
    run.scenario.expectations = {e};
    CHECK(broken(run.scenario, run.timeline, run.sum()) ==
          std::vector<std::string>{"at 1 s: level: MID: expected HIGH",
                                   "at 1 s: be_used: 1: expected 1.02",
                                   "at 1 s: be_cap: unlimited: expected 3"});
  }
  TEST_CASE("limits of the whole run") {
    Run run;
    run.second(70, Level::kMid, 700);
    run.scenario.limits.max_cuts_per_hour = 10;
    run.scenario.limits.min_mean_use_percent = 71;
    run.scenario.limits.max_mean_use_percent = 70;
    run.scenario.limits.evictions = 2;
    run.scenario.limits.max_step_to_cap = 1s;
    CHECK(broken(run.scenario, run.timeline, run.sum()) ==
          std::vector<std::string>{"whole run: cuts_per_hour: 3600: expected at most 10",
                                   "whole run: mean_use_percent: 70: expected at least 71",
                                   "whole run: step_to_cap: no cap: expected one within 1 s",
                                   "whole run: evictions: 0: expected 2"});
  }
  TEST_CASE("times for people") {
    CHECK(time_text(90s) == "90 s");
    CHECK(time_text(1500ms) == "1.5 s");
    CHECK(time_text(2h + 5min) == "2 h 5 min");
    CHECK(time_text(3h) == "3 h");
  }
}

TEST_SUITE("sim/plot") {
  TEST_CASE("the drawing is well-formed XML with both axes named, whatever the title") {
    Run run;
    for (int i = 0; i < 3000; ++i) {
      auto& row = run.second(i % 3 * 30, static_cast<Level>(i / 100 % 3), 700);
      if (i > 5) row.use.be_cap = 2;
    }
    run.scenario.duration = 3000s;
    const auto svg = plot_svg(run.scenario, run.timeline, "a < b & \"c\" \x01\xff");
    parse_xml(svg);
    CHECK(svg.find("CPU, cores") != std::string::npos);
    CHECK(svg.find("LS p99, ms") != std::string::npos);
    CHECK(svg.find("time, min") != std::string::npos);
    CHECK(svg.find("a &lt; b &amp; &quot;c&quot; ??") != std::string::npos);
    CHECK(svg.size() < 300'000);
  }
  TEST_CASE("a run without a row is an empty drawing") {
    Run run;
    parse_xml(plot_svg(run.scenario, run.timeline, ""));
  }
  TEST_CASE("ticks are round numbers") {
    CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
    CHECK(round_ticks(0, 1024, 6) == std::vector<double>{0, 200, 400, 600, 800, 1000});
    CHECK(round_ticks(3, 3, 5) == std::vector<double>{3});
  }
}
