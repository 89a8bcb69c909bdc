#include "modules/node_reporter/report_schedule.hpp"

#include <doctest/doctest.h>

#include "modules/node_reporter/recent.hpp"

namespace koordlet {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart{1000s};

ReportSchedule started(std::chrono::seconds interval = 60s) {
  ReportSchedule s;
  s.start(kStart, interval);
  return s;
}

TEST_SUITE("node_reporter/schedule") {
  TEST_CASE("interval: configured, else the spec's when it states one, else 60 s; 10 s at least") {
    NodeMetricSpec spec;
    spec.report_interval = 30s;
    CHECK(report_interval(std::nullopt, nullptr) == 60s);
    CHECK(report_interval(std::nullopt, &spec) == 60s);
    spec.interval_given = true;
    CHECK(report_interval(std::nullopt, &spec) == 30s);
    CHECK(report_interval(45s, &spec) == 45s);
    CHECK(report_interval(1s, &spec) == 10s);
    spec.report_interval = 3s;
    CHECK(report_interval(std::nullopt, &spec) == 10s);
  }
  TEST_CASE("the first report is due one interval after the start, the second 60 s later") {
    auto s = started();
    CHECK_FALSE(s.take(kStart));
    CHECK_FALSE(s.take(kStart + 59'999ms));
    CHECK(s.next() == kStart + 60s);
    CHECK(s.take(kStart + 60s));
    CHECK_FALSE(s.take(kStart + 60s));
    CHECK(s.next() == kStart + 120s);
  }
  TEST_CASE("a slow report does not move the next: deadlines are absolute") {
    auto s = started();
    CHECK(s.take(kStart + 64s));
    CHECK(s.next() == kStart + 120s);
  }
  TEST_CASE("missed deadlines are skipped, not caught up") {
    auto s = started();
    CHECK(s.take(kStart + 250s));
    CHECK_FALSE(s.take(kStart + 250s));
    CHECK(s.next() == kStart + 300s);
  }
  TEST_CASE("a new interval applies at once: one new interval after the last report") {
    auto s = started();
    CHECK(s.take(kStart + 60s));
    s.set_interval(20s);
    CHECK(s.next() == kStart + 80s);
    s.set_interval(300s);
    CHECK(s.next() == kStart + 360s);
    CHECK_FALSE(s.take(kStart + 100s));
    s.set_interval(10s);
    CHECK(s.take(kStart + 100s));
    CHECK(s.next() == kStart + 110s);
  }
  TEST_CASE("an urgent report comes at once and moves nothing") {
    auto s = started();
    s.ask_urgent();
    CHECK(s.next() <= kStart + 5s);
    CHECK(s.take(kStart + 5s));
    CHECK_FALSE(s.take(kStart + 5s));
    CHECK(s.next() == kStart + 60s);
  }
  TEST_CASE("urgent reports are 10 s apart: one that comes too early waits") {
    auto s = started();
    s.ask_urgent();
    CHECK(s.take(kStart + 5s));
    s.ask_urgent();
    CHECK_FALSE(s.take(kStart + 14s));
    CHECK(s.next() == kStart + 15s);
    CHECK(s.take(kStart + 15s));
    CHECK_FALSE(s.take(kStart + 40s));
  }
  TEST_CASE("in a hold the regular report is skipped and the urgent one waits for its end") {
    auto s = started();
    s.hold_until(kStart + 90s);
    CHECK_FALSE(s.take(kStart + 60s));
    s.ask_urgent();
    CHECK_FALSE(s.take(kStart + 89s));
    CHECK(s.next() == kStart + 90s);
    CHECK(s.take(kStart + 90s));
    CHECK(s.take(kStart + 120s));
  }
}

TEST_SUITE("node_reporter/recent") {
  TEST_CASE("percentiles of the last 512 values, older ones are forgotten") {
    Recent r;
    CHECK(r.percentiles().count == 0);
    for (int i = 1; i <= 100; ++i) r.add(std::chrono::milliseconds{i});
    CHECK(r.percentiles().p50 == 50ms);
    CHECK(r.percentiles().p99 == 99ms);
    CHECK(r.percentiles().max == 100ms);
    for (int i = 0; i < 512; ++i) r.add(7ms);
    const auto p = r.percentiles();
    CHECK(p.count == 512);
    CHECK(p.max == 7ms);
    CHECK(p.last == 7ms);
  }
}

}  // namespace
}  // namespace koordlet
