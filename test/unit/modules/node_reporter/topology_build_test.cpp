#include "modules/node_reporter/topology_build.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "k8s/node_topology.hpp"
#include "k8s/same_json.hpp"
#include "topology_fixture.hpp"

namespace koordlet {
namespace {

namespace json = boost::json;
using test::example;
using test::machine;
using test::set;
using test::small;
using test::with_cpus;

json::value annotation(const TopologyInput& in, const char* key) {
  return json::parse(build_topology(in).annotations.at(key));
}

TEST_SUITE("node_reporter/topology pools") {
  TEST_CASE("4.4: the example's pools") {
    const auto p = cpu_pools(example());
    REQUIRE(p.ls.size() == 1);
    CHECK(p.ls[0].cpus == set("1,7"));
    REQUIRE(p.be.size() == 1);
    CHECK(p.be[0].cpus == set("1,4-5,7"));
    CHECK(annotation(example(), "node.koordinator.sh/cpu-shared-pools") ==
          json::parse(R"([{"socket":0,"node":0,"cpuset":"1,7"}])"));
    CHECK(annotation(example(), "node.koordinator.sh/pod-cpu-allocs") ==
          json::parse(R"([{"namespace":"d","name":"static","uid":"uid-static","cpuset":"2-3",
                           "managedByKubelet":true}])"));
    CHECK(annotation(example(), "node.koordinator.sh/reservation") ==
          json::parse(R"({"reservedCPUs":"0"})"));
  }
  TEST_CASE("kubelet's CPUs of LS, BE and scheduler-placed pods are shared ones") {
    auto in = small();
    in.pods = {with_cpus("ls", QosClass::kLs, ""),
               with_cpus("be", QosClass::kBe, ""),
               with_cpus("placed", QosClass::kLsr, "6-7")};
    in.kubelet_cpus = {{"uid-ls", set("0")},
                       {"uid-be", set("1")},
                       {"uid-placed", set("2")},
                       {"uid-unknown", set("3")}};
    const auto p = cpu_pools(in);
    CHECK(p.ls[0].cpus == set("0-5"));
    CHECK(p.be[0].cpus == set("0-7"));
    CHECK(annotation(in, "node.koordinator.sh/pod-cpu-allocs").is_null());
  }
  TEST_CASE("a pool that the reservation empties keeps its entry, without CPUs") {
    auto in = small();
    in.cpus = machine(8, 2);
    (*in.node_annotations)["node.koordinator.sh/reservation"] = R"({"reservedCPUs":"0-3"})";
    CHECK(annotation(in, "node.koordinator.sh/be-cpu-shared-pools") ==
          json::parse(R"([{"socket":0,"node":0},{"socket":1,"node":1,"cpuset":"4-7"}])"));
  }
  TEST_CASE("a reservation by amount takes whole cores first, rounded up") {
    auto in = small();
    (*in.node_annotations)["node.koordinator.sh/reservation"] = R"({"resources":{"cpu":"2500m"}})";
    CHECK(cpu_pools(in).reserved == set("0-2"));
    in.cpus = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 0, 0, 0}, {3, 1, 0, 0}};  // siblings 0+2, 1+3
    (*in.node_annotations)["node.koordinator.sh/reservation"] = R"({"resources":{"cpu":2}})";
    CHECK(cpu_pools(in).reserved == set("0,2"));
    (*in.node_annotations)["node.koordinator.sh/reservation"] = "damaged";
    CHECK(cpu_pools(in).reserved.empty());
  }
  TEST_CASE("exclusive CPUs of the system class are in no pool, finished pods hold none") {
    auto in = small();
    auto node = std::make_shared<Node>(*in.node);
    node->system_cpus = set("0-1");
    in.node = node;
    auto done = std::make_shared<Pod>(*with_cpus("lsr", QosClass::kLsr, "4-5"));
    done->phase = PodPhase::kFailed;
    in.pods = {done};
    CHECK(cpu_pools(in).ls[0].cpus == set("2-7"));
  }
  TEST_CASE("cpu_manager_state: static entries by pod, other policies none, damage named") {
    const auto read = k8s::decode_cpu_manager_state(json::parse(
        R"({"policyName":"static","defaultCpuSet":"0","entries":{"u1":{"a":"2-3","b":"5"},
            "u2":{"c":"x"},"../u3":{"d":"1"}}})"));
    REQUIRE(read.has_value());
    CHECK(read->pods == std::map<std::string, CpuSet>{{"u1", set("2-3,5")}});
    CHECK(read->faults.size() == 2);
    CHECK(read->policy == KubeletCpuPolicy::kStatic);
    const auto none = k8s::decode_cpu_manager_state(
        json::parse(R"({"policyName":"none","entries":{"u1":{"a":"2"}}})"));
    CHECK(none->pods.empty());
    CHECK(k8s::decode_cpu_manager_state(json::parse("3")).has_error());
  }
}

TEST_SUITE("node_reporter/topology object") {
  TEST_CASE("topologyPolicies by policy and scope") {
    auto in = small();
    CHECK(build_topology(in).policy == "None");
    k8s::KubeletConfig kubelet;
    kubelet.topology_manager_policy = "single-numa-node";
    in.kubelet = kubelet;
    CHECK(build_topology(in).policy == "SingleNUMANodeContainerLevel");
    in.kubelet->topology_manager_scope = "pod";
    CHECK(build_topology(in).policy == "SingleNUMANodePodLevel");
    in.kubelet->topology_manager_policy = "restricted";
    CHECK(build_topology(in).policy == "RestrictedPodLevel");
    in.kubelet->topology_manager_policy = "best-effort";
    CHECK(build_topology(in).policy == "BestEffortPodLevel");
    in.kubelet->topology_manager_policy = "none";
    CHECK(build_topology(in).policy == "None");
  }
  TEST_CASE("annotations of the kubelet and of the node: unknown is {}, no annotations is null") {
    auto in = small();
    CHECK(annotation(in, "kubelet.koordinator.sh/cpu-manager-policy") == json::object{});
    CHECK(annotation(in, "node.koordinator.sh/system-qos-resource") == json::object{});
    CHECK(annotation(in, "node.koordinator.sh/reservation") == json::object{});
    k8s::KubeletConfig kubelet;
    kubelet.cpu_manager_policy = "static";
    kubelet.cpu_manager_policy_options["full-pcpus-only"] = "true";
    kubelet.reserved_system_cpus = "0-1";
    in.kubelet = kubelet;
    CHECK(annotation(in, "kubelet.koordinator.sh/cpu-manager-policy") ==
          json::parse(R"({"policy":"static","options":{"full-pcpus-only":"true"},
                          "reservedCPUs":"0-1"})"));
    (*in.node_annotations)["node.koordinator.sh/system-qos-resource"] = R"({"cpuset":"0-1"})";
    CHECK(annotation(in, "node.koordinator.sh/system-qos-resource") ==
          json::parse(R"({"cpuset":"0-1"})"));
    in.node_annotations.reset();
    CHECK(annotation(in, "node.koordinator.sh/system-qos-resource").is_null());
  }
  TEST_CASE("NUMA reservation: 8 CPUs with 7500m allocatable, 2 zones: 3750m each") {
    auto in = small();
    in.cpus = machine(8, 2);
    auto node = std::make_shared<Node>(*in.node);
    node->cpu_allocatable = MilliCpu{7500};
    in.node = node;
    in.node_labels["node.koordinator.sh/enable-numa-reservation"] = "true";
    const json::value made = k8s::new_node_topology("n1", "uid-1", build_topology(in));
    const auto& zones = made.at("zones").as_array();
    REQUIRE(zones.size() == 2);
    for (const auto& zone : zones) {
      const auto& cpu = zone.at("resources").at(0);
      CHECK(cpu.at("name") == "cpu");
      CHECK(cpu.at("capacity") == "4");
      CHECK(cpu.at("allocatable") == "3750m");
    }
    CHECK(made.at("metadata").at("labels").at("node.koordinator.sh/enable-numa-reservation") ==
          "true");
    in.node_labels.clear();
    const json::value off = k8s::new_node_topology("n1", "uid-1", build_topology(in));
    CHECK(off.at("zones").at(0).at("resources").at(0).at("allocatable") == "4");
  }
  TEST_CASE("zones: memory less huge pages, text order of names, unknown amounts left out") {
    TopologyInput in = small();
    in.cpus = machine(22, 11);
    const json::value made = k8s::new_node_topology("n1", "", build_topology(in));
    const auto& zones = made.at("zones").as_array();
    REQUIRE(zones.size() == 11);
    CHECK(zones[0].at("name") == "node-0");
    CHECK(zones[2].at("name") == "node-10");
    CHECK(zones[3].at("name") == "node-2");
    CHECK(zones[0].at("resources") ==
          json::parse(R"([{"name":"cpu","capacity":"2","available":"2","allocatable":"2"},
            {"name":"hugepages-1Gi","capacity":"1Gi","available":"1Gi","allocatable":"1Gi"},
            {"name":"hugepages-2Mi","capacity":"0","available":"0","allocatable":"0"},
            {"name":"memory","capacity":"15Gi","available":"15Gi","allocatable":"15Gi"}])"));
    CHECK(zones[1].at("resources").as_array().size() == 1);
  }
  TEST_CASE("what belongs to others stays: labels, annotations, resources in a zone that stays") {
    json::value object = k8s::new_node_topology("n1", "uid-1", build_topology(small()));
    object.at("metadata").at("annotations").as_object()["other"] = "x";
    auto& resources = object.at("zones").at(0).at("resources").as_array();
    resources.push_back(json::parse(
        R"({"name":"kubernetes.io/batch-cpu","capacity":"1k","allocatable":"1k","available":"1k"})"));
    CHECK_FALSE(k8s::update_node_topology(object, build_topology(small())).value().has_value());
    const auto changed = k8s::update_node_topology(object, build_topology(example())).value();
    REQUIRE(changed.has_value());
    const json::value after = *changed;
    CHECK(after.at("metadata").at("annotations").at("other") == "x");
    CHECK(json::serialize(after.at("zones")).find("batch-cpu") != std::string::npos);
    CHECK(k8s::update_node_topology(json::parse("[]"), {}).has_error());
  }
  TEST_CASE("same meaning: order of members and entries, CPU lists and quantities by value") {
    CHECK(k8s::same_json_text(R"([{"a":1,"cpuset":"0-1,3"},{"a":2}])",
                              R"([{"a":2},{"cpuset":"3,0,1","a":1}])"));
    CHECK(k8s::same_json_text(R"({"capacity":"1000m"})", R"({"capacity":"1"})"));
    CHECK_FALSE(k8s::same_json_text(R"({"cpuset":"0-1"})", R"({"cpuset":"0-2"})"));
    CHECK_FALSE(k8s::same_json_text(R"({"name":"0-1"})", R"({"name":"0,1"})"));
    CHECK_FALSE(k8s::same_json_text("null", "{}"));
    CHECK_FALSE(k8s::same_json_text("damaged", "{}"));
    CHECK(k8s::same_json_text("damaged", "damaged"));
  }
}

}  // namespace
}  // namespace koordlet
