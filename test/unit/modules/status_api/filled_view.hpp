#pragma once

#include "view_fixture.hpp"

namespace koordlet::test {

/// make_view() with everything known: each optional has a value and each list an item, so that an
/// answer shows every field there is. "ls-1" is hurt by "be-1".
struct Filled {
  StatusView view = make_view(CgroupVersion::kV2);
  std::map<std::string, PodInterference> hurt;
  std::map<std::string, ContainerUsage> containers;
  NodeUsage usage;
  DesiredTable desired;
  StatusView::Hardware hardware;

  Filled() {
    fill_state();
    fill_daemon();
    fill_control_plane();
    fill_audit();
    fill_policy();
    fill_usage();
    fill_interference();
    fill_predictions();
  }
  Filled(const Filled&) = delete;

  static Stalls all_stalls() { return {StallShare{12, 3}, StallShare{1, 0}, StallShare{2, 1}}; }
  static Outcome refusal() {
    return {{path("kubepods/besteffort/podbe-1"), CgroupFile::kCpuMax},
            OutcomeKind::kRefused,
            "1000 100000",
            "Invalid argument"};
  }
  static Proposal loser() {
    return {{path("kubepods/besteffort/podbe-1"), CgroupFile::kCpuMax},
            CpuMax{Limit{std::chrono::microseconds{400'000}}, std::chrono::microseconds{100'000}},
            Role::kBase,
            "spec",
            "batch limit 4000m"};
  }

  void fill_state() {
    auto state = std::make_shared<NodeState>(*view.state);
    for (auto& pod : state->pods) {
      auto full = *pod;
      full.labels = {{"app", "x"}};
      full.annotations = {{"note", "y"}};
      full.containers.resize(1);
      auto& c = full.containers[0];
      c.name = "main";
      c.runtime = "containerd";
      c.id = "c-" + full.uid;
      c.cgroup = full.cgroup.child("c");
      pod = std::make_shared<const Pod>(full);
      auto& used = view.pods[full.uid];
      used.at = kNow - seconds{4};
      used.cpu = MilliCpu{900};
      used.io = IoRate{1, 2, 3, 4};
      used.stalls = all_stalls();
      containers["containerd://" + c.id] = used;
    }
    view.state = state;
    view.containers = &containers;
    view.signals->memory_used = Bytes{3'000'000};
    view.topology = {{0, 0, 0, 0}, {1, 1, 0, 0}};
    hardware.cpu = kernel::CpuModel{"GenuineIntel", "model", true, "fff"};
    hardware.smt = true;
    hardware.caches = {{3, kernel::CacheType::kUnified, Bytes{1 << 20}, CpuSet::range(0, 1), 0}};
    view.hardware = &hardware;
  }
  void fill_daemon() {
    view.not_ready = {"no NodeSLO yet"};
    view.faults = {"a.yaml: spec: expected a map"};
    view.stages = {{"qos", std::chrono::microseconds{20}}};
    view.helpers = {{"storage", 2, milliseconds{250}}};
    view.history = StatusView::History{};
    view.hooks = StatusView::Hooks{};
    view.hooks->hooks = {{"cpuset", true, 3, 2, 1, std::chrono::microseconds{40}, "a: b"}};
    view.recorder = StatusView::Recorder{};
    view.recorder->folder = "/var/lib/koordlet/recorder";
    view.recorder->oldest = view.recorder->newest = view.wall;
    view.sources = {{"psi", "cut content", std::nullopt, false},
                    {"cold memory", "no kidled", std::nullopt, true},
                    {"node cpu", "", kNow, false}};
    view.capabilities = {{"resctrl", false, "not mounted", "mount it"}};
    view.config = {{"qos.interval", "1s", "built-in"}};
    view.loop_late = view.loop_late_max = std::chrono::microseconds{90};
    view.executor.last_batch = view.executor.last_commit = std::chrono::microseconds{300};
    view.gauges = {{"cgroup_open_files", 12}};
    view.counters = {{"metric_cache_samples", 5000}};
    view.help = {{"cgroup_open_files", "Control files kept open."}};
  }
  /// An hour of 4.2 cores and 3 GiB that was forecast as 5 and 4, once too low.
  void fill_predictions() {
    prediction.at = kNow - seconds{4};
    prediction.bytes = 20'000;
    auto& cpu = prediction.cpu;
    cpu.forecast = policy::Forecast{5, policy::Rule::kMaxDay, false};
    cpu.line = policy::PeakTrend{4.2, 0.01};
    cpu.usual = 4.21712909;
    cpu.learned = seconds{90'000};
    cpu.score.windows = 4;
    cpu.score.violations = 1;
    cpu.score.shortfall = 0.1;
    cpu.score.over = 0.6;
    cpu.score.within = 3;
    cpu.score.pinball = 0.4;
    auto& memory = prediction.memory;
    memory = cpu;
    memory.forecast->peak = 4294967296;
    auto& p = view.predictions.emplace();
    p.window = seconds{3600};
    p.models = 9;
    p.node = p.system = &prediction;
    p.classes = {{"prod", &prediction}};
    p.pods = {{"be-1", &prediction}, {"ls-1", &prediction}};
    p.reclaimable = policy::Reclaimable{{{5722}, {14618183141}}, {{12278}, {41216391707}}, {"x"}};
    p.warning = "a CPU peak of 90 % is forecast, threshold 80 %";
  }
  policy::Prediction prediction;
  void fill_audit() {
    AuditEvent e;
    e.at = kNow - std::chrono::seconds{3};
    e.kind = AuditKind::kWritten;
    e.key = CgroupKey{CgroupPath::parse("kubepods/besteffort").value(), CgroupFile::kIoMax, "8:16"};
    e.before = "rbps=max wbps=max riops=max wiops=max";
    e.after = "rbps=1048576 wbps=max riops=max wiops=max";
    e.plugin = "blkio";
    e.reason = "NodeSLO beClass.blkioQOS";
    e.detail = "journal: no space";
    log.add(e);
    e.kind = AuditKind::kEviction;
    e.key.reset();
    e.pod = "be-1";
    log.add(e);
    view.audit = &log;
  }
  AuditLog log{10};
  void fill_control_plane() {
    view.resources.resize(1);
    view.resources[0].name = "pods";
    view.api.emplace();
    view.high_condition = StatusView::HighCondition{true, false, "403", 2};
    view.report.emplace();
    view.report->lacks = {"memory"};
    view.evictions.push_back(
        {"shop/batch", "be-1", "be_memory_evict", "why", "accepted", "", kNow});
    view.eviction_counts = {{"accepted", 1}};
    view.eviction_plugin_counts = {{{"be_memory_evict", "accepted"}, 1}};
    view.eviction_rules = {
        {"be_memory_evict", "asking", "why", 7500, {{"memory-used", 7, 1, 8}}, 2}};
    view.eviction_standing = [](const Pod&) {
      return std::vector<StatusView::EvictionStanding>{{"be_memory_evict", "not BE"}};
    };
  }
  void fill_policy() {
    auto& held = view.held[0];
    held.last = refusal();
    held.losers = {loser()};
    view.held.insert(
        view.held.begin(),
        hold({path("kubepods/besteffort"), CgroupFile::kCpuMax}, "/f", "250000 100000"));
    view.held[0].last = refusal();
    view.held[0].losers = {loser()};
    view.outcomes = {refusal()};
    view.qos.idle_buffer.allowance = MilliCpu{7000};
    view.qos.idle_buffer.cpuset = CpuSet::range(0, 6);
    view.qos.idle_buffer.idle = MilliCpu{5000};
    view.qos.idle_buffer.room = MilliCpu{7500};
    Desired wish;
    wish.value = CpuMax{};
    wish.plugin = "pressure";
    view.qos.memory_soften.reclaim =
        policy::ReclaimWish{kNow, path("kubepods/besteffort"), Bytes{4096}, "why"};
    wish.losers = {loser()};
    desired[{path("kubepods/besteffort"), CgroupFile::kCpuset}] = wish;
    view.desired = &desired;
    view.qos.be_root_cap_milli = 2500;
    view.qos.levers = {{"blkio", true, 3, "detail", {"BE root: device 'vdz': unknown"}}};
    policy::SignalChange change{policy::EffectSignal::kPsiFull, "ls-1", 20, 4};
    policy::CapEffect effect;
    effect.since = kNow - seconds{30};
    effect.settled = kNow - seconds{28};
    effect.judged_at = kNow - seconds{10};
    effect.trigger = "factor 700 to 300 permille";
    effect.lead = change;
    effect.signals = {change};
    effect.node_before = effect.node_after = MilliCpu{9000};
    effect.verdict = policy::EffectVerdict::kHelped;
    effect.why = "why";
    view.qos.effects = {effect};
    const CgroupKey capped{path("kubepods/besteffort/podbe-1"), CgroupFile::kCpuMax};
    view.qos.ineffective = {{{capped, "be-1", MilliCpu{1200}, MilliCpu{2000}, kNow - seconds{20}},
                             {policy::CapCause::kWrongPath, "no task"}}};
    const CgroupKey root{path("kubepods/besteffort"), CgroupFile::kCpuMax};
    view.qos.ineffective.push_back(
        {{root, "", MilliCpu{1200}, MilliCpu{2000}, kNow}, {policy::CapCause::kUnknown, "why"}});
    view.qos.starvation.starving = {"be-1"};
    view.qos.starvation.why = "why";
    view.qos.effective.faults = {"cpuSuppressThresholdPercent: 300: expected 0 to 100"};
    for (auto& h : view.held) h.raw = "max 100000";  // odd enough for a note
  }
  void fill_usage() {
    usage.at = kNow;
    usage.stalls = all_stalls();
    usage.steal = Permille{1};
    usage.disks = {{"sda", {1, 2, 3, 4}, Permille{350}, std::chrono::microseconds{7}}};
    usage.networks = {{"eth0", 1, 2, 3, 4, 5, 6}};
    usage.numa = {{0, MilliCpu{1}, Bytes{2}}};
    usage.caches = {{"LS", 0, 1, 2, 3}};
    usage.cold_memory = Bytes{9};
    view.node_usage = &usage;
  }
  void fill_interference() {
    using std::chrono::milliseconds;
    auto& p = hurt["ls-1"];
    p.uid = "ls-1";
    p.degree.degree = 77;
    p.degree.be_degree = 60;
    p.degree.missing = {"throttling"};
    auto& w = p.window;
    w.at = kNow;
    w.length = seconds{10};
    w.wait = w.behind_best_effort = seconds{1};
    w.run = seconds{4};
    w.wait_p50 = w.wait_p95 = w.wait_p99 = milliseconds{2};
    w.dispatches = 100;
    w.cpu = w.memory = w.io = StallShare{12, 3};
    w.micro = {{"main", MilliCpu{1000}, 1.25, 0.5, "containerd://c-ls-1", 5.0e9, 4.0e9}};
    p.culprits = {{"be-1", 0.5, MilliCpu{1500}, 12}};
    auto& i = view.interference;
    i.enabled = true;
    i.run_queue_source = "bpf";
    i.counter_source = "files";
    i.window = seconds{10};
    i.triggers = {{"/proc/pressure/io", "some 1 2", "", 3}};
    i.pods = &hurt;
    i.node = NodeInterference{};
    i.node->degree = 77;
    i.node->be_degree = 60;
  }
};

}  // namespace koordlet::test
