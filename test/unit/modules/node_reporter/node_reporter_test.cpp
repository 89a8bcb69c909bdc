#include "modules/node_reporter/node_reporter.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "fake_objects.hpp"
#include "k8s/node_metric.hpp"
#include "k8s/time_text.hpp"
#include "report_fixture.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;
using test::kGi;

const std::string kAll{k8s::kNodeMetrics};

struct Bed {
  Bed() {
    data.set_node(1500, kGi);
    server.put("n1", json::parse(R"({"metadata":{"name":"n1"},"spec":{}})"));
  }
  asio::awaitable<Result<ReportInput>> gather() {
    ++gathered;
    if (gather_fault) co_return *gather_fault;
    data.wall = clock.wall();
    auto in = data.input();
    in.node_uid = "uid-1";
    co_return in;
  }
  NodeReporter& reporter(NodeReporter::Config config = {}) {
    config.node_name = "n1";
    NodeReporter::Deps deps{[this] { return gather(); }, server.caller()};
    made.emplace(io.get_executor(), std::move(config), std::move(deps), clock);
    made->start();
    return *made;
  }
  bool step() { return test::run(io, made->step()); }
  bool step_after(std::chrono::milliseconds time) {
    clock.advance(time);
    return step();
  }
  std::string update_time() {
    return std::string{server.objects.at("n1").at("status").at("updateTime").as_string()};
  }
  void interval(std::chrono::seconds s) {
    NodeMetricSpec spec;
    spec.report_interval = s;
    spec.interval_given = true;
    data.spec(spec);
  }

  asio::io_context io;
  test::ManualClock clock;
  test::ReportBed data;
  test::FakeObjects server{kAll};
  std::optional<Error> gather_fault;
  int gathered = 0;
  std::optional<NodeReporter> made;
};

TEST_SUITE("node_reporter") {
  TEST_CASE("nothing at the start, the first report one interval later, the second 60 s after it") {
    Bed b;
    auto& r = b.reporter();
    CHECK_FALSE(b.step());
    CHECK_FALSE(b.step_after(59s));
    CHECK(b.server.calls.empty());
    CHECK(r.next_due() == b.clock.now() + 1s);
    CHECK(b.step_after(1s));
    CHECK(b.server.calls.size() == 1);
    // The data is half a second old, and whole seconds go out.
    CHECK(b.update_time() == k8s::format_time(b.clock.wall() - 500ms));
    b.server.on_call = [&] { b.clock.advance(700ms); };  // a slow server
    CHECK(b.step_after(60s));
    CHECK(r.next_due() == b.clock.now() + 60s - 700ms);
    const auto s = r.status();
    CHECK(s.reports == 2);
    CHECK(s.problem.empty());
    CHECK(s.last_success == b.clock.now());
    CHECK(s.took.count == 2);
    CHECK(s.took.max == 700ms);
    CHECK(s.took.p50 == 0ms);
    CHECK(s.age.count == 2);
    CHECK(s.age.max >= 1200ms);  // half a second of data, 700 ms of server, and the cut-off second
    CHECK(s.age.max < 2300ms);
  }
  TEST_CASE("stale metrics are not sent: the old report stays, and status says why") {
    Bed b;
    auto& r = b.reporter();
    CHECK(b.step_after(60s));
    const auto before = b.update_time();
    for (auto& s : b.data.series) s.ended = 60s;
    CHECK(b.step_after(60s));
    CHECK(b.server.calls.size() == 1);
    CHECK(b.update_time() == before);
    auto s = r.status();
    CHECK(s.unsent == 1);
    CHECK(s.problem == "node_cpu_usage: newest sample is 60000 ms old, limit 3000 ms");
    CHECK(s.problem_since == b.clock.now());
    CHECK(s.last_success == b.clock.now() - 60s);
    for (auto& s2 : b.data.series) s2.ended = 100ms;
    CHECK(b.step_after(60s));
    s = r.status();
    CHECK(s.reports == 2);
    CHECK(s.problem.empty());
  }
  TEST_CASE("metrics that cannot be asked for are no report and no end") {
    Bed b;
    auto& r = b.reporter();
    b.gather_fault = Error{Errc::kNotSupported, "metric history is not open"};
    CHECK(b.step_after(60s));
    CHECK(r.status().problem == "metrics: metric history is not open");
    b.gather_fault.reset();
    CHECK(b.step_after(60s));
    CHECK(r.status().reports == 1);
  }
  TEST_CASE("a changed interval of the spec applies at once") {
    Bed b;
    auto& r = b.reporter();
    CHECK(b.step_after(60s));
    b.interval(20s);
    r.note_state(b.data.state);
    CHECK(r.status().interval == 20s);
    CHECK_FALSE(b.step_after(19s));
    CHECK(b.step_after(1s));
    b.interval(3s);  // 10 s at least
    r.note_state(b.data.state);
    CHECK_FALSE(b.step_after(9s));
    CHECK(b.step_after(1s));
  }
  TEST_CASE("the configured interval wins over the spec's") {
    Bed b;
    b.interval(20s);
    auto& r = b.reporter({.node_name = "n1", .interval = 30s});
    r.note_state(b.data.state);
    CHECK_FALSE(b.step_after(29s));
    CHECK(b.step_after(1s));
  }
  TEST_CASE("HIGH reports at once, not more than each 10 s, and the regular deadlines stay") {
    Bed b;
    auto& r = b.reporter();
    b.clock.advance(5s);
    r.report_now();
    CHECK(b.step());
    CHECK(b.server.calls.size() == 1);
    r.report_now();
    r.report_now();
    CHECK_FALSE(b.step_after(9s));
    CHECK(b.step_after(1s));
    CHECK_FALSE(b.step_after(44s));
    CHECK(b.step_after(1s));  // 60 s after the start
    CHECK(r.status().urgent == 3);
    CHECK(r.status().reports == 3);
  }
  TEST_CASE("429 with Retry-After holds the reports back until then") {
    Bed b;
    auto& r = b.reporter({.node_name = "n1", .interval = 10s});
    k8s::ApiAnswer busy;
    busy.status = 429;
    busy.retry_after = 25s;
    b.server.scripted = {busy};
    CHECK(b.step_after(10s));
    CHECK(r.status().failures == 1);
    CHECK(r.status().held_until == b.clock.now() + 25s);
    r.report_now();
    CHECK_FALSE(b.step_after(10s));
    CHECK_FALSE(b.step_after(14s));
    CHECK(b.step_after(1s));
    CHECK(b.server.calls.size() == 2);
    CHECK(r.status().reports == 1);
    CHECK_FALSE(r.status().held_until.has_value());
  }
  TEST_CASE("a server that asks for hours is asked again after 10 minutes") {
    Bed b;
    auto& r = b.reporter();
    k8s::ApiAnswer busy;
    busy.status = 503;
    busy.retry_after = 86400s;
    b.server.scripted = {busy};
    CHECK(b.step_after(60s));
    CHECK(r.status().held_until == b.clock.now() + 600s);
  }
  TEST_CASE("an object that is absent is made with the Node as its owner") {
    Bed b;
    b.server.objects.clear();
    auto& r = b.reporter();
    CHECK(b.step_after(60s));
    CHECK(r.status().writes.created == 1);
    CHECK(b.server.objects.at("n1").at("metadata").at("ownerReferences").at(0).at("uid") ==
          "uid-1");
    CHECK(r.status().reports == 1);
  }
  TEST_CASE("run() reports when asked, has one write in flight, and ends when cancelled") {
    Bed b;
    auto& r = b.reporter();
    asio::cancellation_signal stop;
    bool ended = false;
    asio::co_spawn(
        b.io, r.run(), asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) {
          ended = true;
        }));
    int at_once = 0;
    b.server.on_call = [&] {
      CHECK(r.status().in_flight);
      ++at_once;
      r.report_now();  // while one is on its way: the next comes 10 s later
    };
    asio::post(b.io, [&] { r.report_now(); });
    b.io.restart();
    while (at_once == 0 || r.status().in_flight) b.io.run_one();
    CHECK(r.status().running);
    CHECK(at_once == 1);
    stop.emit(asio::cancellation_type::terminal);
    while (!ended) b.io.run_one();
    CHECK_FALSE(r.status().running);
    CHECK(r.status().reports == 1);
  }
}

}  // namespace
}  // namespace koordlet
