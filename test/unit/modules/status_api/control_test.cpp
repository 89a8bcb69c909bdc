#include <doctest/doctest.h>

#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_SUITE("status_api/control") {
  TEST_CASE("stand-alone: no API server and no report is null, not an empty object") {
    const auto body = fetch(make_view(CgroupVersion::kV1), "/api/v1/status");
    CHECK(body.at("api").is_null());
    CHECK(body.at("report").is_null());
    CHECK(body.at("resources").as_array().empty());
    CHECK(body.at("eviction").at("recent").as_array().empty());
    CHECK(body.at("eviction").at("standing").is_null());
  }

  TEST_CASE("a resource that was never confirmed has no age, one that is current no fault") {
    auto view = make_view(CgroupVersion::kV1);
    StatusView::Resource pods;
    pods.name = "pods";
    pods.synced = true;
    pods.age = milliseconds{900};
    pods.resource_version = "81";
    pods.events = 4;
    StatusView::Resource slo;
    slo.name = "nodeslo";
    slo.fault = "list: 404 Not Found";
    view.resources = {pods, slo};
    const auto body = fetch(view, "/api/v1/status");
    const auto& shown = body.at("resources").as_array();
    CHECK(shown.at(0).at("age_ms").as_int64() == 900);
    CHECK(shown.at(0).at("fault").is_null());
    CHECK(shown.at(0).at("events").as_int64() == 4);
    CHECK(text(shown.at(0).at("resource_version")) == "81");
    CHECK(shown.at(1).at("age_ms").is_null());
    CHECK(text(shown.at(1).at("fault")) == "list: 404 Not Found");
    CHECK(shown.at(1).at("resource_version").is_null());
  }

  TEST_CASE("report figures are null before the first report") {
    auto view = make_view(CgroupVersion::kV1);
    view.report.emplace();
    view.report->interval = seconds{60};
    view.report->problem = "no node sample yet";
    auto body = fetch(view, "/api/v1/status");
    CHECK(body.at("report").at("interval_s").as_int64() == 60);
    CHECK(body.at("report").at("build_to_2xx_p50_ms").is_null());
    CHECK(body.at("report").at("age_p99_ms").is_null());
    CHECK(body.at("report").at("update_time").is_null());
    CHECK(text(body.at("report").at("problem")) == "no node sample yet");
    view.report->build_to_2xx =
        StatusView::Report::Times{milliseconds{9}, milliseconds{31}, milliseconds{40}};
    view.report->update_time = view.wall - seconds{4};
    body = fetch(view, "/api/v1/status");
    CHECK(body.at("report").at("build_to_2xx_p50_ms").as_int64() == 9);
    CHECK(body.at("report").at("build_to_2xx_p99_ms").as_int64() == 31);
    CHECK(body.at("report").at("build_to_2xx_max_ms").as_int64() == 40);
    CHECK(text(body.at("report").at("update_time")) == "2026-01-02T03:04:01.000Z");
  }

  TEST_CASE("evictions show pod, numbers, outcome and age; counts by outcome") {
    auto view = make_view(CgroupVersion::kV1);
    view.evictions.push_back({"shop/batch",
                              "u1",
                              "memory_evict",
                              "node memory 81.00 % >= 70 %",
                              "refused",
                              "429 disruption budget",
                              kNow - seconds{10}});
    view.eviction_counts = {{"refused", 1}, {"accepted", 0}};
    view.eviction_hold = "held: nobody may be evicted now";
    const auto body = fetch(view, "/api/v1/status");
    const auto& e = body.at("eviction").at("recent").at(0);
    CHECK(text(e.at("pod")) == "shop/batch");
    CHECK(text(e.at("outcome")) == "refused");
    CHECK(e.at("age_ms").as_int64() == 10'000);
    CHECK(body.at("eviction").at("counts").at("refused").as_int64() == 1);
    CHECK(text(body.at("eviction").at("standing")) == "held: nobody may be evicted now");
  }
}
