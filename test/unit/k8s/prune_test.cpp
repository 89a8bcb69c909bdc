#include "k8s/prune.hpp"

#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "k8s/manifest.hpp"

using namespace koordlet;
using namespace koordlet::k8s;
namespace json = boost::json;

namespace {

constexpr const char* kPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "web", "namespace": "d", "uid": "u1", "resourceVersion": "7",
    "labels": {"koordinator.sh/qosClass": "LS"},
    "annotations": {"scheduling.koordinator.sh/resource-status": "{\"cpuset\":\"2-3\"}",
      "kubectl.kubernetes.io/last-applied-configuration": "{\"env\":\"hunter2\"}"},
    "ownerReferences": [{"kind": "ReplicaSet", "name": "web-1", "uid": "o1", "controller": true}],
    "managedFields": [{"manager": "kubectl"}], "deletionTimestamp": "2026-07-24T06:52:45Z"},
  "spec": {"nodeName": "n1", "priority": 9500, "volumes": [{"name": "v", "secret": {}}],
    "resources": {"limits": {"cpu": "4"}},
    "containers": [{"name": "main", "image": "i", "env": [{"name": "PASSWORD", "value": "hunter2"}],
      "command": ["hunter2"], "resources": {"requests": {"cpu": "1", "memory": "1Gi"},
      "limits": {"cpu": "2", "memory": "1Gi"}}}],
    "initContainers": [{"name": "side", "restartPolicy": "Always",
      "env": [{"name": "TOKEN", "value": "hunter2"}]}]},
  "status": {"phase": "Running", "qosClass": "Burstable", "podIP": "10.0.0.1",
    "containerStatuses": [{"name": "main", "containerID": "containerd://abc", "image": "i",
      "state": {"running": {"startedAt": "2026-07-24T06:52:45Z"}},
      "lastState": {"terminated": {"message": "hunter2"}}}],
    "initContainerStatuses": [{"name": "side", "containerID": "containerd://def",
      "state": {"waiting": {"message": "hunter2"}}}]}
})";

}  // namespace

TEST_SUITE("k8s/prune") {
  TEST_CASE("a pruned pod decodes to the same pod") {
    const auto whole = json::parse(kPod);
    const auto before = decode_pod(whole).value();
    const auto after = decode_pod(prune(whole)).value();
    CHECK(before.pod == after.pod);
    CHECK(before.node_name == after.node_name);
    REQUIRE(after.pod.containers.size() == 2);
    CHECK(after.pod.containers[0].running);
    CHECK(after.pod.terminating);
    CHECK(after.pod.allocated_cpus.to_string() == "2-3");
  }

  TEST_CASE("environment, commands, messages and former manifests are never kept") {
    const auto text = json::serialize(prune(json::parse(kPod)));
    CHECK(text.find("hunter2") == std::string::npos);
    CHECK(text.find("PASSWORD") == std::string::npos);
    CHECK(text.find("secret") == std::string::npos);
    CHECK(text.find("managedFields") == std::string::npos);
  }

  TEST_CASE("a pruned node decodes to the same node") {
    const auto whole = json::parse(R"({"apiVersion": "v1", "kind": "Node",
      "metadata": {"name": "n1", "uid": "x", "annotations": {
        "node.koordinator.sh/reservation": "{\"resources\":{\"cpu\":\"2\"},\"reservedCPUs\":\"0-1\"}"}},
      "spec": {"podCIDR": "10.0.0.0/24"},
      "status": {"capacity": {"cpu": "16", "memory": "64Gi"},
        "allocatable": {"cpu": "15", "memory": "60Gi", "kubernetes.io/batch-cpu": "9000"},
        "images": [{"names": ["a"]}]}})");
    CHECK(decode_node(whole).value().node == decode_node(prune(whole)).value().node);
    CHECK(json::serialize(prune(whole)).find("images") == std::string::npos);
  }

  TEST_CASE("a NodeSLO keeps its whole spec and loses its status") {
    const auto whole = json::parse(R"({"apiVersion": "slo.koordinator.sh/v1alpha1",
      "kind": "NodeSLO", "metadata": {"name": "n1"}, "spec": {"resourceUsedThresholdWithBE":
      {"enable": true}, "extensions": {"Object": {"qosPressure": {"enable": false}}}},
      "status": {"x": 1}})");
    const auto pruned = prune(whole);
    CHECK(decode_node_slo(whole).value().slo == decode_node_slo(pruned).value().slo);
    CHECK_FALSE(pruned.get_object().contains("status"));
  }

  TEST_CASE("shapes that are wrong stay wrong, and do not crash") {
    CHECK(prune(json::value{}).is_null());
    CHECK(prune(json::value("text")).is_null());
    for (const char* text : {R"({"kind": 5})",
                             R"({"kind": "Pod", "metadata": 1, "spec": [], "status": "x"})",
                             R"({"kind": "Pod", "spec": {"containers": {"a": 1}}})",
                             R"({"kind": "Pod", "spec": {"containers": [1, null, {"name": 2}]}})",
                             R"({"kind": "Pod", "status": {"containerStatuses": [{"state": 1}]}})",
                             R"({"kind": "Secret", "data": {"password": "x"}})"}) {
      CAPTURE(text);
      const auto whole = json::parse(text);
      const auto pruned = prune(whole);
      CHECK(pruned.is_object());
      CHECK(decode_pod(whole).has_error() == decode_pod(pruned).has_error());
      CHECK_FALSE(pruned.get_object().contains("data"));
    }
  }
}
