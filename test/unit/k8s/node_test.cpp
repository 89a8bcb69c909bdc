#include <string>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "k8s/manifest.hpp"

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

NodeResult node_of(const std::string& text) {
  const auto documents = parse_documents(text);
  REQUIRE(documents.has_value());
  REQUIRE(documents->size() == 1);
  auto r = decode_node(documents->front());
  REQUIRE(r.has_value());
  return *r;
}

NodeResult with_annotation(const std::string& key, const std::string& value) {
  return node_of(
      "metadata: {name: n1, annotations: {" + key + ": '" + value +
      "'}}\n"
      "status: {capacity: {cpu: 8, memory: 16Gi}, allocatable: {cpu: 7500m, memory: 15Gi}}\n");
}

const std::string kReservation = "node.koordinator.sh/reservation";
const std::string kSystemQos = "node.koordinator.sh/system-qos-resource";
const std::string kPolicy = "kubelet.koordinator.sh/cpu-manager-policy";

}  // namespace

TEST_SUITE("k8s/node") {
  TEST_CASE("capacity, allocatable and what they leave reserved") {
    const auto r = node_of(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  capacity: {cpu: "8", memory: 16Gi, pods: 110}
  allocatable: {cpu: 7500m, memory: 15Gi, kubernetes.io/batch-cpu: 3000, kubernetes.io/batch-memory: 4Gi}
)");
    CHECK(r.faults.empty());
    CHECK(r.node.name == "n1");
    CHECK(r.node.cpu_capacity == MilliCpu{8000});
    CHECK(r.node.memory_capacity == Bytes{16LL << 30});
    CHECK(r.node.cpu_allocatable == MilliCpu{7500});
    CHECK(r.node.memory_allocatable == Bytes{15LL << 30});
    CHECK(r.node.batch_cpu_allocatable == MilliCpu{3000});
    CHECK(r.node.batch_memory_allocatable == Bytes{4LL << 30});
    CHECK(r.node.cpu_reserved == MilliCpu{500});
    CHECK(r.node.memory_reserved == Bytes{1LL << 30});
  }

  TEST_CASE("absent is unknown: nothing is reserved and nothing is allocatable") {
    const auto r = node_of("metadata: {name: n1}");
    CHECK(r.faults.empty());
    CHECK(r.node.cpu_capacity == MilliCpu{0});
    CHECK_FALSE(r.node.cpu_allocatable.has_value());
    CHECK_FALSE(r.node.batch_cpu_allocatable.has_value());
    CHECK(r.node.cpu_reserved == MilliCpu{0});
    CHECK(r.node.cpu_policy == KubeletCpuPolicy::kUnknown);
    // More allocatable than capacity (amplified nodes) reserves nothing.
    CHECK(node_of("metadata: {name: n1}\nstatus: {capacity: {cpu: 4}, allocatable: {cpu: 6}}")
              .node.cpu_reserved == MilliCpu{0});
  }

  TEST_CASE("raw allocatable is what the node had before it was amplified") {
    const std::string key = "node.koordinator.sh/raw-allocatable";
    const auto r = with_annotation(key, R"({"cpu":"16","memory":"64Gi"})");
    CHECK(r.faults.empty());
    CHECK(r.node.raw_cpu_allocatable == MilliCpu{16'000});
    CHECK(r.node.raw_memory_allocatable == Bytes{64LL << 30});
    const auto half = with_annotation(key, R"({"cpu":"16","memory":"much"})");
    CHECK(half.faults.size() == 1);
    CHECK(half.node.raw_cpu_allocatable == MilliCpu{16'000});
    CHECK_FALSE(half.node.raw_memory_allocatable);
    CHECK_FALSE(with_annotation("other", "1").node.raw_cpu_allocatable);
    CHECK(with_annotation(key, "no json").faults.size() == 1);
  }
  TEST_CASE("API-3.4: the reservation wins where it is larger, reservedCPUs before its cpu") {
    struct Case {
      const char* json;
      std::int64_t cpu;
      std::int64_t memory_gi;
      const char* cpus;
    };
    for (const auto& c :
         {Case{R"({"resources":{"cpu":"2","memory":"4Gi"}})", 2000, 4, ""},
          Case{R"({"resources":{"cpu":"2"},"reservedCPUs":"0-2"})", 3000, 1, "0-2"},
          Case{R"({"reservedCPUs":"0","applyPolicy":"ReservedCPUsOnly"})", 1000, 1, "0"},
          Case{R"({"resources":{"cpu":"100m","memory":"1Mi"}})", 500, 1, ""},
          Case{R"({"reservedcpus":"1-2"})", 2000, 1, "1-2"},
          Case{R"({"resources":{"cpu":1.5}})", 1500, 1, ""},
          Case{"{}", 500, 1, ""}}) {
      CAPTURE(c.json);
      const auto r = with_annotation(kReservation, c.json);
      CHECK(r.faults.empty());
      CHECK(r.node.cpu_reserved == MilliCpu{c.cpu});
      CHECK(r.node.memory_reserved == Bytes{c.memory_gi << 30});
      CHECK(r.node.reserved_cpus == CpuSet::parse(c.cpus).value());
    }
  }

  TEST_CASE("system CPUs are kept apart unless the flag says no") {
    CHECK(with_annotation(kSystemQos, R"({"cpuset":"0-1"})").node.system_cpus.count() == 2);
    CHECK(with_annotation(kSystemQos, R"({"cpuset":"0-1","cpusetExclusive":true})")
              .node.system_cpus.count() == 2);
    CHECK(with_annotation(kSystemQos, R"({"cpuset":"0-1","cpusetExclusive":false})")
              .node.system_cpus.empty());
  }

  TEST_CASE("kubelet's CPU policy as JSON or plain") {
    CHECK(with_annotation(kPolicy, R"({"policy":"static","options":{"full-pcpus-only":"true"}})")
              .node.cpu_policy == KubeletCpuPolicy::kStatic);
    CHECK(with_annotation(kPolicy, "static").node.cpu_policy == KubeletCpuPolicy::kStatic);
    CHECK(with_annotation(kPolicy, "none").node.cpu_policy == KubeletCpuPolicy::kNone);
    CHECK(with_annotation(kPolicy, "{}").node.cpu_policy == KubeletCpuPolicy::kUnknown);
    CHECK(with_annotation(kPolicy, "{}").faults.empty());
    const auto odd = with_annotation(kPolicy, R"({"policy":"dynamic"})");
    CHECK(odd.node.cpu_policy == KubeletCpuPolicy::kUnknown);
    CHECK(odd.faults.size() == 1);
  }

  TEST_CASE("a damaged annotation is a fault and the capacity stays known") {
    for (const auto& key : {kReservation, kSystemQos, kPolicy}) {
      CAPTURE(key);
      const auto r = with_annotation(key, "{broken");
      REQUIRE(r.faults.size() == 1);
      CHECK(r.faults[0].find("node n1: metadata.annotations[" + key + "]: ") == 0);
      CHECK(r.node.cpu_capacity == MilliCpu{8000});
      CHECK(r.node.cpu_reserved == MilliCpu{500});
    }
    const auto bad_set = with_annotation(kReservation, R"({"reservedCPUs":"0-x"})");
    CHECK(bad_set.faults.size() == 1);
    CHECK(bad_set.node.reserved_cpus.empty());
  }

  TEST_CASE("amounts of the wrong kind are faults, a node without a name is an error") {
    const auto r =
        node_of("metadata: {name: n1}\nstatus: {capacity: {cpu: -4, memory: [1]}, allocatable: 3}");
    CHECK(r.faults.size() == 3);
    CHECK(r.node.cpu_capacity == MilliCpu{0});
    CHECK(decode_node(boost::json::value{{"metadata", boost::json::object{}}}).has_error());
    CHECK(decode_node(boost::json::value{nullptr}).has_error());
  }

  TEST_CASE("of labels and annotations only our own domain's are kept") {
    const auto node = decode_node(boost::json::parse(R"({"metadata": {"name": "n1",
      "labels": {"node.koordinator.sh/enable-numa-reservation": "true", "zone": "a",
                 "evilkoordinator.sh/x": "1"},
      "annotations": {"koordinator.sh/a": "1", "volumes.kubernetes.io/x": "y"}}})"))
                          .value()
                          .node;
    using Map = std::map<std::string, std::string>;
    CHECK(node.labels == Map{{"node.koordinator.sh/enable-numa-reservation", "true"}});
    CHECK(node.annotations == Map{{"koordinator.sh/a", "1"}});
  }
}
