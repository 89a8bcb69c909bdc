#include <doctest/doctest.h>

#include "filled_view.hpp"
#include "modules/status_api/prometheus.hpp"

namespace koordlet::test {
namespace {

TEST_SUITE("status_api/predictions") {
  TEST_CASE("amounts are milli-cores and bytes, the score is in shares of 1") {
    const Filled filled;
    const auto body = fetch(filled.view, "/api/v1/predictions");
    const auto& cpu = body.at("node").at("cpu");
    CHECK(cpu.at("peak_milli") == 5000);
    CHECK(cpu.at("usual_milli") == 4217);
    CHECK(cpu.at("trend_milli") == 4200);
    CHECK(cpu.at("trend_milli_per_hour") == 120);  // 12 slots of 10 m
    CHECK(cpu.at("rule") == "max_day");
    CHECK(cpu.at("cold") == false);
    CHECK(cpu.at("learned_ms") == 90'000'000);
    const auto& score = cpu.at("score");
    CHECK(score.at("violation_ratio") == 0.25);
    CHECK(score.at("over_ratio") == 0.15);
    CHECK(score.at("shortfall_ratio") == 0.1);
    CHECK(score.at("within_ratio") == 0.75);
    CHECK(score.at("pinball_loss") == 0.1);
    CHECK(body.at("node").at("memory").at("peak_bytes") == 4294967296);
    CHECK(body.at("classes").at(0).at("cpu").at("peak_milli") == 5000);
    CHECK(body.at("prod_reclaimable").at("cpu_milli") == 5722);
    CHECK(body.at("pods").at(0).at("uid") == "be-1");
    CHECK(body.at("pods").at(0).at("pod") == "shop/batch");
  }
  TEST_CASE("what is not known yet is null") {
    Filled filled;
    filled.prediction = {};
    filled.view.predictions->system = nullptr;
    filled.view.predictions->reclaimable.reset();
    const auto body = fetch(filled.view, "/api/v1/predictions");
    CHECK(body.at("system").is_null());
    CHECK(body.at("prod_reclaimable").is_null());
    const auto& cpu = body.at("node").at("cpu");
    for (const char* field : {"peak_milli", "usual_milli", "trend_milli", "rule", "cold", "score"})
      CHECK(cpu.at(field).is_null());
  }
  TEST_CASE("pods come in pages") {
    const Filled filled;
    const auto first = fetch(filled.view, "/api/v1/predictions", "limit=1");
    CHECK(first.at("pods").as_array().size() == 1);
    CHECK(first.at("total") == 2);
    CHECK(first.at("remaining") == 1);
    const auto next = fetch(filled.view,
                            "/api/v1/predictions",
                            "limit=1&continue=" + std::string{first.at("continue").as_string()});
    CHECK(next.at("pods").at(0).at("uid") == "ls-1");
    CHECK(next.at("continue").is_null());
  }
  TEST_CASE("the node's forecast and its score are metrics; nothing stands in for an unknown one") {
    Filled filled;
    status_api::MetricsExporter exporter;
    auto text = exporter.text(filled.view);
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    CHECK(has("koordlet_predict_node_violations_ratio{"));
    CHECK(has("resource=\"cpu\"} 0.25"));
    CHECK(has("koordlet_predict_models"));
    CHECK(has("koordlet_node_predicted_resource_reclaimable{"));
    CHECK(has("5.722"));
    filled.prediction = {};
    text = exporter.text(filled.view);
    CHECK_FALSE(has("koordlet_predict_node_violations_ratio{"));
    CHECK_FALSE(has("koordlet_predict_node_peak_cpu_cores{"));
    filled.view.predictions.reset();
    text = exporter.text(filled.view);
    CHECK_FALSE(has("koordlet_predict"));
  }
}

}  // namespace
}  // namespace koordlet::test
