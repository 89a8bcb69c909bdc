#include "modules/states_informer/merge.hpp"

#include <doctest/doctest.h>

#include "fixtures.hpp"

using namespace koordlet;
using namespace koordlet::states;
using namespace koordlet::test;

namespace {

using Files = std::map<std::string, ManifestFile>;

ManifestFile file(const std::string& text) { return read_manifest(text, 4u << 20, nullptr); }

Merged merged(const Files& files, const std::string& node = "n1") {
  return merge(files, node, kernel::CgroupLayout{CgroupDriver::kCgroupfs}, NodeState{});
}

std::vector<std::string> names(const Merged& m) {
  std::vector<std::string> out;
  for (const auto& p : m.pods) out.push_back(p->name);
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("states_informer/merge") {
  TEST_CASE("pods of this node only, sorted by uid") {
    const auto m = merged(
        {{"a", file(pod_yaml("u3", "c", "n1") + pod_yaml("u1", "a") + pod_yaml("u2", "b", "n2"))}});
    CHECK(names(m) == Names{"a", "c"});
    CHECK(m.faults.empty());
    const auto any = merged({{"a", file(pod_yaml("u2", "b", "n2"))}}, "");
    CHECK(names(any) == Names{"b"});  // the node's name is not known: nothing can be told apart
    const auto by_node = merged(
        {{"a", file(node_yaml("n1") + pod_yaml("u2", "b", "n2") + pod_yaml("u1", "a", "n1"))}}, "");
    CHECK(names(by_node) == Names{"a"});
  }

  TEST_CASE("pitfall 19: two pods of one uid are named both, the first by file is taken") {
    const auto m = merged({{"b.yaml", file(pod_yaml("u1", "second"))},
                           {"a.yaml", file(pod_yaml("u1", "first") + pod_yaml("u2", "other"))}});
    CHECK(names(m) == Names{"first", "other"});
    REQUIRE(m.faults.size() == 1);
    CHECK(contains(m.faults[0], "default/first (a.yaml)"));
    CHECK(contains(m.faults[0], "default/second (b.yaml)"));
    CHECK(contains(m.faults[0], "u1"));
    // Each pod has its own containers.
    CHECK(m.pods[0]->containers[0].id == "cu1");
    CHECK(m.pods[1]->containers[0].id == "cu2");
  }

  TEST_CASE("two pods of one cgroup are one too many") {
    const std::string mirror =
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: mirror, namespace: d, uid: u9, "
        "annotations: {kubernetes.io/config.hash: u1, kubernetes.io/config.mirror: u1}}\n";
    const auto m = merged({{"a", file(pod_yaml("u1", "real") + mirror)}});
    CHECK(names(m) == Names{"real"});
    CHECK(m.faults.size() == 1);
  }

  TEST_CASE("121: paths by the driver that was seen, none while none was seen") {
    const std::string uid = "7712555c-ce62-454a-9e18-9ff0217b8941";
    const Files files{{"a", file(pod_yaml(uid, "a", "", "Burstable"))}};
    const auto none = merge(files, "n1", std::nullopt, NodeState{});
    REQUIRE(none.pods.size() == 1);
    CHECK(none.pods[0]->cgroup.is_root());
    CHECK_FALSE(none.pods[0]->containers[0].cgroup.has_value());
    const auto systemd =
        merge(files, "n1", kernel::CgroupLayout{CgroupDriver::kSystemd}, NodeState{});
    CHECK(systemd.pods[0]->cgroup.str() ==
          "kubepods.slice/kubepods-burstable.slice/"
          "kubepods-burstable-pod7712555c_ce62_454a_9e18_9ff0217b8941.slice");
    CHECK(systemd.pods[0]->containers[0].cgroup->name() == "cri-containerd-c" + uid + ".scope");
    const auto cgroupfs = merged(files);
    CHECK(cgroupfs.pods[0]->cgroup.str() == "kubepods/burstable/pod" + uid);
    CHECK(cgroupfs.pods[0]->containers[0].cgroup->str() ==
          "kubepods/burstable/pod" + uid + "/c" + uid);
  }

  TEST_CASE("a mirror pod lives in the cgroup of kubelet's own uid") {
    const auto m =
        merged({{"a",
                 file("apiVersion: v1\nkind: Pod\nmetadata: {name: m, namespace: d, uid: u9, "
                      "annotations: {kubernetes.io/config.hash: abc, "
                      "kubernetes.io/config.mirror: abc}}\n")}});
    REQUIRE(m.pods.size() == 1);
    CHECK(m.pods[0]->uid == "u9");
    CHECK(m.pods[0]->cgroup.str() == "kubepods/besteffort/podabc");
  }

  TEST_CASE("Node and NodeSLO: the one named like the node, or the only Node") {
    const auto named =
        merged({{"a", file(node_yaml("n0") + node_yaml("n1", 4))},
                {"b", file(slo_yaml("n1", "{enable: true}") + slo_yaml("n2", "{}"))}});
    REQUIRE(named.node != nullptr);
    CHECK(named.node->name == "n1");
    REQUIRE(named.slo != nullptr);
    CHECK(named.slo->threshold->enable == true);
    CHECK(named.faults.empty());

    const auto only = merged({{"a", file(node_yaml("n7"))}, {"b", file(slo_yaml("n7", "{}"))}}, "");
    REQUIRE(only.node != nullptr);
    CHECK(only.node->name == "n7");
    CHECK(only.slo != nullptr);

    // Another node's policy must not switch this node's caps off.
    const auto foreign =
        merged({{"a", file(node_yaml("n7"))}, {"b", file(slo_yaml("x", "{enable: false}"))}}, "");
    REQUIRE(foreign.node != nullptr);
    CHECK(foreign.slo == nullptr);
    REQUIRE(foreign.faults.size() == 1);
    CHECK(contains(foreign.faults[0], "1 NodeSLO objects: expected one named n7"));

    const auto lost = merged({{"a", file(node_yaml("n2") + node_yaml("n3"))}});
    CHECK(lost.node == nullptr);
    REQUIRE(lost.faults.size() == 1);
    CHECK(contains(lost.faults[0], "2 Node objects: expected one named n1"));

    const auto twice = merged({{"a", file(node_yaml("n1", 4))}, {"b", file(node_yaml("n1", 8))}});
    CHECK(twice.node->cpu_capacity == MilliCpu{4000});
    REQUIRE(twice.faults.size() == 1);
    CHECK(contains(twice.faults[0], "b: Node n1 stands in a already"));

    const auto unnamed =
        merged({{"a", file(node_yaml("n5"))},
                {"b", file(slo_yaml("n5", "{enable: true}") + slo_yaml("n6", "{}"))}},
               "");
    REQUIRE(unnamed.slo != nullptr);
    CHECK(unnamed.slo->threshold->enable == true);
  }

  TEST_CASE("pitfall 2: no NodeSLO is nullptr, the pods are there all the same") {
    const auto m = merged({{"a", file(pod_yaml("u1", "a") + pod_yaml("u2", "b"))}});
    CHECK(m.slo == nullptr);
    CHECK(m.node == nullptr);
    CHECK(m.pods.size() == 2);
    CHECK(m.faults.empty());
  }

  TEST_CASE("objects that did not change keep their pointers") {
    const Files before{
        {"a",
         file(node_yaml("n1") + pod_yaml("u1", "a") + pod_yaml("u2", "b") + slo_yaml("n1", "{}"))}};
    const auto first = merged(before);
    NodeState state;
    state.node = first.node;
    state.pods = first.pods;
    state.slo = first.slo;
    const Files after{{"z",
                       file(node_yaml("n1") + pod_yaml("u1", "a") + pod_yaml("u2", "other") +
                            slo_yaml("n1", "{enable: true}"))}};
    const auto second = merge(after, "n1", kernel::CgroupLayout{CgroupDriver::kCgroupfs}, state);
    CHECK(second.node == first.node);
    CHECK(second.pods[0] == first.pods[0]);
    CHECK(second.pods[1] != first.pods[1]);
    CHECK(second.slo != first.slo);
  }

  TEST_CASE("faults carry the file's name, and an unread file unconfirms what it holds") {
    const auto good = file(pod_yaml("u1", "a"));
    const auto m = merged({{"pods.yaml", keep_last(&good, "line 3: odd")},
                           {"slo.yaml", file(slo_yaml("n1", "{cpuSuppressThresholdPercent: 101}"))},
                           {"junk.yaml", keep_last(nullptr, "no document in it")}});
    CHECK(m.faults ==
          std::vector<std::string>{"junk.yaml: no document in it",
                                   "pods.yaml: line 3: odd",
                                   "slo.yaml: nodeslo n1: spec.resourceUsedThresholdWithBE."
                                   "cpuSuppressThresholdPercent: 101: expected 0..100"});
    CHECK_FALSE(m.pods_confirmed);
    CHECK(m.node_confirmed);
    CHECK(m.slo_confirmed);
  }
}
