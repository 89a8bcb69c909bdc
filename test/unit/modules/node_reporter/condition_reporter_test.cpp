#include "modules/node_reporter/condition_reporter.hpp"

#include <deque>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "support/async.hpp"
#include "support/manual_clock.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct Bed {
  asio::awaitable<Result<k8s::ApiAnswer>> answer(k8s::ApiCall call) {
    calls.push_back(std::move(call));
    k8s::ApiAnswer out;
    out.status = 200;
    if (!answers.empty()) {
      out = answers.front();
      answers.pop_front();
    }
    if (out.status == 0) co_return Error{Errc::kIo, "connection refused"};
    co_return out;
  }
  static k8s::ApiAnswer status(unsigned code, std::optional<std::chrono::seconds> after = {}) {
    k8s::ApiAnswer out;
    out.status = code;
    out.retry_after = after;
    return out;
  }
  /// How many patches went out.
  std::size_t step(std::chrono::seconds later = 1s) {
    clock.advance(later);
    const auto before = calls.size();
    test::run(io, reporter.step());
    return calls.size() - before;
  }
  std::string text(std::string_view key) const {
    const auto& list = calls.back().body.at("status").at("conditions").as_array();
    return std::string{list.at(0).at(key).as_string()};
  }

  asio::io_context io;
  test::ManualClock clock;
  std::vector<k8s::ApiCall> calls;
  std::deque<k8s::ApiAnswer> answers;
  ConditionReporter reporter{io.get_executor(),
                             ConditionReporter::Config{.node_name = "n1"},
                             [this](k8s::ApiCall call) { return answer(std::move(call)); },
                             clock};
};

TEST_SUITE("node_reporter/condition") {
  TEST_CASE("nothing is sent before anything is known; then one patch of the node's status") {
    Bed b;
    CHECK(b.step() == 0);
    b.reporter.want(true, "level HIGH for 5m");
    CHECK(b.step() == 1);
    CHECK(b.calls[0].method == "PATCH");
    CHECK(b.calls[0].path == "/api/v1/nodes/n1/status");
    CHECK(b.calls[0].content_type == "application/strategic-merge-patch+json");
    CHECK(b.text("type") == "KoordletHighPressure");
    CHECK(b.text("status") == "True");
    CHECK(b.text("reason") == "BestEffortHeldBack");
    CHECK(b.text("message") == "level HIGH for 5m");
    CHECK(b.reporter.status().told == true);
    CHECK(b.step() == 0);
    b.reporter.want(false, "below HIGH for 5m");
    CHECK(b.step() == 1);
    CHECK(b.text("status") == "False");
    CHECK(b.step(1000s) == 0);
  }

  TEST_CASE("while it is true it is told again each heartbeat, with the time of the change") {
    Bed b;
    b.reporter.want(true, "why");
    b.step();
    const auto since = b.text("lastTransitionTime");
    CHECK(b.step(299s) == 0);
    b.reporter.want(true, "another why");
    CHECK(b.step(1s) == 1);
    CHECK(b.text("lastTransitionTime") == since);
    CHECK(b.text("lastHeartbeatTime") != since);
  }

  TEST_CASE("a failure is tried again after 5, 10, 20 s; Retry-After is obeyed") {
    Bed b;
    b.answers = {Bed::status(0), Bed::status(403), Bed::status(429, 60s)};
    b.reporter.want(true, "why");
    CHECK(b.step() == 1);
    CHECK(b.reporter.status().problem == "connection refused");
    CHECK(b.step(4s) == 0);
    CHECK(b.step(1s) == 1);
    CHECK_FALSE(b.reporter.status().told.has_value());
    CHECK(b.step(9s) == 0);
    CHECK(b.step(1s) == 1);
    CHECK(b.step(59s) == 0);
    CHECK(b.step(1s) == 1);
    CHECK(b.reporter.status().told == true);
    CHECK(b.reporter.status().problem == "");
    CHECK(b.reporter.status().failures == 3);
  }

  TEST_CASE("another condition has its own type and reasons") {
    const ConditionText text{"KoordletPeakForecast", "PeakAboveThreshold", "NoPeakForecast"};
    const auto reason = [&](bool is) {
      const auto patch = condition_patch(is, "m", WallTime{}, WallTime{}, text);
      return patch.at("status").at("conditions").at(0);
    };
    CHECK(reason(true).at("type") == "KoordletPeakForecast");
    CHECK(reason(true).at("reason") == "PeakAboveThreshold");
    CHECK(reason(false).at("reason") == "NoPeakForecast");
    CHECK(reason(false).at("status") == "False");
  }

  TEST_CASE("a change of mind before it was told: only the last one is") {
    Bed b;
    b.answers = {Bed::status(503)};
    b.reporter.want(true, "why");
    b.step();
    b.reporter.want(false, "why not");
    CHECK(b.step(5s) == 1);
    CHECK(b.text("status") == "False");
    CHECK(b.reporter.status().told == false);
  }

  TEST_CASE("a node name is escaped") {
    Bed b;
    ConditionReporter odd{b.io.get_executor(),
                          ConditionReporter::Config{.node_name = "a/b"},
                          [&b](k8s::ApiCall call) { return b.answer(std::move(call)); },
                          b.clock};
    odd.want(true, "why");
    test::run(b.io, odd.step());
    CHECK(b.calls.at(0).path == "/api/v1/nodes/a%2Fb/status");
  }
}

}  // namespace
}  // namespace koordlet
