#include "policy/start_values.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::policy;
using std::chrono::microseconds;

namespace {

CpuSet cpus(std::string_view text) { return CpuSet::parse(text).value(); }

Container batch(std::optional<std::int64_t> request, std::optional<std::int64_t> limit) {
  Container c;
  if (request) c.requests.batch_cpu = MilliCpu{*request};
  if (limit) c.limits.batch_cpu = MilliCpu{*limit};
  return c;
}

Pod pod_of(QosClass qos, std::vector<Container> containers = {}) {
  Pod pod;
  pod.qos = qos;
  pod.containers = std::move(containers);
  return pod;
}

QuotaUs us(std::int64_t v) { return QuotaUs{microseconds{v}}; }

/// The pools of the reference's examples.
CpuPools pools_of_example(KubeletCpuPolicy kubelet) {
  CpuPools pools;
  pools.shared = {{0, cpus("2-15")}, {1, cpus("18-31")}};
  pools.be = {{0, cpus("8-15")}, {1, cpus("24-31")}};
  pools.kubelet = kubelet;
  return pools;
}

}  // namespace

TEST_SUITE("policy/start_values") {
  TEST_CASE("7: shares and quota of batch requests and limits, row by row") {
    struct Row {
      std::optional<std::int64_t> request, limit;
      std::optional<double> ratio;
      bool root_limited;
      std::int64_t shares;
      QuotaUs quota;
    };
    // The fifth row is our value: the original asks for 667 us, which the kernel refuses.
    for (const auto& row : {Row{500, 1000, {}, false, 512, us(100'000)},
                            Row{500, 1000, 1.5, false, 512, us(66'667)},
                            Row{4, 10, {}, false, 4, us(1000)},
                            Row{4, 10, 1.5, false, 4, us(1000)},
                            Row{500, 1000, {}, true, 512, QuotaUs::unlimited()},
                            Row{500, 1000, 1.5, true, 512, QuotaUs::unlimited()},
                            Row{500, {}, {}, false, 512, QuotaUs::unlimited()}}) {
      const auto pod = pod_of(QosClass::kBe, {batch(row.request, row.limit)});
      const BatchContext context{row.ratio, row.root_limited};
      const auto of_pod = batch_values(pod, context);
      const auto of_container = batch_values(pod, pod.containers[0], context);
      REQUIRE(of_pod);
      CHECK(of_pod->shares == row.shares);
      CHECK(of_pod->quota == row.quota);
      CHECK(of_container == of_pod);
    }
  }

  TEST_CASE("7: two containers of 1Gi and 2Gi make a pod of 3221225472 bytes") {
    auto a = batch(500, 1000), b = batch(500, 1000);
    a.limits.batch_memory = Bytes{1LL << 30};
    b.limits.batch_memory = Bytes{2LL << 30};
    auto pod = pod_of(QosClass::kBe, {a, b});
    CHECK(batch_values(pod, {})->memory == MemoryBound{Bytes{3'221'225'472}});
    CHECK(batch_values(pod, {})->quota == us(200'000));
    SUBCASE("one without a limit: the pod has none") {
      pod.containers[1].limits = {};
      CHECK(batch_values(pod, {})->memory.is_unlimited());
      CHECK(batch_values(pod, {})->quota.is_unlimited());
      CHECK(batch_values(pod, {})->shares == 1024);
    }
    SUBCASE("a limit of 0 is none, never a limit of 0 bytes") {
      pod.containers[1].limits.batch_memory = Bytes{0};
      CHECK(batch_values(pod, {})->memory.is_unlimited());
    }
    SUBCASE("an init container is not part of the sums") {
      pod.containers[1].init = true;
      CHECK(batch_values(pod, {})->memory == MemoryBound{Bytes{1LL << 30}});
    }
  }

  TEST_CASE("7: nothing stated, nothing touched") {
    CHECK_FALSE(batch_values(pod_of(QosClass::kBe), {}));
    CHECK_FALSE(batch_values(pod_of(QosClass::kBe, {Container{}}), {}));
    CHECK_FALSE(batch_values(pod_of(QosClass::kLs, {batch(500, 1000)}), {}));
  }

  TEST_CASE("a container on cgroup v1 has no quota: its pod carries it") {
    const auto pod = pod_of(QosClass::kBe, {batch(500, 1000)});
    BatchContext context;
    context.version = CgroupVersion::kV1;
    CHECK(batch_values(pod, context)->quota == us(100'000));
    CHECK(batch_values(pod, pod.containers[0], context)->quota.is_unlimited());
  }

  TEST_CASE("8: normalization of quotas") {
    CHECK(normalized(us(400'000), 1.2) == us(333'334));
    CHECK(normalized(us(400'000), 2.0) == us(200'000));
    CHECK(normalized(us(100'000), 0.8) == us(100'000));
    CHECK(normalized(QuotaUs::unlimited(), 1.2).is_unlimited());
    CHECK(normalized(us(90'000), 1.2) == us(75'000));  // exact: nothing is rounded up
    CHECK(normalized(us(1500), 2.0) == us(1000));      // the kernel's least
  }

  TEST_CASE("8: only LS and unlabelled containers with a limit, and without CPUs of their own") {
    Container c;
    c.limits.cpu = MilliCpu{4000};
    for (const auto qos : {QosClass::kLs, QosClass::kNone}) {
      auto pod = pod_of(qos, {c});
      CHECK(normalized_quota(pod, c, 1.2) == us(333'334));
      CHECK(normalized_quota(pod, c, 0.8) == us(400'000));
      CHECK_FALSE(normalized_quota(pod, c, std::nullopt));
      CHECK_FALSE(normalized_quota(pod, Container{}, 1.2));
      pod.allocated_cpus = cpus("2-5");
      CHECK_FALSE(normalized_quota(pod, c, 1.2));
    }
    CHECK_FALSE(normalized_quota(pod_of(QosClass::kLsr), c, 1.2));
    CHECK_FALSE(normalized_quota(pod_of(QosClass::kBe), c, 1.2));
  }

  TEST_CASE("8: the ratio of the node's annotation") {
    const auto ratio_of = [](const char* text) {
      Node node;
      node.annotations["node.koordinator.sh/cpu-normalization-ratio"] = text;
      return normalization_ratio(node);
    };
    CHECK(ratio_of("1.2") == 1.2);
    CHECK(ratio_of("1") == 1.0);
    for (const char* bad : {"", "0", "-1", "x", "nan", "inf", "1.2x", "1e999"}) {
      CAPTURE(bad);
      CHECK_FALSE(ratio_of(bad));
    }
    CHECK_FALSE(normalization_ratio(Node{}));
  }

  TEST_CASE("6: CPUs of a container, by the reference's examples") {
    using Kind = CpusetStart::Kind;
    const auto none = pools_of_example(KubeletCpuPolicy::kNone);
    const auto fixed = pools_of_example(KubeletCpuPolicy::kStatic);
    auto burstable = pod_of(QosClass::kNone);
    burstable.kube_qos = KubeQos::kBurstable;
    auto be = pod_of(QosClass::kBe);
    be.kube_qos = KubeQos::kBestEffort;
    auto ls = pod_of(QosClass::kLs);
    ls.kube_qos = KubeQos::kBurstable;

    const auto lsr = cpuset_start(pod_of(QosClass::kLsr), {cpus("2-5"), {}}, &none);
    CHECK(lsr.cpus == cpus("2-5"));
    CHECK(lsr.lift_quota);
    CHECK(cpuset_start(ls, {}, &none).cpus == cpus("2-15,18-31"));
    CHECK_FALSE(cpuset_start(ls, {}, &none).lift_quota);
    CHECK(cpuset_start(ls, {{}, {1}}, &none).cpus == cpus("18-31"));
    CHECK(cpuset_start(be, {}, &none).kind == Kind::kInherit);
    CHECK(cpuset_start(burstable, {}, &fixed).kind == Kind::kUntouched);
    CHECK(cpuset_start(burstable, {}, &none).cpus == cpus("2-15,18-31"));
  }

  TEST_CASE("6: BE follows its NUMA nodes only with the BE CPU manager") {
    auto pools = pools_of_example(KubeletCpuPolicy::kNone);
    auto be = pod_of(QosClass::kBe);
    be.kube_qos = KubeQos::kBestEffort;
    CHECK(cpuset_start(be, {{}, {1}}, &pools).kind == CpusetStart::Kind::kInherit);
    pools.be_manager = true;
    CHECK(cpuset_start(be, {{}, {1}}, &pools).cpus == cpus("24-31"));
  }

  TEST_CASE("6: the system class has its own CPUs where there are any") {
    auto pools = pools_of_example(KubeletCpuPolicy::kNone);
    const auto pod = pod_of(QosClass::kSystem);
    pools.system = cpus("0-1");
    CHECK(cpuset_start(pod, {}, &pools).cpus == cpus("0-1"));
  }

  TEST_CASE("6: without a topology only what the scheduler allocated counts") {
    CHECK(cpuset_start(pod_of(QosClass::kLs), {}, nullptr).kind == CpusetStart::Kind::kUntouched);
    CHECK(cpuset_start(pod_of(QosClass::kLsr), {cpus("2-5"), {}}, nullptr).cpus == cpus("2-5"));
  }

  TEST_CASE("6: an empty pool is never written") {
    const CpuPools empty;
    const auto start = cpuset_start(pod_of(QosClass::kLs), {}, &empty);
    CHECK(start.kind == CpusetStart::Kind::kUntouched);
    CHECK(start.cpus.empty());
  }
}
