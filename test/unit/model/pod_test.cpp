#include "model/pod.hpp"

#include <doctest/doctest.h>

using namespace koordlet;

namespace {

Pod pod(KubeQos kube, QosClass label = QosClass::kNone, std::optional<int> priority = {}) {
  Pod p;
  p.kube_qos = kube;
  p.qos = label;
  p.priority = priority;
  return p;
}

Resources batch(std::int64_t milli) {
  Resources r;
  r.batch_cpu = MilliCpu{milli};
  return r;
}
Resources native(std::int64_t milli) {
  Resources r;
  r.cpu = MilliCpu{milli};
  return r;
}

Container container(Resources requests = {}, bool init = false) {
  Container c;
  c.init = init;
  c.requests = requests;
  return c;
}

}  // namespace

TEST_SUITE("model/pod") {
  TEST_CASE("defaulting: Guaranteed, no labels, priority 0") {
    const auto p = pod(KubeQos::kGuaranteed, QosClass::kNone, 0);
    CHECK(qos_with_default(p) == QosClass::kLsr);
    CHECK(priority_class_with_default(p) == PriorityClass::kProd);
  }

  TEST_CASE("defaulting: BestEffort, no labels") {
    const auto p = pod(KubeQos::kBestEffort);
    CHECK(qos_with_default(p) == QosClass::kBe);
    CHECK(priority_class_with_default(p) == PriorityClass::kBatch);
  }

  TEST_CASE("defaulting: label LS, priority 7100") {
    const auto p = pod(KubeQos::kBestEffort, parse_qos_class("LS"), 7100);
    CHECK(qos_with_default(p) == QosClass::kLs);
    CHECK(priority_class_with_default(p) == PriorityClass::kMid);
  }

  TEST_CASE("defaulting: Burstable, priority 2000001000 is in no band") {
    const auto p = pod(KubeQos::kBurstable, QosClass::kNone, 2'000'001'000);
    CHECK(qos_with_default(p) == QosClass::kLs);
    CHECK(priority_class_with_default(p) == PriorityClass::kProd);
  }

  TEST_CASE("defaulting: an unknown priority-class label suppresses the band") {
    auto p = pod(KubeQos::kBurstable, QosClass::kNone, 5500);
    CHECK(priority_class_with_default(p) == PriorityClass::kBatch);
    p.labels["koordinator.sh/priority-class"] = "foo";
    CHECK(priority_class_with_default(p) == PriorityClass::kProd);
  }

  TEST_CASE("defaulting: a known priority-class label beats band and QoS") {
    auto p = pod(KubeQos::kBestEffort, QosClass::kBe, 9500);
    p.labels["koordinator.sh/priority-class"] = "koord-free";
    CHECK(priority_class_with_default(p) == PriorityClass::kFree);
  }

  TEST_CASE("defaulting: qosClass=be is none of the five, kube QoS decides") {
    CHECK(parse_qos_class("be") == QosClass::kNone);
    CHECK(qos_with_default(pod(KubeQos::kBurstable, parse_qos_class("be"))) == QosClass::kLs);
  }

  TEST_CASE("labels of the five classes, exact case") {
    for (const auto q :
         {QosClass::kLse, QosClass::kLsr, QosClass::kLs, QosClass::kBe, QosClass::kSystem}) {
      CHECK(parse_qos_class(to_string(q)) == q);
    }
    CHECK(parse_qos_class("") == QosClass::kNone);
    CHECK(parse_qos_class("BE ") == QosClass::kNone);
  }

  TEST_CASE("priority without a label: by QoS when in no band") {
    CHECK(priority_class_with_default(pod(KubeQos::kBurstable, QosClass::kSystem)) ==
          PriorityClass::kProd);
    CHECK(priority_class_with_default(pod(KubeQos::kGuaranteed, QosClass::kBe)) ==
          PriorityClass::kBatch);
  }

  TEST_CASE("priority bands at their edges") {
    struct Row {
      int priority;
      PriorityClass want;
    };
    // Burstable without a label: prod wherever no band holds.
    for (const auto& row : {Row{9999, PriorityClass::kProd},
                            Row{7999, PriorityClass::kMid},
                            Row{7000, PriorityClass::kMid},
                            Row{6999, PriorityClass::kProd},
                            Row{5999, PriorityClass::kBatch},
                            Row{5000, PriorityClass::kBatch},
                            Row{4999, PriorityClass::kProd},
                            Row{3999, PriorityClass::kFree},
                            Row{3000, PriorityClass::kFree},
                            Row{2999, PriorityClass::kProd},
                            Row{-1, PriorityClass::kProd}}) {
      CAPTURE(row.priority);
      CHECK(priority_class_with_default(pod(KubeQos::kBurstable, QosClass::kNone, row.priority)) ==
            row.want);
    }
  }

  TEST_CASE("suppression counts raw label BE or kube BestEffort") {
    CHECK(is_best_effort(pod(KubeQos::kBestEffort)));
    CHECK(is_best_effort(pod(KubeQos::kBestEffort, QosClass::kLs)));
    CHECK(is_best_effort(pod(KubeQos::kBurstable, QosClass::kBe)));
    CHECK_FALSE(is_best_effort(pod(KubeQos::kBurstable)));
    CHECK_FALSE(is_best_effort(pod(KubeQos::kGuaranteed, QosClass::kSystem)));
  }

  TEST_CASE("only pending and running pods are active") {
    auto p = pod(KubeQos::kBurstable);
    for (const auto phase : {PodPhase::kPending, PodPhase::kRunning}) {
      p.phase = phase;
      CHECK(is_active(p));
    }
    for (const auto phase : {PodPhase::kSucceeded, PodPhase::kFailed, PodPhase::kUnknown}) {
      p.phase = phase;
      CHECK_FALSE(is_active(p));
    }
  }

  TEST_CASE("full name") {
    Pod p;
    p.ns = "default";
    p.name = "web-0";
    CHECK(full_name(p) == "default/web-0");
  }
}

TEST_SUITE("model/pod/be_cpu_request") {
  TEST_CASE("sum of batch-cpu over containers; init containers are left out") {
    auto p = pod(KubeQos::kBestEffort);
    p.containers = {container(batch(1000)), container(batch(500)), container(batch(9000), true)};
    CHECK(be_cpu_request(p) == MilliCpu{1500});
  }

  TEST_CASE("batch-cpu wins over native cpu") {
    auto p = pod(KubeQos::kBurstable, QosClass::kBe);
    auto both = native(4000);
    both.batch_cpu = MilliCpu{1000};
    p.containers = {container(both), container(native(2000))};
    CHECK(be_cpu_request(p) == MilliCpu{1000});
  }

  TEST_CASE("without batch-cpu the native requests count") {
    auto p = pod(KubeQos::kBurstable, QosClass::kBe);
    p.containers = {container(native(250)), container()};
    CHECK(be_cpu_request(p) == MilliCpu{250});
  }

  TEST_CASE("no request at all is unknown, not zero") {
    auto p = pod(KubeQos::kBestEffort);
    CHECK_FALSE(be_cpu_request(p));
    Resources memory;
    memory.memory = Bytes{1};
    p.containers = {container(), container(memory)};
    CHECK_FALSE(be_cpu_request(p));
    p.containers = {container(batch(0))};
    CHECK_FALSE(be_cpu_request(p));
    p.containers = {container(batch(100), true)};
    CHECK_FALSE(be_cpu_request(p));
  }
}
