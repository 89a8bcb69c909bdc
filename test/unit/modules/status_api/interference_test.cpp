#include <doctest/doctest.h>

#include "modules/status_api/interference_json.hpp"
#include "modules/status_api/prometheus.hpp"
#include "view_fixture.hpp"

namespace koordlet::test {
namespace {

using namespace std::chrono_literals;

/// One LS pod that is hurt, with the BE pod to blame.
struct Hurt {
  StatusView view;
  std::map<std::string, PodInterference> pods;
  std::map<std::string, ContainerUsage> containers;
  NodeUsage usage;

  Hurt() {
    auto state = std::make_shared<NodeState>();
    auto ls = std::make_shared<Pod>(make_pod("a1", "web", KubeQos::kBurstable, QosClass::kLs));
    Container c;
    c.name = "app";
    c.runtime = "containerd";
    c.id = "c1";
    ls->containers.push_back(c);
    state->pods = {
        ls, std::make_shared<Pod>(make_pod("b1", "batch", KubeQos::kBestEffort, QosClass::kBe))};
    state->pods_at = kNow;
    view.now = kNow;
    view.wall = kWall;
    view.state = state;
    auto& p = pods["a1"];
    p.uid = "a1";
    p.since = kNow - 30s;
    p.interfered = true;
    p.level = InterferenceLevel::kHigh;
    p.degree.degree = 77;
    p.degree.be_degree = 60;
    p.degree.cpu = 50;
    p.degree.top = InterferenceComponent::kCpu;
    p.degree.missing = {"cpi", "memory psi"};
    p.window.at = kNow - 2s;
    p.window.length = 10s;
    p.window.wait = 1s;
    p.window.run = 4s;
    p.window.wait_p95 = 2500us;
    p.window.dispatches = 100;
    p.window.cpu = StallShare{12.5, std::nullopt};
    p.culprit_signal = "run queue";
    p.culprits = {{"b1", 0.5, MilliCpu{1500}, 12}};
    auto& i = view.interference;
    i.enabled = true;
    i.run_queue_source = "bpf";
    i.counter_source = "files";
    i.counter_fault = "cgroup v1";
    i.perf_fault = "no counters";
    i.window = 10s;
    i.pods = &pods;
    i.node = NodeInterference{};
    i.node->at = kNow - 2s;
    i.node->degree = 77;
    i.node->pod_uid = "a1";
    i.node->interfered = true;
    i.triggers = {{"/proc/pressure/io", "some 1 2", "", 3}};
    auto& used = containers["containerd://c1"];
    used.source = CounterSource::kCri;
    used.cpu = MilliCpu{250};
    view.containers = &containers;
    usage.at = kNow - 1s;
    usage.disks = {{"sda", {1, 2, 3, 4}, Permille{350}, std::nullopt}};
    usage.stalls.memory = StallShare{15, 0};
    view.node_usage = &usage;
  }
  json::value get(const std::string& path) const {
    net::HttpRequest request;
    request.method = "GET";
    request.path = path;
    const auto answer = status_api::answer(view, request);
    REQUIRE(answer.status == 200);
    return json::parse(answer.body);
  }
};

TEST_SUITE("status_api/interference") {
  TEST_CASE("degree, evidence and whom to blame") {
    const Hurt hurt;
    const auto body = hurt.get("/api/v1/interference");
    CHECK(body.at("node").at("degree") == 77);
    CHECK(body.at("node").at("pod") == "shop/web");
    CHECK(body.at("run_queue").at("source") == "bpf");
    CHECK(body.at("run_queue").at("why_not_better").is_null());
    CHECK(body.at("counters").at("why_not_better") == "cgroup v1");
    CHECK(body.at("perf").at("available") == false);
    CHECK(body.at("triggers").at(0).at("events") == 3);
    const auto& pod = body.at("pods").at(0);
    CHECK(pod.at("uid") == "a1");
    CHECK(pod.at("degree") == 77);
    CHECK(pod.at("be_degree") == 60);
    CHECK(pod.at("level") == "high");
    CHECK(pod.at("interfered") == true);
    CHECK(pod.at("top") == "cpu");
    CHECK(pod.at("missing").at(0) == "cpi");
    CHECK(pod.at("components").at("cpu").as_double() == 50);
    CHECK(pod.at("components").at("micro").is_null());
    CHECK(pod.at("components").at("memory").is_null());
    CHECK(pod.at("components").at("io").as_double() == 0);  // known, and nothing
    CHECK(pod.at("micro_confirmed").is_null());
    const auto& evidence = pod.at("evidence");
    CHECK(evidence.at("wait_ratio").as_double() == doctest::Approx(0.25));
    CHECK(evidence.at("wait_p95_us") == 2500);
    CHECK(evidence.at("wait_p99_us").is_null());
    CHECK(evidence.at("psi").at("cpu").at("some_percent").as_double() == doctest::Approx(12.5));
    CHECK(evidence.at("psi").at("cpu").at("full_percent").is_null());
    CHECK(evidence.at("psi").at("io").is_null());
    CHECK(pod.at("culprits").at(0).at("pod") == "shop/batch");
    CHECK(pod.at("culprits").at(0).at("windows") == 12);
  }
  TEST_CASE("explain, pods and status show it too; a pod without a degree has null") {
    const Hurt hurt;
    CHECK(hurt.get("/api/v1/explain/a1").at("interference").at("degree") == 77);
    CHECK(hurt.get("/api/v1/explain/b1").at("interference").is_null());
    const auto pods = hurt.get("/api/v1/pods");
    CHECK(pods.at("items").at(0).at("interference_degree") == 77);
    CHECK(pods.at("items").at(1).at("interference_degree").is_null());
    CHECK(hurt.get("/api/v1/status").at("interference").at("node").at("degree") == 77);
  }
  TEST_CASE("a pod of which nothing is known: everything is null, on each page") {
    Hurt hurt;
    auto& p = hurt.pods["a1"];
    p.degree = {};
    p.degree.missing = {"run queue", "cpu psi", "throttling", "cpi", "llc", "memory psi", "io psi"};
    p.window = {};
    p.window.at = kNow - 2s;
    p.window.length = 10s;
    for (const auto& shown : {hurt.get("/api/v1/interference").at("pods").at(0),
                              hurt.get("/api/v1/pods/a1").at("interference"),
                              hurt.get("/api/v1/explain/shop/web").at("interference")}) {
      for (const char* key : {"degree", "be_degree", "top", "micro_confirmed"}) {
        CAPTURE(key);
        CHECK(shown.at(key).is_null());
      }
      for (const auto& [key, value] : shown.at("components").as_object()) CHECK(value.is_null());
      for (const auto& [key, value] : shown.at("evidence").as_object()) {
        if (value.is_object() || value.is_array() || key == "window_ms") continue;
        CAPTURE(std::string{key});
        CHECK(value.is_null());
      }
      for (const auto& [key, value] : shown.at("evidence").at("psi").as_object())
        CHECK(value.is_null());
    }
    status_api::MetricsExporter exporter;
    CHECK(exporter.text(hurt.view).find("koordlet_pod_interference") == std::string::npos);
  }
  TEST_CASE("where each container's counters come from") {
    const Hurt hurt;
    const auto pod = hurt.get("/api/v1/pods/a1");
    const auto& used = pod.at("containers").at(0).at("usage");
    CHECK(used.at("source") == "cri");
    CHECK(used.at("cpu_used_milli") == 250);
    CHECK(used.at("memory_used_bytes").is_null());
    CHECK(used.at("io").is_null());
  }
  TEST_CASE("what the node uses: unknown is null, an idle disk has no await") {
    const Hurt hurt;
    const auto usage = hurt.get("/api/v1/node").at("usage");
    CHECK(usage.at("disks").at(0).at("busy_permille") == 350);
    CHECK(usage.at("disks").at(0).at("await_us").is_null());
    CHECK(usage.at("psi").at("memory").at("full_percent").as_double() == 0);
    CHECK(usage.at("psi").at("cpu").is_null());
    CHECK(usage.at("steal_permille").is_null());
  }
  TEST_CASE("before the first window, and without any measuring, the page answers") {
    StatusView view;
    view.state = std::make_shared<NodeState>();
    net::HttpRequest request;
    request.method = "GET";
    request.path = "/api/v1/interference";
    const auto body = json::parse(status_api::answer(view, request).body);
    CHECK(body.at("enabled") == false);
    CHECK(body.at("node").is_null());
    CHECK(body.at("pods").as_array().empty());
  }
  TEST_CASE("/metrics: degrees by component, waits in seconds, PSI with Koordinator's labels") {
    Hurt hurt;
    hurt.pods["a1"].window.micro = {
        {"app", MilliCpu{1000}, 1.25, std::nullopt, "containerd://c1", 5.0e9, 4.0e9}};
    status_api::MetricsExporter exporter;
    const auto text = exporter.text(hurt.view);
    const auto has = [&](const std::string& line) {
      CAPTURE(line);
      CHECK(text.find(line) != std::string::npos);
    };
    has("koordlet_pod_interference{component=\"all\",pod_name=\"web\",pod_namespace=\"shop\",pod_"
        "uid=\"a1\"} 77");
    has("koordlet_pod_sched_latency_seconds{percentile=\"95\",pod_name=\"web\",pod_namespace="
        "\"shop\",pod_uid=\"a1\"} 0.0025");
    // Nothing is known of p99, behind best effort, memory and CPI: no series, not a 0.
    for (const char* unknown : {"percentile=\"99\"",
                                "koordlet_pod_sched_wait_behind_be_seconds",
                                "component=\"micro\"",
                                "component=\"memory\"",
                                "koordlet_container_llc_miss_ratio",
                                "koordlet_resctrl"}) {
      CAPTURE(unknown);
      CHECK(text.find(unknown) == std::string::npos);
    }
    has("koordlet_pod_psi{cpu_full_supported=\"false\",pod_name=\"web\",pod_namespace=\"shop\",pod_"
        "uid=\"a1\",psi_degree=\"some\",psi_precision=\"avg10\",psi_resource_type=\"cpu\"} 12.5");
    has("koordlet_container_cpi{container_id=\"containerd://"
        "c1\",container_name=\"app\",cpi_field=\"cycles\",pod_name=\"web\",pod_namespace=\"shop\","
        "pod_uid=\"a1\"} 5000000000");
    has("koordlet_node_interference{component=\"all\"} 77");
  }
}

}  // namespace
}  // namespace koordlet::test
