#include "modules/states_informer/object_store.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "fixtures.hpp"

using namespace koordlet;
using namespace koordlet::states;
using namespace koordlet::test;
namespace json = boost::json;

using Kind = ObjectStore::Kind;

namespace {

json::value pod(std::string_view uid,
                std::string_view name,
                std::string_view node = "n1",
                std::string_view extra = "") {
  return json::parse(fmt::format(
      R"({{"metadata": {{"name": "{}", "namespace": "d", "uid": "{}"{}}}, "spec": {{"nodeName": "{}",
      "containers": [{{"name": "main", "env": [{{"name": "A", "value": "hunter2"}}]}}]}},
      "status": {{"phase": "Running", "qosClass": "BestEffort", "containerStatuses": [
      {{"name": "main", "containerID": "containerd://c{}", "state": {{"running": {{}}}}}}]}}}})",
      name,
      uid,
      extra,
      node,
      uid));
}

json::value node(std::string_view name, std::string_view uid = "nu", int cpus = 8) {
  return json::parse(fmt::format(
      R"({{"metadata": {{"name": "{}", "uid": "{}"}}, "status": {{"capacity": {{"cpu": "{}"}}}}}})",
      name,
      uid,
      cpus));
}

json::value slo(std::string_view threshold, std::string_view uid = "su") {
  return json::parse(fmt::format(R"({{"metadata": {{"name": "n1", "uid": "{}"}},
      "spec": {{"resourceUsedThresholdWithBE": {}}}}})",
                                 uid,
                                 threshold));
}

std::vector<std::string> names(const ObjectStore& store) {
  std::vector<std::string> out;
  for (const auto& p : store.pods()) out.push_back(p->name);
  return out;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("states_informer/object_store") {
  TEST_CASE("a list counts when it is whole, and then replaces everything") {
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u9", "old"));
    store.stage(Kind::kPods, pod("u2", "b"));
    store.stage(Kind::kPods, pod("u1", "a"));
    CHECK(names(store) == Names{"old"});
    store.commit(Kind::kPods);
    CHECK(names(store) == Names{"a", "b"});
    store.stage(Kind::kPods, pod("u3", "c"));
    store.abandon(Kind::kPods);
    store.stage(Kind::kPods, pod("u1", "a"));
    store.commit(Kind::kPods);
    CHECK(names(store) == Names{"a"});
  }

  TEST_CASE("an unchanged object keeps its pointer and the generation") {
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u1", "a"));
    const auto first = store.pods()[0];
    const auto generation = store.generation();
    store.put(Kind::kPods, pod("u1", "a"));
    store.stage(Kind::kPods, pod("u1", "a"));
    store.commit(Kind::kPods);
    CHECK(store.pods()[0] == first);
    CHECK(store.generation() == generation);
    store.put(Kind::kPods, pod("u1", "renamed"));
    CHECK(store.generation() > generation);
    CHECK(first->name == "a");  // what was handed out never changes
  }

  TEST_CASE("pods of other nodes are not ours, and no fault") {
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u1", "a", "n2"));
    store.stage(Kind::kPods, pod("u2", "b", ""));
    store.commit(Kind::kPods);
    store.put(Kind::kNode, node("n2"));
    CHECK(store.pods().empty());
    CHECK(store.node() == nullptr);
    CHECK(store.faults().empty());
  }

  TEST_CASE("without a node name kubelet's pods are all taken") {
    ObjectStore store{"", false};
    store.put(Kind::kPods, pod("u1", "a", "n1"));
    store.put(Kind::kPods, pod("u2", "b", ""));
    CHECK(names(store) == Names{"a", "b"});
  }

  TEST_CASE("deleted: by uid, so that a new object of the same name stays") {
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u1", "a"));
    store.put(Kind::kPods, pod("u2", "a"));
    store.erase(Kind::kPods, pod("u1", "a"));
    store.erase(Kind::kPods, pod("u7", "never-seen"));
    REQUIRE(store.pods().size() == 1);
    CHECK(store.pods()[0]->uid == "u2");
    store.put(Kind::kNodeSlo, slo("{}", "s1"));
    store.put(Kind::kNodeSlo, slo(R"({"enable": true})", "s2"));
    store.erase(Kind::kNodeSlo, slo("{}", "s1"));
    REQUIRE(store.slo() != nullptr);
    CHECK(store.slo()->threshold->enable == true);
    store.erase(Kind::kNodeSlo, slo("{}", "s2"));
    CHECK(store.slo() == nullptr);
  }

  TEST_CASE("an object that cannot be decoded keeps its last good form and says why") {
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u1", "a"));
    auto bad = pod("u1", "a");
    bad.as_object()["metadata"].as_object()["namespace"] = "../etc";
    store.put(Kind::kPods, bad);
    CHECK(names(store) == Names{"a"});
    REQUIRE(store.faults().size() == 1);
    CHECK(contains(store.faults()[0], "metadata.namespace"));
    store.stage(Kind::kPods, bad);
    store.commit(Kind::kPods);
    CHECK(names(store) == Names{"a"});
    CHECK(store.faults().size() >= 1);
    store.put(Kind::kPods, pod("u1", "a"));
    store.stage(Kind::kPods, pod("u1", "a"));
    store.commit(Kind::kPods);
    CHECK(store.faults().empty());
    store.put(Kind::kPods, json::value(5));
    CHECK(names(store) == Names{"a"});
    CHECK(store.faults().size() == 1);
  }

  TEST_CASE("a refused NodeSLO field keeps its last good value") {
    ObjectStore store{"n1", false};
    store.put(Kind::kNodeSlo, slo(R"({"enable": true, "cpuSuppressThresholdPercent": 50})"));
    store.put(Kind::kNodeSlo, slo(R"({"enable": true, "cpuSuppressThresholdPercent": 500})"));
    CHECK(store.slo()->threshold->cpu_suppress_threshold_percent == 50);
    REQUIRE(store.faults().size() == 1);
    CHECK(contains(store.faults()[0], "cpuSuppressThresholdPercent: 500"));
  }

  TEST_CASE("paths follow the driver") {
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u-1", "a"));
    CHECK(store.pods()[0]->cgroup.is_root());
    store.set_layout(kernel::CgroupLayout{CgroupDriver::kCgroupfs});
    CHECK(store.pods()[0]->cgroup.str() == "kubepods/besteffort/podu-1");
    REQUIRE(store.pods()[0]->containers[0].cgroup.has_value());
    CHECK(store.pods()[0]->containers[0].cgroup->str() == "kubepods/besteffort/podu-1/cu-1");
    store.set_layout(kernel::CgroupLayout{CgroupDriver::kSystemd});
    CHECK(store.pods()[0]->cgroup.str() ==
          "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice");
    const auto before = store.pods()[0];
    store.set_layout(kernel::CgroupLayout{CgroupDriver::kSystemd});
    CHECK(store.pods()[0] == before);
  }

  TEST_CASE("two pods never share a cgroup: the second is refused until the first is gone") {
    const std::string mirror =
        R"(, "annotations": {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.hash": "u1"})";
    ObjectStore store{"n1", false};
    store.put(Kind::kPods, pod("u1", "victim"));
    store.put(Kind::kPods, pod("u2", "mirror", "n1", mirror));
    CHECK(names(store) == Names{"victim"});
    REQUIRE(store.faults().size() == 1);
    CHECK(contains(store.faults()[0], "d/mirror"));
    store.erase(Kind::kPods, pod("u1", "victim"));
    store.put(Kind::kPods, pod("u2", "mirror", "n1", mirror));
    CHECK(names(store) == Names{"mirror"});
  }

  TEST_CASE("the cache gets what changed, once, without secrets") {
    ObjectStore store{"n1", true};
    store.stage(Kind::kPods, pod("u1", "a"));
    store.stage(Kind::kPods, pod("u2", "b"));
    store.commit(Kind::kPods);
    store.put(Kind::kNode, node("n1"));
    const auto first = store.take_change();
    REQUIRE(first.put.size() == 3);
    CHECK(first.put[0].kind == "node");
    CHECK(first.put[1].kind == "pods");
    CHECK(first.put[1].id == "u1");
    CHECK_FALSE(contains(first.put[1].text, "hunter2"));
    CHECK(contains(first.put[1].text, R"("kind":"Pod")"));
    CHECK(store.take_change().put.empty());
    // The same object again is no change, though its resourceVersion moved.
    store.put(Kind::kPods, pod("u1", "a", "n1", R"(, "resourceVersion": "99")"));
    CHECK(store.take_change().put.empty());
    store.erase(Kind::kPods, pod("u2", "b"));
    store.put(Kind::kPods, pod("u1", "c"));
    const auto second = store.take_change();
    REQUIRE(second.put.size() == 1);
    CHECK(second.put[0].id == "u1");
    REQUIRE(second.erase.size() == 1);
    CHECK(second.erase[0].second == "u2");
  }

  TEST_CASE("what was cached restores the same objects, and is not written again") {
    ObjectStore store{"n1", true};
    store.put(Kind::kPods, pod("u1", "a"));
    store.put(Kind::kNode, node("n1"));
    store.put(Kind::kNodeSlo, slo(R"({"enable": true})"));
    store.put(Kind::kNodeMetric, json::parse(R"({"metadata": {"name": "n1", "uid": "m"}, "spec":
              {"metricCollectPolicy": {"reportIntervalSeconds": 30}}})"));
    ObjectStore again{"n1", true};
    for (const auto& cached : store.take_change().put) CHECK(again.restore(cached));
    CHECK(*again.pods().at(0) == *store.pods().at(0));
    CHECK(*again.node() == *store.node());
    CHECK(again.node_uid() == "nu");
    CHECK(*again.slo() == *store.slo());
    CHECK(again.metric()->report_interval == std::chrono::seconds{30});
    CHECK(again.take_change().put.empty());
    again.stage(Kind::kPods, pod("u1", "a"));
    again.commit(Kind::kPods);
    CHECK(again.take_change().put.empty());
  }

  TEST_CASE("cached rows that make no sense are refused") {
    ObjectStore store{"n1", true};
    CHECK_FALSE(store.restore({"pods", "u1", "{"}));
    CHECK_FALSE(store.restore({"pods", "u1", "5"}));
    CHECK_FALSE(store.restore({"secrets", "u1", "{}"}));
    const auto text = json::serialize(pod("u1", "a", "n2"));
    CHECK_FALSE(store.restore({"pods", "u1", text}));
    CHECK_FALSE(store.restore({"pods", "other-id", json::serialize(pod("u1", "a"))}));
    CHECK(store.pods().empty());
  }
}
