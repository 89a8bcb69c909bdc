#include "modules/runtime_hooks/hook_case.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::runtime_hooks;
using std::chrono::microseconds;

namespace {

HookPod sandbox(const std::string& qos, const char* parent = "kubepods/besteffort/pod1") {
  HookPod out;
  out.id = "s1";
  out.uid = "1";
  out.ns = "shop";
  out.name = "web";
  if (!qos.empty()) out.labels["koordinator.sh/qosClass"] = qos;
  out.cgroup_parent = CgroupPath::parse(parent).value();
  return out;
}
HookContainer named(const std::string& name) {
  HookContainer out;
  out.id = "c1";
  out.name = name;
  return out;
}

constexpr const char* kBatch = "node.koordinator.sh/extended-resource-spec";
constexpr const char* kStatus = "scheduling.koordinator.sh/resource-status";
constexpr const char* kDevices = "scheduling.koordinator.sh/device-allocated";

}  // namespace

TEST_SUITE("runtime_hooks/case") {
  TEST_CASE("2: batch resources of a pod that the state does not know") {
    auto pod = sandbox("BE");
    pod.annotations[kBatch] =
        R"({"containers":{"app":{"limits":{"kubernetes.io/batch-cpu":"1000",)"
        R"("kubernetes.io/batch-memory":"2Gi"},"requests":{"kubernetes.io/batch-cpu":"500"}}}})";
    const auto c = make_case({}, pod, named("app"), true);
    CHECK(c.known == nullptr);
    CHECK(c.pod().qos == QosClass::kBe);
    CHECK(c.pod().kube_qos == KubeQos::kBestEffort);
    CHECK(c.container.requests.batch_cpu == MilliCpu{500});
    CHECK(c.container.limits.batch_cpu == MilliCpu{1000});
    CHECK(c.container.limits.batch_memory == Bytes{2LL << 30});
    CHECK(c.annotations.batch.has_value());
    CHECK(be_cpu_request(c.pod()) == MilliCpu{500});
  }

  TEST_CASE("the kubelet's numbers give requests and limits back") {
    auto container = named("app");
    container.resources.cpu_shares = 512;
    container.resources.cpu_quota = Limit{microseconds{400'000}};
    container.resources.cpu_period = microseconds{100'000};
    container.resources.memory_limit = Limit{Bytes{1 << 20}};
    const auto c =
        make_case({}, sandbox("LS", "kubepods.slice/kubepods-pod1.slice"), container, true);
    CHECK(c.pod().kube_qos == KubeQos::kGuaranteed);
    CHECK(c.container.requests.cpu == MilliCpu{500});
    CHECK(c.container.limits.cpu == MilliCpu{4000});
    CHECK(c.container.requests.memory == Bytes{1 << 20});
    // Of a container that runs the quota may be divided already.
    CHECK_FALSE(make_case({}, sandbox("LS"), container, false).container.limits.cpu);
  }

  TEST_CASE("pitfall 139: no annotations at all; unknown labels are no class") {
    CHECK(make_case({}, sandbox("BE"), named("app"), true).pod().qos == QosClass::kBe);
    for (const char* label : {"be", "BEST", "", "LS "})
      CHECK(make_case({}, sandbox(label), named("app"), true).pod().qos == QosClass::kNone);
  }

  TEST_CASE("6: CPUs and NUMA nodes of resource-status") {
    auto pod = sandbox("LSR");
    pod.annotations[kStatus] =
        R"({"cpuset":"2-5","numaNodeResources":[{"node":1,"resources":{"cpu":"4"}},)"
        R"({"node":0,"resources":{"cpu":"0"}}]})";
    const auto c = make_case({}, pod, named("app"), true);
    CHECK(c.annotations.allocation->cpus == CpuSet::range(2, 5));
    CHECK(c.annotations.allocation->numa == std::vector<int>{1});
    CHECK(c.pod().allocated_cpus == CpuSet::range(2, 5));
  }

  TEST_CASE("10: oom_score_adj, the container's own before the pod's") {
    auto pod = sandbox("LS");
    const auto adj = [&](const char* name) {
      return make_case({}, pod, named(name), true).annotations.oom_score_adj;
    };
    CHECK_FALSE(adj("app")->has_value());
    pod.annotations["koordinator.sh/oom-score-adj"] = "100";
    pod.annotations["koordinator.sh/oom-score-adj-spec"] = R"({"app":-500})";
    CHECK(adj("app").value() == -500);
    CHECK(adj("other").value() == 100);
    for (const char* bad : {"1001", "-1001", "x", "", "1.5"}) {
      CAPTURE(bad);
      pod.annotations["koordinator.sh/oom-score-adj"] = bad;
      CHECK(adj("other").has_error());
    }
  }

  TEST_CASE("12, 13: devices") {
    auto pod = sandbox("LS");
    pod.annotations[kDevices] =
        R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50",)"
        R"("koordinator.sh/gpu-memory":"8Gi","koordinator.sh/gpu-memory-ratio":"50"}},{"minor":1}],)"
        R"("rdma":[{"minor":0,"id":"0000:1f:00.0","extension":{"vfs":[{"minor":0,)"
        R"("busID":"0000:1f:00.2"}]}},{"minor":1,"id":"0000:20:00.0"}]})";
    const auto said = make_case({}, pod, named("app"), true).annotations;
    REQUIRE(said.gpus->size() == 2);
    CHECK(said.gpus->at(0) == policy::GpuShare{0, 50, 50, Bytes{8LL << 30}});
    CHECK(said.gpus->at(1).minor == 1);
    CHECK(*said.rdma == std::vector<std::string>{"0000:1f:00.2", "0000:20:00.0"});
  }

  TEST_CASE("malformed annotations are errors of their own hook, and of no other") {
    for (const char* bad : {"",
                            "{",
                            "[]",
                            "null",
                            "7",
                            "\"x\"",
                            "{\"cpuset\":\"5-2\"}",
                            "{\"cpuset\":7}",
                            "\xff\xfe"}) {
      CAPTURE(bad);
      auto pod = sandbox("BE");
      pod.annotations[kStatus] = bad;
      const auto said = make_case({}, pod, named("app"), true).annotations;
      CHECK(said.allocation.has_error());
      CHECK(said.batch.has_value());
      CHECK(said.gpus.has_value());
    }
    for (const char* bad :
         {"x",
          R"({"containers":{"app":7}})",
          R"({"containers":{"app":{"limits":{"kubernetes.io/batch-cpu":"a"}}}})",
          R"({"containers":{"app":{"limits":{"kubernetes.io/batch-cpu":"-1"}}}})"}) {
      CAPTURE(bad);
      auto pod = sandbox("BE");
      pod.annotations[kBatch] = bad;
      CHECK(make_case({}, pod, named("app"), true).annotations.batch.has_error());
    }
    auto pod = sandbox("BE");
    pod.annotations[kDevices] = R"({"gpu":[7],"rdma":[{"id":"../../x"}]})";
    const auto said = make_case({}, pod, named("app"), true).annotations;
    CHECK(said.gpus.has_error());
    CHECK(said.rdma.has_error());
  }
}
