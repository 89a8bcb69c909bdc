#include "modules/states_informer/api_source.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "modules/states_informer/state_keeper.hpp"
#include "reactor/task_group.hpp"
#include "support/fake_api_server.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::states;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kPods = "/api/v1/pods";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kSlos = "/apis/slo.koordinator.sh/v1alpha1/nodeslos";
constexpr const char* kMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";

std::string pod(int i, std::string_view node = "n1") {
  return fmt::format(
      R"({{"metadata": {{"name": "p{0}", "namespace": "d", "uid": "u{0:04}"}}, "spec": {{"nodeName":
      "{1}", "containers": [{{"name": "main", "env": [{{"name": "X", "value": "hunter2"}}]}}]}},
      "status": {{"phase": "Running", "qosClass": "BestEffort"}}}})",
      i,
      node);
}

/// The source between a fake API server and a state, on one loop. `again()` is a restart.
struct Fixture {
  Fixture() {
    api.serve(kPods, "Pod");
    api.serve(kNodes, "Node");
    api.serve(kSlos, "NodeSLO");
    api.serve(kMetrics, "NodeMetric");
    api.put(kNodes, std::string_view{R"({"metadata": {"name": "n1", "uid": "nu"},
        "status": {"capacity": {"cpu": "8", "memory": "16Gi"}}})"});
    again();
  }
  ~Fixture() { stop(); }

  void stop() {
    if (!source) return;
    tasks->request_stop();
    CHECK(until([this] { return tasks->live() == 0; }));
    source.reset();
    tasks.reset();
    client.reset();
    worker.reset();
    env.reset();
  }
  void again() {
    stop();
    store::LmdbEnv::Options options;
    options.folder = folder.path("state");
    options.map_size = 32u << 20;
    auto opened = store::LmdbEnv::open(options);
    REQUIRE(opened.has_value());
    env.emplace(std::move(*opened));
    worker = std::make_unique<reactor::Worker>("storage");
    k8s::ApiAccess access;
    access.endpoint = {false, "127.0.0.1", api.http().port(), ""};
    access.source = "test";
    client = std::make_unique<k8s::ApiClient>(
        io.get_executor(), access, k8s::ApiClient::Options{}, clock);
    REQUIRE(client->open().has_value());
    ApiSource::Config config;
    config.node_name = "n1";
    config.reflector.backoff_min = 5ms;
    config.reflector.backoff_max = 20ms;
    config.cache_delay = 10ms;
    config.cache_stamp = 20ms;
    keeper.emplace(kernel::HostRoots{}, CgroupVersion::kV1);
    source = std::make_unique<ApiSource>(
        io.get_executor(), config, *client, clock, worker.get(), &*env, [this] { publish(); });
    REQUIRE(source->load().has_value());
    publish();
    tasks = std::make_unique<reactor::TaskGroup>(io.get_executor(),
                                                 [](const std::string&, const auto&) {});
  }
  void start() { tasks->spawn("source", source->run()); }
  void publish() {
    static_cast<void>(keeper->publish(source->content(layout, *keeper->state()), {}));
  }
  const NodeState& state() const { return *keeper->state(); }
  ResourceHealth health(std::string_view name) const {
    for (auto& h : source->health()) {
      if (h.name == name) return h;
    }
    return {};
  }
  template <class F>
  bool until(F done) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      io.restart();
      io.run_one_for(10ms);
    }
    return true;
  }
  bool until_pods(std::size_t count) {
    return until([this, count] { return state().pods.size() == count; });
  }

  boost::asio::io_context io;
  SystemClock clock;
  FakeTree folder;
  FakeApiServer api{io.get_executor()};
  std::optional<store::LmdbEnv> env;
  std::unique_ptr<reactor::Worker> worker;
  std::unique_ptr<k8s::ApiClient> client;
  std::optional<StateKeeper> keeper;
  std::unique_ptr<ApiSource> source;
  std::unique_ptr<reactor::TaskGroup> tasks;
  std::optional<kernel::CgroupLayout> layout = kernel::CgroupLayout{CgroupDriver::kCgroupfs};
};

}  // namespace

TEST_SUITE("states_informer/api_source") {
  TEST_CASE("pitfall 1: nothing is known, and nothing empty, before the lists are whole") {
    Fixture f;
    CHECK(f.state().pods_at == MonoTime{});
    CHECK(f.state().slo_at == MonoTime{});
    CHECK(f.state().node == nullptr);
    f.start();
    CHECK(f.until([&] { return f.state().node != nullptr && f.state().pods_at != MonoTime{}; }));
    CHECK(f.until([&] { return f.state().slo_at != MonoTime{}; }));
    CHECK(f.state().pods.empty());
    CHECK(f.state().slo == nullptr);  // pitfall 2: no NodeSLO object is no fault
    CHECK(f.state().faults.empty());
    CHECK(f.source->node_uid() == "nu");
  }

  TEST_CASE("1000 pods at once come in pages and are all there") {
    Fixture f;
    for (int i = 0; i < 1000; ++i) f.api.put(kPods, pod(i));
    f.start();
    REQUIRE(f.until_pods(1000));
    CHECK(f.api.lists(kPods) == 10);
    CHECK(f.state().pods[77]->cgroup.str() == "kubepods/besteffort/podu0077");
  }

  TEST_CASE("events change the state at once") {
    Fixture f;
    f.start();
    REQUIRE(f.until([&] { return f.api.watching() == 4; }));
    f.api.put(kPods, pod(1));
    REQUIRE(f.until_pods(1));
    f.api.put(kSlos, std::string_view{R"({"metadata": {"name": "n1", "uid": "s"}, "spec":
        {"resourceUsedThresholdWithBE": {"enable": true}}})"});
    CHECK(f.until([&] { return f.state().slo != nullptr; }));
    f.api.put(kMetrics, std::string_view{R"({"metadata": {"name": "n1", "uid": "m"}, "spec":
        {"metricCollectPolicy": {"reportIntervalSeconds": 30}}})"});
    CHECK(f.until([&] { return f.state().metric != nullptr; }));
    CHECK(f.state().metric->report_interval == 30s);
    f.api.erase(kPods, "d", "p1");
    CHECK(f.until_pods(0));
    f.api.erase(kSlos, "", "n1");
    CHECK(f.until([&] { return f.state().slo == nullptr; }));
  }

  TEST_CASE(
      "the API server goes away: everything stays, the fault is shown, and it is found again") {
    Fixture f;
    f.api.put(kPods, pod(1));
    f.start();
    REQUIRE(f.until_pods(1));
    REQUIRE(f.until([&] { return f.api.watching() == 4; }));
    f.api.stop();
    REQUIRE(f.until([&] { return !f.health("pods").fault.empty(); }));
    CHECK(f.until([&] { return f.state().faults.size() == 4; }));
    CHECK(f.state().pods.size() == 1);
    CHECK(f.state().node != nullptr);
    CHECK(f.health("pods").synced);
    f.api.start();
    f.api.put(kPods, pod(2));
    CHECK(f.until_pods(2));
    CHECK(f.until([&] { return f.state().faults.empty(); }));
  }

  TEST_CASE("a restart without API server works from the state that was kept") {
    Fixture f;
    f.api.put(kPods, pod(1));
    f.api.put(kPods, pod(2));
    f.api.put(kSlos, std::string_view{R"({"metadata": {"name": "n1", "uid": "s"}, "spec":
        {"resourceUsedThresholdWithBE": {"enable": true, "cpuSuppressThresholdPercent": 50}}})"});
    f.start();
    REQUIRE(f.until([&] { return f.state().pods.size() == 2 && f.state().slo && f.state().node; }));
    const auto kept = [&] {
      const auto content =
          store::ObjectCache{*f.env, 1u << 30}.load(fmt::format("{} n1", f.client->server()));
      return content.has_value() ? content->objects.size() : 0;
    };
    REQUIRE(f.until([&] { return kept() == 4; }));
    f.api.stop();
    f.again();
    CHECK(f.state().pods.size() == 2);
    CHECK(f.state().node->cpu_capacity == MilliCpu{8000});
    CHECK(f.state().slo->threshold->cpu_suppress_threshold_percent == 50);
    CHECK(f.state().pods_at != MonoTime{});
    CHECK(f.health("pods").cached);
    CHECK_FALSE(f.health("pods").synced);
    f.start();
    REQUIRE(f.until([&] { return !f.health("pods").fault.empty(); }));
    CHECK(f.state().pods.size() == 2);
    f.api.start();
    f.api.erase(kPods, "d", "p1");
    CHECK(f.until_pods(1));  // what was deleted meanwhile is gone with the first whole list
    CHECK_FALSE(f.health("pods").cached);
  }

  TEST_CASE("the age of a kept state is that of its last confirmation") {
    Fixture f;
    f.start();
    REQUIRE(f.until([&] { return f.state().node != nullptr; }));
    f.stop();
    {
      store::LmdbEnv::Options options;
      options.folder = f.folder.path("state");
      options.map_size = 32u << 20;
      auto env = store::LmdbEnv::open(options);
      REQUIRE(env.has_value());
      const auto now =
          std::chrono::duration_cast<std::chrono::milliseconds>(f.clock.wall().time_since_epoch());
      const auto owner = fmt::format("http://127.0.0.1:{} n1", f.api.http().port());
      REQUIRE(store::ObjectCache{*env, 1u << 30}
                  .commit(owner,
                          {{{"pods", "u0001", pod(1)}}, {}, {}},
                          (now - std::chrono::milliseconds{600'000}).count())
                  .has_value());
    }
    f.again();
    REQUIRE(f.state().pods.size() == 1);
    const auto age = f.clock.now() - f.state().pods_at;
    CHECK(age >= 600s);
    CHECK(age < 660s);
  }

  TEST_CASE("the kept state of another node is not taken") {
    Fixture f;
    f.stop();
    {
      store::LmdbEnv::Options options;
      options.folder = f.folder.path("state");
      options.map_size = 32u << 20;
      auto env = store::LmdbEnv::open(options);
      REQUIRE(env.has_value());
      REQUIRE(store::ObjectCache{*env, 1u << 30}
                  .commit("https://other n1", {{{"pods", "u0001", pod(1)}}, {}, {}}, 1)
                  .has_value());
    }
    f.again();
    CHECK(f.state().pods.empty());
    CHECK(f.state().pods_at == MonoTime{});
  }

  TEST_CASE("definitions that are not installed: an empty policy, said once, and the pods work") {
    Fixture f;
    f.api.answer_list(kSlos, {404, "404 page not found\n", "text/plain"}, FakeApiServer::kAlways);
    f.api.put(kPods, pod(1));
    f.start();
    REQUIRE(f.until_pods(1));
    CHECK(f.until([&] { return f.state().slo_at != MonoTime{}; }));
    CHECK(f.state().slo == nullptr);
    CHECK(contains(f.health("nodeslo").fault, "404"));
  }
}
