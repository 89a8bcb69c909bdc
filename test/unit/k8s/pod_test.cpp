#include <string>

#include <doctest/doctest.h>

#include "k8s/manifest.hpp"

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

Result<PodResult> pod_of(const std::string& text) {
  const auto documents = parse_documents(text);
  REQUIRE(documents.has_value());
  REQUIRE(documents->size() == 1);
  return decode_pod(documents->front());
}

PodResult good(const std::string& text) {
  auto r = pod_of(text);
  INFO(text);
  REQUIRE(r.has_value());
  return *r;
}

const std::string kHead = "metadata: {name: web, namespace: default, uid: u1}\n";

/// One container with these resources, in flow form.
PodResult with_resources(const std::string& resources) {
  return good(kHead + "spec: {containers: [{name: c, resources: " + resources + "}]}\n");
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/pod") {
  TEST_CASE("a whole pod as the API server writes it") {
    const auto r = good(R"(
apiVersion: v1
kind: Pod
metadata:
  name: batch-1
  namespace: jobs
  uid: 7712555c-ce62-454a-9e18-9ff0217b8941
  labels: {koordinator.sh/qosClass: BE, app: x}
  annotations:
    scheduling.koordinator.sh/resource-status: '{"cpuset":"2-3,10"}'
    kubectl.kubernetes.io/last-applied-configuration: '{}'
  deletionTimestamp: "2026-07-24T06:52:45Z"
spec:
  nodeName: n1
  priority: 5500
  initContainers:
  - {name: setup, resources: {requests: {cpu: 4}}}
  - {name: proxy, restartPolicy: Always, resources: {requests: {kubernetes.io/batch-cpu: 500}}}
  containers:
  - name: main
    resources:
      requests: {kubernetes.io/batch-cpu: "1k", kubernetes.io/batch-memory: 1Gi, kubernetes.io/mid-cpu: 10, kubernetes.io/mid-memory: 20}
      limits: {kubernetes.io/batch-cpu: 2000, cpu: 0.5}
status:
  phase: Running
  qosClass: Burstable
  containerStatuses:
  - {name: main, containerID: "containerd://8f1a", state: {running: {startedAt: x}}}
  - {name: gone, containerID: "containerd://8f1b"}
  initContainerStatuses:
  - {name: setup, containerID: "cri-o://ab", state: {terminated: {}}}
  - {name: proxy, containerID: "", state: {waiting: {}}}
)");
    CHECK(r.faults.empty());
    CHECK(r.node_name == "n1");
    const Pod& pod = r.pod;
    CHECK(pod.uid == "7712555c-ce62-454a-9e18-9ff0217b8941");
    CHECK(full_name(pod) == "jobs/batch-1");
    CHECK(pod.qos == QosClass::kBe);
    CHECK(pod.kube_qos == KubeQos::kBurstable);
    CHECK(pod.priority == 5500);
    CHECK(pod.phase == PodPhase::kRunning);
    CHECK(pod.terminating);
    CHECK(pod.allocated_cpus == CpuSet::parse("2-3,10").value());
    CHECK(pod.annotations.size() == 1);
    CHECK(pod.cgroup.is_root());
    REQUIRE(pod.containers.size() == 3);
    const Container& main = pod.containers[0];
    CHECK(main.name == "main");
    CHECK(main.runtime == "containerd");
    CHECK(main.id == "8f1a");
    CHECK(main.running);
    CHECK(main.requests.batch_cpu == MilliCpu{1000});
    CHECK(main.requests.batch_memory == Bytes{1073741824});
    CHECK(main.requests.mid_cpu == MilliCpu{10});
    CHECK(main.requests.mid_memory == Bytes{20});
    CHECK(main.requests.cpu == MilliCpu{500});  // the limit stands for it
    CHECK(main.limits.batch_cpu == MilliCpu{2000});
    CHECK(pod.containers[1].init);
    CHECK(pod.containers[1].runtime == "cri-o");
    CHECK_FALSE(pod.containers[1].running);
    CHECK_FALSE(pod.containers[2].init);
    CHECK(pod.containers[2].id.empty());
    CHECK(be_cpu_request(pod) == MilliCpu{1500});
  }

  TEST_CASE("a pod without usable identity is an error that names the field") {
    struct Case {
      const char* text;
      const char* want;
    };
    for (const auto& c :
         {Case{"metadata: {name: web, namespace: d}", "pod d/web: metadata.uid: absent"},
          Case{"metadata: {name: web, namespace: d, uid: ../x}", "metadata.uid: \"../x\""},
          Case{"metadata: {name: web, namespace: d, uid: ''}", "metadata.uid: \"\""},
          Case{"metadata: {name: web, namespace: d, uid: 12}", "metadata.uid: 12"},
          Case{"metadata: {name: web, namespace: d, uid: a_b}", "metadata.uid"},
          Case{"metadata: {name: web, namespace: d, uid: a/b}", "metadata.uid"},
          Case{"metadata: {name: web, uid: u}", "pod web: metadata.namespace: absent"},
          Case{"metadata: {name: web, namespace: a.b, uid: u}", "metadata.namespace"},
          Case{"metadata: {name: Web, namespace: d, uid: u}", "metadata.name"},
          Case{"metadata: {name: web., namespace: d, uid: u}", "metadata.name"},
          Case{"metadata: {name: ../web, namespace: d, uid: u}", "metadata.name"},
          Case{"metadata: {namespace: d, uid: u}", "metadata.name: absent"},
          Case{"metadata: [1]", "metadata: expected an object"},
          Case{"spec: {}", "metadata: expected an object"}}) {
      CAPTURE(c.text);
      const auto r = pod_of(c.text);
      REQUIRE(r.has_error());
      CHECK(contains(r.error().context, c.want));
    }
    CHECK(decode_pod(boost::json::value(7)).has_error());
    CHECK(pod_of("metadata: {name: web, namespace: d, uid: " + std::string(253, 'a') + "}")
              .has_value());
    CHECK(pod_of("metadata: {name: web, namespace: d, uid: " + std::string(254, 'a') + "}")
              .has_error());
  }

  TEST_CASE("the uid of a mirror pod's cgroup is kubelet's own, that of no other pod") {
    const std::string uid = "name: web, namespace: d, uid: api-uid";
    const auto mirror = good("metadata: {" + uid +
                             ", annotations: {kubernetes.io/config.hash: abc123, "
                             "kubernetes.io/config.mirror: abc123}}");
    CHECK(cgroup_uid(mirror.pod) == "abc123");
    CHECK(mirror.pod.uid == "api-uid");
    // A tenant's own annotation must not move its pod out of sight.
    const auto forged =
        good("metadata: {" + uid + ", annotations: {kubernetes.io/config.hash: abc123}}");
    CHECK(cgroup_uid(forged.pod) == "api-uid");
    const auto damaged = good("metadata: {" + uid +
                              ", annotations: {kubernetes.io/config.hash: ../x, "
                              "kubernetes.io/config.mirror: x}}");
    CHECK(cgroup_uid(damaged.pod) == "api-uid");
    CHECK(cgroup_uid(good("metadata: {" + uid + "}").pod) == "api-uid");
  }

  TEST_CASE("in-place resize: a running container counts by what it has got, not by its spec") {
    const std::string head =
        "metadata: {name: web, namespace: d, uid: u}\nspec: {containers: [{name: c, resources: "
        "{requests: {cpu: 2, memory: 1Gi, kubernetes.io/batch-cpu: 3000}, limits: {cpu: 4}}}]}\n"
        "status: {containerStatuses: [{name: c, ";
    const std::string actual = "resources: {requests: {cpu: 500m}, limits: {cpu: 1}}}]}";
    const auto got = good(head + "state: {running: {}}, " + actual).pod.containers.at(0);
    CHECK(got.requests.cpu == MilliCpu{500});
    CHECK(got.limits.cpu == MilliCpu{1000});
    CHECK(got.requests.memory == Bytes{1ll << 30});  // not stated there: the spec
    CHECK(got.requests.batch_cpu == MilliCpu{3000});
    const auto waiting = good(head + "state: {waiting: {}}, " + actual).pod.containers.at(0);
    CHECK(waiting.requests.cpu == MilliCpu{2000});
    const auto damaged = good(head + "state: {running: {}}, resources: {requests: {cpu: x}}}]}");
    CHECK(damaged.pod.containers.at(0).requests.cpu == MilliCpu{2000});
    CHECK(damaged.faults.size() == 1);
  }

  TEST_CASE("the owner is the controller among the references") {
    const std::string head = "metadata: {name: web, namespace: d, uid: u, ownerReferences: ";
    const auto owned =
        good(head +
             "[{kind: ConfigMap, name: c, uid: u1}, {kind: Job, name: sort, uid: u2, "
             "controller: true}]}");
    REQUIRE(owned.pod.owner.has_value());
    CHECK(owned.pod.owner->kind == "Job");
    CHECK(owned.pod.owner->name == "sort");
    CHECK(owned.pod.owner->uid == "u2");
    CHECK(owned.faults.empty());
    for (const char* none : {"[]}",
                             "null}",
                             "[{kind: Job, name: a, uid: b}]}",
                             "[{kind: Job, name: a, uid: b, controller: false}]}"}) {
      CAPTURE(none);
      CHECK_FALSE(good(head + none).pod.owner.has_value());
      CHECK(good(head + none).faults.empty());
    }
  }

  TEST_CASE("a damaged owner reference is a fault and no owner") {
    const std::string head = "metadata: {name: web, namespace: d, uid: u, ownerReferences: ";
    for (const char* bad : {"5}",
                            "[5]}",
                            "[{kind: 7, name: a, uid: b, controller: true}]}",
                            "[{kind: Job, name: '', uid: b, controller: true}]}",
                            "[{kind: Job, name: a b, uid: b, controller: true}]}",
                            "[{kind: Job, name: a, uid: b, controller: 'yes'}]}"}) {
      CAPTURE(bad);
      const auto r = good(head + bad);
      CHECK_FALSE(r.pod.owner.has_value());
      REQUIRE(r.faults.size() == 1);
      CHECK(contains(r.faults[0], "metadata.ownerReferences"));
    }
  }

  TEST_CASE("kube QoS is computed when the status does not state it") {
    struct Case {
      const char* resources;
      KubeQos want;
    };
    for (const auto& c :
         {Case{"{}", KubeQos::kBestEffort},
          Case{"{requests: {kubernetes.io/batch-cpu: 1000}}", KubeQos::kBestEffort},
          Case{"{requests: {cpu: 0, memory: 0}}", KubeQos::kBestEffort},
          Case{"{requests: {cpu: 1}}", KubeQos::kBurstable},
          Case{"{limits: {memory: 1Gi}}", KubeQos::kBurstable},
          Case{"{limits: {cpu: 1, memory: 1Gi}}", KubeQos::kGuaranteed},
          Case{"{requests: {cpu: 1000m, memory: 1024Mi}, limits: {cpu: 1, memory: 1Gi}}",
               KubeQos::kGuaranteed},
          Case{"{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}",
               KubeQos::kBurstable}}) {
      CAPTURE(c.resources);
      CHECK(with_resources(c.resources).pod.kube_qos == c.want);
    }
    const std::string both = "resources: {limits: {cpu: 1, memory: 1Gi}}";
    CHECK(good(kHead + "spec: {containers: [{name: a, " + both + "}], initContainers: [{name: b}]}")
              .pod.kube_qos == KubeQos::kBurstable);
    CHECK(good(kHead + "spec: {containers: [{name: a, " + both + "}], initContainers: [{name: b, " +
               both + "}]}")
              .pod.kube_qos == KubeQos::kGuaranteed);
    CHECK(good(kHead + "spec: {" + both + ", containers: [{name: a}]}").pod.kube_qos ==
          KubeQos::kGuaranteed);
    const auto odd = good(kHead + "status: {qosClass: Best}");
    CHECK(odd.pod.kube_qos == KubeQos::kBestEffort);
    REQUIRE(odd.faults.size() == 1);
    CHECK(contains(odd.faults[0], "status.qosClass: \"Best\": expected Guaranteed"));
  }

  TEST_CASE("a pod without a status is Pending, an odd phase is Unknown and a fault") {
    CHECK(good(kHead).pod.phase == PodPhase::kPending);
    CHECK(is_active(good(kHead).pod));
    CHECK(good(kHead + "status: {phase: Succeeded}").pod.phase == PodPhase::kSucceeded);
    const auto odd = good(kHead + "status: {phase: running}");
    CHECK(odd.pod.phase == PodPhase::kUnknown);
    CHECK(odd.faults.size() == 1);
  }

  TEST_CASE("API-3.2: QoS and priority class with their defaults") {
    struct Case {
      const char* labels;
      const char* priority;
      const char* kube_qos;
      QosClass qos;
      PriorityClass priority_class;
    };
    for (const auto& c :
         {Case{"{}", "0", "Guaranteed", QosClass::kLsr, PriorityClass::kProd},
          Case{"{}", "null", "BestEffort", QosClass::kBe, PriorityClass::kBatch},
          Case{"{koordinator.sh/qosClass: LS}",
               "7100",
               "Burstable",
               QosClass::kLs,
               PriorityClass::kMid},
          Case{"{}", "2000001000", "Burstable", QosClass::kLs, PriorityClass::kProd},
          Case{"{koordinator.sh/priority-class: foo}",
               "5500",
               "Burstable",
               QosClass::kLs,
               PriorityClass::kProd},
          Case{"{koordinator.sh/qosClass: be}",
               "null",
               "Burstable",
               QosClass::kLs,
               PriorityClass::kProd}}) {
      CAPTURE(c.labels);
      CAPTURE(c.kube_qos);
      const auto r =
          good("metadata: {name: a, namespace: b, uid: c, labels: " + std::string{c.labels} +
               "}\nspec: {priority: " + c.priority + "}\nstatus: {qosClass: " + c.kube_qos + "}\n");
      CHECK(r.faults.empty());
      CHECK(qos_with_default(r.pod) == c.qos);
      CHECK(priority_class_with_default(r.pod) == c.priority_class);
    }
  }

  TEST_CASE("fields that cannot be read are named and left out, the rest stays") {
    struct Case {
      const char* tail;
      const char* want;
    };
    for (const auto& c :
         {Case{"spec: {containers: [{name: c, resources: {requests: {cpu: lots}}}]}",
               "spec.containers[0].resources.requests.cpu: expected a quantity"},
          Case{"spec: {containers: [{name: c, resources: {requests: {cpu: -1}}}]}",
               "requests.cpu: -1: expected 0 or more"},
          Case{"spec: {containers: [{name: c, resources: {limits: {memory: true}}}]}",
               "limits.memory: true: expected a quantity"},
          Case{"spec: {containers: [{name: c, resources: {limits: {memory: 9E19}}}]}",
               "out of range"},
          Case{"spec: {containers: {}}", "spec.containers: an object: expected an array"},
          Case{"spec: {containers: [1]}", "spec.containers[0]: 1: expected an object"},
          Case{"spec: {containers: [{image: x}]}", "spec.containers[0].name: \"\": expected"},
          Case{"spec: {containers: [{name: a}, {name: a}]}", "spec.containers[1].name: \"a\""},
          Case{"spec: {priority: high}", "spec.priority: \"high\": expected"},
          Case{"spec: {priority: 3000000000}", "spec.priority: 3000000000: expected"},
          Case{"spec: 5", "spec: 5: expected an object"},
          Case{"status: {containerStatuses: [{name: c, containerID: 'containerd://../x'}]}\n"
               "spec: {containers: [{name: c}]}",
               "status.containerStatuses[0].containerID: \"containerd://../x\": expected"},
          Case{"status: {containerStatuses: [{name: c, containerID: 'rkt://abc'}]}\n"
               "spec: {containers: [{name: c}]}",
               "containerID"},
          Case{"status: {containerStatuses: [{name: c, containerID: 'abc'}]}\n"
               "spec: {containers: [{name: c}]}",
               "containerID"}}) {
      CAPTURE(c.tail);
      const auto r = good(kHead + c.tail);
      REQUIRE(r.faults.size() == 1);
      CHECK(contains(r.faults[0], "pod default/web: "));
      CHECK(contains(r.faults[0], c.want));
      for (const auto& container : r.pod.containers) {
        CHECK(container.id.empty());
        CHECK_FALSE(container.requests.cpu.has_value());
        CHECK_FALSE(container.limits.memory.has_value());
      }
    }
  }

  TEST_CASE("labels that are not text, and damaged annotations, are faults") {
    const auto r = good(
        "metadata: {name: web, namespace: default, uid: u1, labels: {a: 1, b: x},\n"
        "  annotations: {scheduling.koordinator.sh/resource-status: '{\"cpuset\":\"3-1\"}'}}\n");
    CHECK(r.pod.labels.size() == 1);
    CHECK(r.pod.allocated_cpus.empty());
    REQUIRE(r.faults.size() == 2);
    CHECK(contains(r.faults[0], "metadata.labels[a]: 1: expected text"));
    CHECK(contains(r.faults[1], "resource-status].cpuset"));
    const auto no_json = good(
        "metadata: {name: web, namespace: default, uid: u1,\n"
        "  annotations: {scheduling.koordinator.sh/resource-status: 'x'}}\n");
    CHECK(no_json.faults.size() == 1);
    // Annotations are read in any case of their keys (section 0).
    CHECK(
        good("metadata: {name: web, namespace: default, uid: u1,\n"
             "  annotations: {scheduling.koordinator.sh/resource-status: '{\"CPUSet\":\"1\"}'}}\n")
            .pod.allocated_cpus.contains(1));
  }

  TEST_CASE("quantities may be numbers as well as text, without loss") {
    const auto r = with_resources("{requests: {cpu: 0.1, memory: 1e3}, limits: {cpu: 1.001}}");
    CHECK(r.faults.empty());
    CHECK(r.pod.containers[0].requests.cpu == MilliCpu{100});
    CHECK(r.pod.containers[0].requests.memory == Bytes{1000});
    CHECK(r.pod.containers[0].limits.cpu == MilliCpu{1001});
  }

  TEST_CASE("faults of one object are bounded, the rest is counted") {
    std::string labels;
    for (int i = 0; i < 80; ++i) labels += "l" + std::to_string(i) + ": 1, ";
    const auto r = good("metadata: {name: a, namespace: b, uid: c, labels: {" + labels + "z: x}}");
    REQUIRE(r.faults.size() == 51);
    CHECK(contains(r.faults[50], "30 more"));
  }
}
