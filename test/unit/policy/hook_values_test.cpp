#include "policy/hook_values.hpp"

#include <doctest/doctest.h>

#include "policy/be_view.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using std::chrono::microseconds;

namespace {

QuotaUs us(std::int64_t v) { return QuotaUs{microseconds{v}}; }

struct Case {
  Case() {
    pod.kube_qos = KubeQos::kBestEffort;
    pod.qos = QosClass::kBe;
    container.name = "app";
  }
  Result<HookAdjustment> ask(Hook hook) {
    return hook_values(hook, {pod, container, given, said, known}, world, switches);
  }
  Pod pod;
  Container container;
  HookContainer given;
  HookAnnotations said;
  HookWorld world;
  HookSwitches switches;
  bool known = true;
};

}  // namespace

TEST_SUITE("policy/hook_values") {
  TEST_CASE("1: what is on by default is what the original has on") {
    const HookSwitches s;
    CHECK(s.group_identity);
    CHECK(is_on(Hook::kBatchResources, s));
    CHECK(is_on(Hook::kCpuset, s));
    for (const auto off : {Hook::kCpuNormalization, Hook::kResctrl, Hook::kGpu, Hook::kRdma})
      CHECK_FALSE(is_on(off, s));
    CHECK_FALSE(is_on(Hook::kOomScoreAdj, s));
    CHECK_FALSE(s.core_sched);
  }

  TEST_CASE("7: BE 500/1000 m with ratio 1.5: shares 512, quota 66667, with its period") {
    Case c;
    c.container.requests.batch_cpu = MilliCpu{500};
    c.container.limits.batch_cpu = MilliCpu{1000};
    c.container.limits.batch_memory = Bytes{1LL << 30};
    c.world.ratio = 1.5;
    const auto out = c.ask(Hook::kBatchResources).value().resources;
    CHECK(out.cpu_shares == 512);
    CHECK(out.cpu_quota == us(66'667));
    CHECK(out.cpu_period == microseconds{100'000});
    CHECK(out.memory_limit == MemoryBound{Bytes{1LL << 30}});
    c.world.config.suppress.enable = true;
    c.world.config.suppress.policy = SuppressPolicy::kCfsQuota;
    CHECK(c.ask(Hook::kBatchResources)->resources.cpu_quota == QuotaUs::unlimited());
  }

  TEST_CASE("7: no batch resources at all: nothing is touched, never a memory limit of 0") {
    Case c;
    CHECK(is_empty(c.ask(Hook::kBatchResources).value()));
    c.pod.qos = QosClass::kLs;
    c.container.requests.batch_cpu = MilliCpu{500};
    CHECK(is_empty(c.ask(Hook::kBatchResources).value()));
  }

  TEST_CASE("pitfall 137: quota 400000, ratio 2.0: 200000, from the limit and not from the quota") {
    Case c;
    c.pod.qos = QosClass::kLs;
    c.container.limits.cpu = MilliCpu{4000};
    c.given.resources.cpu_quota = us(200'000);
    c.world.ratio = 2.0;
    CHECK(c.ask(Hook::kCpuNormalization)->resources.cpu_quota == us(200'000));
    c.world.ratio.reset();
    CHECK(is_empty(c.ask(Hook::kCpuNormalization).value()));
  }

  TEST_CASE("6, pitfall 140: LSR with CPUs 2-5: quota lifted, or kept where that is switched on") {
    Case c;
    c.pod.qos = QosClass::kLsr;
    c.said.allocation = CpuAllocation{CpuSet::range(2, 5), {}};
    auto out = c.ask(Hook::kCpuset)->resources;
    CHECK(out.cpus == CpuSet::range(2, 5));
    CHECK(out.cpu_quota == QuotaUs::unlimited());
    c.switches.cpuset_keeps_quota = true;
    CHECK_FALSE(c.ask(Hook::kCpuset)->resources.cpu_quota);
  }

  TEST_CASE("6: BE inherits: only what somebody set is laid over with the parent's CPUs") {
    Case c;
    c.world.pools = CpuPools{};
    c.world.be_cpus = CpuSet::range(0, 7);
    CHECK(is_empty(c.ask(Hook::kCpuset).value()));
    c.given.resources.cpus = CpuSet::range(0, 1);
    CHECK(c.ask(Hook::kCpuset)->resources.cpus == CpuSet::range(0, 7));
  }

  TEST_CASE("an annotation that cannot be read is the failure of its hook") {
    Case c;
    c.said.batch = Error{Errc::kParse, "b"};
    c.said.allocation = Error{Errc::kParse, "a"};
    c.said.oom_score_adj = Error{Errc::kParse, "o"};
    c.said.gpus = Error{Errc::kParse, "g"};
    c.said.rdma = Error{Errc::kParse, "r"};
    for (const auto hook :
         {Hook::kBatchResources, Hook::kCpuset, Hook::kOomScoreAdj, Hook::kGpu, Hook::kRdma}) {
      CAPTURE(to_string(hook));
      CHECK(c.ask(hook).has_error());
    }
  }

  TEST_CASE("memory QoS: LSR 100 % min of 1Gi; a pod that is not known counts itself in") {
    Case c;
    c.pod.qos = QosClass::kLsr;
    c.pod.kube_qos = KubeQos::kGuaranteed;
    c.container.requests.memory = c.container.limits.memory = Bytes{1LL << 30};
    c.pod.containers = {c.container};
    c.world.has_memory_files = true;
    c.world.memory_total = Bytes{4LL << 30};
    c.world.config.memory_qos.lsr.enable = true;
    c.world.config.memory_qos.lsr.values.min_percent = 100;
    CHECK(c.ask(Hook::kMemoryQos)->resources.unified.at("memory.min") == "1073741824");
    // 2Gi are wanted already and the bound is 50 % of 4Gi: with this pod 3Gi share 2Gi, 666
    // permille each, and of that whole pages: floor(1073741824 x 0.666 / 4096) x 4096.
    c.known = false;
    c.world.memory_min_wanted = Bytes{2LL << 30};
    CHECK(c.ask(Hook::kMemoryQos)->resources.unified.at("memory.min") == "715108352");
    SUBCASE("unknown is not zero: a Burstable sandbox tells no request") {
      c.pod.qos = QosClass::kLs;
      c.pod.kube_qos = KubeQos::kBurstable;
      c.world.config.memory_qos.ls = c.world.config.memory_qos.lsr;
      CHECK(is_empty(c.ask(Hook::kMemoryQos).value()));
    }
    SUBCASE("cgroup v1 has no such files") {
      c.world.cgroup_version = CgroupVersion::kV1;
      CHECK(is_empty(c.ask(Hook::kMemoryQos).value()));
    }
  }

  TEST_CASE("11: ways of 7ff and the group of the class, only when it is there") {
    Case c;
    c.world.config.resctrl.be.enable = true;
    CHECK(is_empty(c.ask(Hook::kResctrl).value()));
    c.world.resctrl_groups = {"BE"};
    CHECK(c.ask(Hook::kResctrl)->resources.rdt_class == "BE");
  }

  TEST_CASE("12: two GPUs, and a share of 50 percent under HAMi-core") {
    Case c;
    c.said.gpus = std::vector<GpuShare>{{0, 50, 50, Bytes{8LL << 30}}, {1, 50, 50, {}}};
    auto out = c.ask(Hook::kGpu).value();
    CHECK(out.env == std::vector<HookEnv>{{"NVIDIA_VISIBLE_DEVICES", "0,1"}});
    c.pod.labels["koordinator.sh/gpu-isolation-provider"] = "HAMi-core";
    c.given.env = {{"LD_PRELOAD", "/lib/own.so"}};
    out = c.ask(Hook::kGpu).value();
    const std::vector<HookEnv> want{{"NVIDIA_VISIBLE_DEVICES", "0,1"},
                                    {"CUDA_DEVICE_MEMORY_LIMIT", "8589934592"},
                                    {"CUDA_DEVICE_SM_LIMIT", "50"},
                                    {"LD_PRELOAD", "/usr/local/vgpu/libvgpu.so:/lib/own.so"}};
    CHECK(out.env == want);
    CHECK(out.mounts.size() == 2);
  }

  TEST_CASE("13: the verbs device of a virtual function; none is an error, not a crash") {
    Case c;
    c.said.rdma = std::vector<std::string>{"0000:1f:00.2"};
    CHECK(c.ask(Hook::kRdma).error().code == Errc::kNotFound);
    c.world.rdma_cm = HookDevice{"/dev/infiniband/rdma_cm", 'c', 10, 58, {}};
    CHECK(c.ask(Hook::kRdma).error().context ==
          "rdma: 0000:1f:00.2: no verbs device of this PCI id");
    c.world.rdma["0000:1f:00.2"] = HookDevice{"/dev/infiniband/uverbs1", 'c', 231, 193, {}};
    const auto out = c.ask(Hook::kRdma).value();
    REQUIRE(out.devices.size() == 2);
    CHECK(out.devices[1].mode == 0666u);
  }

  TEST_CASE("the cap in force: the table's, else what the pressure rule will write") {
    Case c;
    c.container.requests.batch_cpu = MilliCpu{4000};
    c.pod.containers = {c.container};
    c.pod.cgroup = CgroupPath::parse("kubepods/besteffort/pod1").value();
    CHECK_FALSE(start_cap(c.pod, c.world));  // nothing was decided yet
    c.world.factor_permille = 300;
    CHECK(start_cap(c.pod, c.world) == us(120'000));
    DesiredTable desired;
    desired[{c.pod.cgroup, CgroupFile::kCpuMax}].value = CpuMax{us(50'000), kQuotaPeriod};
    c.world.desired = &desired;
    CHECK(start_cap(c.pod, c.world) == us(50'000));
    SUBCASE("v1 takes no child's quota above its parent's") {
      c.world.cgroup_version = CgroupVersion::kV1;
      CHECK_FALSE(start_cap(c.pod, c.world));
    }
    SUBCASE("LS has none") {
      c.pod.qos = QosClass::kLs;
      c.pod.kube_qos = KubeQos::kBurstable;
      CHECK_FALSE(start_cap(c.pod, c.world));
    }
  }

  TEST_CASE("only what differs is told; a quota that is not stated is none") {
    HookResources want, have;
    want.cpu_quota = QuotaUs::unlimited();
    want.cpu_period = microseconds{100'000};
    want.cpu_shares = 512;
    have.cpu_shares = 512;
    CHECK(is_empty(differing(want, have)));
    have.cpu_quota = us(50'000);
    CHECK(differing(want, have).cpu_quota == QuotaUs::unlimited());
    want.unified = {{"memory.high", "max"}};
    have.unified = {{"memory.high", "max"}};
    CHECK(differing(want, have).unified.empty());
  }
}
