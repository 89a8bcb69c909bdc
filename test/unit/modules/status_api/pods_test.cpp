#include <doctest/doctest.h>

#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

StatusView many_pods(int count) {
  auto view = make_view(CgroupVersion::kV2);
  auto state = std::make_shared<NodeState>(*view.state);
  state->pods.clear();
  for (int i = 0; i < count; ++i) {
    auto pod = make_pod(fmt::format("u-{:04}", i),
                        fmt::format("p{}", i),
                        i % 2 == 0 ? KubeQos::kBestEffort : KubeQos::kBurstable,
                        QosClass::kNone);
    if (i % 5 == 0) pod.ns = "other";
    state->pods.push_back(std::make_shared<const Pod>(pod));
  }
  view.state = state;
  return view;
}

std::size_t size_of(const json::object& body) { return body.at("items").as_array().size(); }

}  // namespace

TEST_SUITE("status_api/pods") {
  TEST_CASE("a sampled and capped pod shows what it is, uses and may use") {
    const auto body = fetch(make_view(CgroupVersion::kV2), "/api/v1/pods");
    CHECK(body.at("total").as_int64() == 3);
    CHECK(body.at("continue").is_null());
    const auto& pod = body.at("items").as_array().at(0).as_object();
    CHECK(text(pod.at("uid")) == "be-1");
    CHECK(text(pod.at("namespace")) == "shop");
    CHECK(text(pod.at("name")) == "batch");
    CHECK(text(pod.at("qos")) == "BE");
    CHECK(text(pod.at("qos_label")) == "BE");
    CHECK(text(pod.at("kube_qos")) == "BestEffort");
    CHECK(text(pod.at("phase")) == "Running");
    CHECK(text(pod.at("cgroup")) == "/kubepods/besteffort/podbe-1");
    CHECK(pod.at("cpu_request_milli").as_int64() == 4000);
    CHECK(pod.at("cpu_used_milli").as_int64() == 900);
    CHECK(pod.at("memory_used_bytes").as_int64() == 1'048'576);
    CHECK(pod.at("throttled_permille").as_int64() == 250);
    CHECK(pod.at("sample_age_ms").as_int64() == 4000);
    CHECK(text(pod.at("cpu_cap")) == "120000 100000");
    CHECK(pod.at("cpu_cap_milli").as_int64() == 1200);
    CHECK(text(pod.at("cpu_cap_plugin")) == "pressure");
  }
  TEST_CASE("what is unknown is null, not zero") {
    const auto body = fetch(make_view(CgroupVersion::kV2), "/api/v1/pods");
    const auto& pod = body.at("items").as_array().at(2).as_object();
    CHECK(text(pod.at("uid")) == "ls-1");
    CHECK(text(pod.at("qos")) == "LS");
    for (const char* key : {"qos_label",
                            "cpu_request_milli",
                            "cpu_used_milli",
                            "memory_used_bytes",
                            "throttled_permille",
                            "sample_age_ms",
                            "cpu_cap",
                            "cpu_cap_milli"}) {
      CAPTURE(key);
      CHECK(pod.at(key).is_null());
    }
  }
  TEST_CASE("a sample that lacks one value keeps the others") {
    auto view = make_view(CgroupVersion::kV2);
    view.pods["be-1"].throttled.reset();
    const auto body = fetch(view, "/api/v1/pods/be-1");
    CHECK(body.at("throttled_permille").is_null());
    CHECK(body.at("cpu_used_milli").as_int64() == 900);
  }
  TEST_CASE("an unlimited cap is the text max") {
    auto view = make_view(CgroupVersion::kV2);
    view.held[0].raw = view.held[0].value = "max 100000";
    CHECK(text(fetch(view, "/api/v1/pods/be-1").at("cpu_cap_milli")) == "max");
  }
  TEST_CASE("pages follow each other and end; every pod is shown once") {
    const auto view = many_pods(1201);
    std::vector<std::string> seen;
    std::string query = "limit=500";
    std::vector<std::size_t> sizes;
    for (int page = 0; page < 5; ++page) {
      const auto body = fetch(view, "/api/v1/pods", query);
      CHECK(body.at("total").as_int64() == 1201);
      sizes.push_back(size_of(body));
      for (const auto& pod : body.at("items").as_array()) seen.push_back(text(pod.at("uid")));
      if (body.at("continue").is_null()) break;
      query = "limit=500&continue=" + text(body.at("continue"));
    }
    CHECK(sizes == std::vector<std::size_t>{500, 500, 201});
    REQUIRE(seen.size() == 1201);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }
  TEST_CASE("the default page is 500; a list that just fills the page has no next one") {
    CHECK(size_of(fetch(many_pods(501), "/api/v1/pods")) == 500);
    CHECK(fetch(many_pods(501), "/api/v1/pods").at("remaining").as_int64() == 1);
    const auto full = fetch(many_pods(500), "/api/v1/pods");
    CHECK(size_of(full) == 500);
    CHECK(full.at("continue").is_null());
    CHECK(full.at("remaining").as_int64() == 0);
  }
  TEST_CASE("a token stays good when its pod goes away between two pages") {
    const auto before = many_pods(10);
    const auto first = fetch(before, "/api/v1/pods", "limit=4");
    const auto token = text(first.at("continue"));
    auto after = before;
    auto state = std::make_shared<NodeState>(*before.state);
    state->pods.erase(state->pods.begin() + 3);
    after.state = state;
    const auto second = fetch(after, "/api/v1/pods", "limit=4&continue=" + token);
    CHECK(text(second.at("items").as_array().at(0).at("uid")) == "u-0004");
  }
  TEST_CASE("a token that is garbage or of another filter is 400") {
    const auto view = many_pods(10);
    const auto token = text(fetch(view, "/api/v1/pods", "limit=4").at("continue"));
    auto damaged = token;
    damaged[0] = damaged[0] == '7' ? '6' : '7';
    for (const auto& bad : {std::string{"zzz"},
                            std::string{""},
                            std::string{"."},
                            std::string{"0.0"},
                            std::string{"u-0003"},
                            token + "0",
                            token.substr(0, 6),
                            damaged,
                            std::string(4000, 'a'),
                            std::string{"%00%FF"}}) {
      CAPTURE(bad);
      const auto body = fetch(view, "/api/v1/pods", "continue=" + bad, 400);
      CHECK(text(body.at("detail")).find("continue") != std::string::npos);
    }
    fetch(view, "/api/v1/pods", "qos=BE&continue=" + token, 400);
    fetch(view, "/api/v1/pods", "namespace=shop&continue=" + token, 400);
    CHECK(size_of(fetch(view, "/api/v1/pods", "limit=4&continue=" + token)) == 4);
  }
  TEST_CASE("limit takes 1..1000 and nothing else") {
    const auto view = many_pods(3);
    CHECK(size_of(fetch(view, "/api/v1/pods", "limit=1")) == 1);
    CHECK(size_of(fetch(view, "/api/v1/pods", "limit=1000")) == 3);
    for (const char* bad : {"0", "1001", "-1", "", "x", "5x", "99999999999999999999"}) {
      CAPTURE(bad);
      const auto body = fetch(view, "/api/v1/pods", fmt::format("limit={}", bad), 400);
      CHECK(text(body.at("detail")).find("1..1000") != std::string::npos);
    }
  }
  TEST_CASE(
      "filters: by namespace, by QoS with default, both; a filter that matches nothing is empty") {
    const auto view = many_pods(10);
    CHECK(size_of(fetch(view, "/api/v1/pods", "namespace=other")) == 2);
    CHECK(size_of(fetch(view, "/api/v1/pods", "qos=BE")) == 5);
    CHECK(size_of(fetch(view, "/api/v1/pods", "qos=LS&namespace=other")) == 1);
    const auto none = fetch(view, "/api/v1/pods", "namespace=%6Eowhere");
    CHECK(none.at("total").as_int64() == 0);
    CHECK(size_of(none) == 0);
    fetch(view, "/api/v1/pods", "qos=be", 400);
    fetch(view, "/api/v1/pods", "qos=", 400);
  }
  TEST_CASE("queries that are not understood are 400") {
    const auto view = many_pods(3);
    for (const char* bad : {"page=2", "limit=1&limit=2", "limit=%4", "%", "=1"}) {
      CAPTURE(bad);
      fetch(view, "/api/v1/pods", bad, 400);
    }
    CHECK(size_of(fetch(view, "/api/v1/pods", "&limit=2&")) == 2);
  }
  TEST_CASE("one pod shows labels, annotations and containers; text from outside cannot break it") {
    auto view = make_view(CgroupVersion::kV2);
    auto state = std::make_shared<NodeState>(*view.state);
    auto pod = *state->pods[0];
    pod.name = "a\"}\n\\";
    pod.annotations["note\xFF"] = "\x01</script>\xC3(";
    pod.labels["koordinator.sh/qosClass"] = "BE";
    pod.priority = 5500;
    state->pods[0] = std::make_shared<const Pod>(pod);
    view.state = state;
    const auto body = fetch(view, "/api/v1/pods/be-1");
    CHECK(text(body.at("name")) == "a\"}\n\\");
    CHECK(text(body.at("annotations").at("note\xEF\xBF\xBD")) == "\x01</script>\xEF\xBF\xBD(");
    CHECK(text(body.at("labels").at("koordinator.sh/qosClass")) == "BE");
    CHECK(body.at("priority").as_int64() == 5500);
    CHECK(text(body.at("priority_class")) == "koord-batch");
    CHECK(text(body.at("sample_at")) == "2026-01-02T03:04:01.000Z");
    const auto& container = body.at("containers").as_array().at(0).as_object();
    CHECK(text(container.at("name")) == "main");
    CHECK(container.at("id").is_null());
    CHECK(container.at("requests").at("batch_cpu_milli").as_int64() == 4000);
    CHECK(container.at("requests").at("memory_bytes").is_null());
  }
  TEST_CASE("a pod that is not there is 404; so is any pod before the first state") {
    auto view = make_view(CgroupVersion::kV2);
    CHECK(text(fetch(view, "/api/v1/pods/nope", "", 404).at("detail")).find("'nope'") !=
          std::string::npos);
    view.state = nullptr;
    fetch(view, "/api/v1/pods/be-1", "", 404);
    CHECK(fetch(view, "/api/v1/pods").at("total").as_int64() == 0);
  }
}
