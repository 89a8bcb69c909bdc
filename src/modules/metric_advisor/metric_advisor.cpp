#include "modules/metric_advisor/metric_advisor.hpp"

#include <algorithm>
#include <deque>
#include <set>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "modules/metric_advisor/host_application.hpp"
#include "modules/metric_advisor/rate.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
using std::chrono::nanoseconds;

constexpr auto kSlice = std::chrono::microseconds{1000};      // work between two yields to the loop
constexpr auto kFastWindow = std::chrono::milliseconds{200};  // window of the class-counter poll

/// Until the cgroup driver is known a pod has no path of its own, and the root is no pod's.
bool is_measured(const Pod& pod) { return is_active(pod) && !pod.cgroup.is_root(); }

/// A pod below the BE root is inside be_used already.
bool is_outside_be(const Pod& pod, const CgroupPath& be_root) {
  return pod.qos == QosClass::kBe && !be_root.is_ancestor_of(pod.cgroup);
}

bool is_gone(const Error& e) { return e.code == Errc::kGone || e.code == Errc::kNotFound; }

std::string container_owner(const Container& c) { return fmt::format("{}://{}", c.runtime, c.id); }

}  // namespace

struct MetricAdvisor::Impl {
  Config config;
  kernel::HostRoots roots;
  CgroupVersion version;
  const Clock& clock;
  kernel::ProcFs proc;
  kernel::CgroupCounters counters;
  MilliCpu ceiling;  ///< 1.1 x online CPUs

  struct Node {
    CpuRate cpu;
  } node;
  std::map<CgroupPath, CpuRate>
      classes;                   ///< kubepods, BE root, BE pods outside it, host applications
  std::set<CgroupPath> touched;  ///< class cgroups read in this pass; the rest is forgotten
  struct FastReading {
    MonoTime at;
    nanoseconds kubepods, be;
  };
  std::deque<FastReading> fast;
  std::uint64_t seq = 0;
  std::optional<NodeSignals> signals;

  struct Track {
    CpuRate cpu;
    ThrottleRate throttle;
  };
  std::map<CgroupPath, Track> tracks;  ///< pods and containers
  std::map<std::string, PodUsage> pods;
  std::vector<store::MetricSample> samples;
  std::map<std::string, SourceHealth> health;
  std::chrono::microseconds last_collect{0};

  Impl(Config c, kernel::HostRoots r, CgroupVersion v, const Clock& k, std::size_t budget)
      : config{c}, roots{r}, version{v}, clock{k}, proc{r}, counters{std::move(r), v, budget} {
    const auto cpus = kernel::read_topology(roots);
    // Without a topology nothing can be said to be too much.
    ceiling = cpus && !cpus->empty() ? MilliCpu{static_cast<std::int64_t>(cpus->size()) * 1100}
                                     : MilliCpu{std::int64_t{CpuSet::kMaxCpus} * 1000};
  }

  void ok(const std::string& source) {
    auto& h = health[source];
    h.name = source;
    h.fault.clear();
    h.last_ok = clock.now();
  }
  void fault(const std::string& source, const Error& e) {
    auto& h = health[source];
    h.name = source;
    h.fault = e.context;
  }

  std::optional<nanoseconds> usage_of(const CgroupPath& path, const std::string& source) {
    const auto c = counters.cpu(path);
    if (!c) {
      fault(source, c.error());
      return std::nullopt;
    }
    ok(source);
    return c->usage;
  }

  std::optional<MilliCpu> class_rate(const CgroupPath& path, const std::string& source) {
    const auto usage = usage_of(path, source);
    if (!usage) {
      classes.erase(path);
      return std::nullopt;
    }
    touched.insert(path);
    return classes[path].update({clock.now(), *usage}, ceiling);
  }

  void emit(std::string kind, std::string owner, std::int64_t value) {
    samples.push_back({{std::move(kind), std::move(owner)}, value});
  }

  std::optional<MilliCpu> node_rate();
  void read_memory(NodeSignals& out);
  void read_classes(const NodeState& state, const kernel::CgroupLayout& layout, NodeSignals& out);
  MilliCpu host_app_rate(const NodeState& state, const kernel::CgroupLayout& layout);
  void emit_node(const NodeSignals& s);
  void measure_pod(const Pod& pod);
  void measure_container(const Container& c);
  std::optional<MilliCpu> measure_cpu(const CgroupPath& path, MonoTime& at);
  std::optional<Permille> measure_throttle(const CgroupPath& path);
  void drop_gone(const NodeState& state);
};

MetricAdvisor::MetricAdvisor(Config config,
                             kernel::HostRoots roots,
                             CgroupVersion version,
                             const Clock& clock,
                             std::size_t descriptor_budget)
    : impl_{std::make_unique<Impl>(config, std::move(roots), version, clock, descriptor_budget)} {}
MetricAdvisor::~MetricAdvisor() = default;

std::optional<MilliCpu> MetricAdvisor::Impl::node_rate() {
  const auto ticks = proc.stat();
  if (!ticks) {
    fault("node cpu", ticks.error());
    return std::nullopt;
  }
  ok("node cpu");
  static const long hz = kernel::ProcFs::ticks_per_second();
  const nanoseconds used{
      static_cast<std::int64_t>(static_cast<__int128>(ticks->used) * 1'000'000'000 / hz)};
  return node.cpu.update({clock.now(), used}, ceiling);
}

void MetricAdvisor::Impl::read_memory(NodeSignals& out) {
  const auto mem = proc.meminfo();
  if (!mem) {
    fault("node memory", mem.error());
    return;
  }
  ok("node memory");
  out.memory_total = mem->total;
  out.memory_used = Bytes{std::max<std::int64_t>(0, mem->total.v - mem->available.v)};
}

MilliCpu MetricAdvisor::Impl::host_app_rate(const NodeState& state,
                                            const kernel::CgroupLayout& layout) {
  MilliCpu sum;
  if (!state.slo) return sum;
  for (const auto& app : state.slo->host_applications) {
    const auto path = host_application_path(app, layout);
    if (!path || layout.tier(KubeQos::kBestEffort).is_ancestor_of(*path)) continue;
    if (const auto rate = class_rate(*path, "host application " + app.name)) sum += *rate;
  }
  return sum;
}

void MetricAdvisor::Impl::read_classes(const NodeState& state,
                                       const kernel::CgroupLayout& layout,
                                       NodeSignals& out) {
  touched.clear();
  const auto be_root = layout.tier(KubeQos::kBestEffort);
  out.kubepods_used = class_rate(layout.kubepods(), "kubepods cpu");
  out.be_used = class_rate(be_root, "best-effort cpu");
  for (const auto& pod : state.pods) {
    if (!is_measured(*pod) || !is_outside_be(*pod, be_root)) continue;
    if (const auto rate = class_rate(pod->cgroup, "best-effort pods outside the class")) {
      out.be_outside_used += *rate;
    }
  }
  out.host_app_used = host_app_rate(state, layout);
  std::erase_if(classes, [&](const auto& c) { return !touched.contains(c.first); });
}

void MetricAdvisor::Impl::emit_node(const NodeSignals& s) {
  emit("node_cpu_usage", "", s.node_used.v);
  if (s.memory_used) emit("node_memory_usage", "", s.memory_used->v);
  if (s.be_used) emit("node_be", "cpu/usage", s.be_used->v);
  if (s.kubepods_used) {
    const auto system = s.node_used - *s.kubepods_used - s.host_app_used;
    emit("sys_cpu_usage", "", std::max<std::int64_t>(0, system.v));
  }
}

std::optional<NodeSignals> MetricAdvisor::sample_node(
    const NodeState& state, const std::optional<kernel::CgroupLayout>& layout) {
  auto& m = *impl_;
  NodeSignals out;
  const auto used = m.node_rate();
  m.read_memory(out);
  if (layout) m.read_classes(state, *layout, out);
  if (!used) return std::nullopt;
  out.node_used = *used;
  out.at = m.clock.now();
  out.seq = ++m.seq;
  m.signals = out;
  m.emit_node(out);
  return out;
}

std::optional<NodeSignals> MetricAdvisor::sample_classes(
    const NodeState& state, const std::optional<kernel::CgroupLayout>& layout) {
  static_cast<void>(state);
  auto& m = *impl_;
  if (!layout || !m.signals || !m.signals->kubepods_used) return std::nullopt;
  const auto kubepods = m.usage_of(layout->kubepods(), "kubepods cpu");
  const auto be = m.usage_of(layout->tier(KubeQos::kBestEffort), "best-effort cpu");
  if (!kubepods || !be) return std::nullopt;
  const Impl::FastReading reading{m.clock.now(), *kubepods, *be};
  // A gap in the poll makes the older readings useless.
  if (!m.fast.empty() && reading.at - m.fast.back().at > 3 * kFastWindow) m.fast.clear();
  m.fast.push_back(reading);
  while (m.fast.size() > 2 && reading.at - m.fast[1].at >= kFastWindow) m.fast.pop_front();
  const auto& base = m.fast.front();
  if (reading.at - base.at < kFastWindow) return std::nullopt;
  CpuRate pods_rate;
  CpuRate be_rate;
  static_cast<void>(pods_rate.update({base.at, base.kubepods}, m.ceiling));
  static_cast<void>(be_rate.update({base.at, base.be}, m.ceiling));
  const auto pods_used = pods_rate.since_base({reading.at, reading.kubepods}, m.ceiling);
  const auto be_used = be_rate.since_base({reading.at, reading.be}, m.ceiling);
  if (!pods_used || !be_used) {
    m.fast.clear();
    return std::nullopt;
  }
  NodeSignals out = *m.signals;
  const auto outside_pods = m.signals->node_used - *m.signals->kubepods_used;
  out.kubepods_used = pods_used;
  out.be_used = be_used;
  out.node_used = *pods_used + MilliCpu{std::max<std::int64_t>(0, outside_pods.v)};
  out.at = reading.at;
  out.seq = ++m.seq;
  return out;
}

std::optional<MilliCpu> MetricAdvisor::Impl::measure_cpu(const CgroupPath& path, MonoTime& at) {
  const auto c = counters.cpu(path);
  at = clock.now();
  if (!c) {
    if (!is_gone(c.error())) fault("pod cpu", c.error());
    tracks.erase(path);
    return std::nullopt;
  }
  ok("pod cpu");
  return tracks[path].cpu.update({at, c->usage}, ceiling);
}

std::optional<Permille> MetricAdvisor::Impl::measure_throttle(const CgroupPath& path) {
  const auto t = counters.throttle(path);
  if (!t) {
    if (!is_gone(t.error())) fault("throttling", t.error());
    return std::nullopt;
  }
  ok("throttling");
  return tracks[path].throttle.update(t->periods, t->throttled);
}

void MetricAdvisor::Impl::measure_container(const Container& c) {
  MonoTime at;
  const auto owner = container_owner(c);
  if (const auto cpu = measure_cpu(*c.cgroup, at)) emit("container_cpu_usage", owner, cpu->v);
  if (const auto mem = counters.memory(*c.cgroup))
    emit("container_memory_usage", owner, mem->without_cache().v);
  if (const auto t = measure_throttle(*c.cgroup)) emit("container_cpu_throttled", owner, t->v);
}

void MetricAdvisor::Impl::measure_pod(const Pod& pod) {
  PodUsage usage;
  usage.cpu = measure_cpu(pod.cgroup, usage.at);
  usage.throttled = measure_throttle(pod.cgroup);
  if (const auto mem = counters.memory(pod.cgroup)) {
    ok("pod memory");
    usage.memory = mem->without_cache();
  } else if (!is_gone(mem.error())) {
    fault("pod memory", mem.error());
  }
  if (usage.cpu) emit("pod_cpu_usage", pod.uid, usage.cpu->v);
  if (usage.memory) emit("pod_memory_usage", pod.uid, usage.memory->v);
  if (usage.throttled) emit("pod_cpu_throttled", pod.uid, usage.throttled->v);
  if (usage.cpu || usage.memory) {
    pods[pod.uid] = usage;
  }
  for (const auto& c : pod.containers) {
    if (c.cgroup) measure_container(c);
  }
}

void MetricAdvisor::Impl::drop_gone(const NodeState& state) {
  std::erase_if(pods, [&](const auto& p) { return find_pod(state, p.first) == nullptr; });
  std::set<CgroupPath> alive;
  for (const auto& pod : state.pods) {
    alive.insert(pod->cgroup);
    for (const auto& c : pod->containers) {
      if (c.cgroup) alive.insert(*c.cgroup);
    }
  }
  std::erase_if(tracks, [&](const auto& t) {
    if (alive.contains(t.first)) return false;
    counters.forget(t.first);
    return true;
  });
}

asio::awaitable<void> MetricAdvisor::collect_pods(std::shared_ptr<const NodeState> state) {
  auto& m = *impl_;
  std::chrono::nanoseconds worked{0};
  auto slice_start = std::chrono::steady_clock::now();
  for (const auto& pod : state->pods) {
    if (is_measured(*pod)) m.measure_pod(*pod);
    const auto in_slice = std::chrono::steady_clock::now() - slice_start;
    if (in_slice < kSlice) continue;
    worked += in_slice;
    co_await asio::post(asio::use_awaitable);
    slice_start = std::chrono::steady_clock::now();
  }
  m.drop_gone(*state);
  worked += std::chrono::steady_clock::now() - slice_start;
  m.last_collect = std::chrono::duration_cast<std::chrono::microseconds>(worked);
}

const std::optional<NodeSignals>& MetricAdvisor::signals() const { return impl_->signals; }
const std::map<std::string, PodUsage>& MetricAdvisor::pods() const { return impl_->pods; }
std::vector<store::MetricSample> MetricAdvisor::take_samples() {
  return std::exchange(impl_->samples, {});
}

std::vector<MetricAdvisor::SourceHealth> MetricAdvisor::health() const {
  std::vector<SourceHealth> out;
  for (const auto& [name, h] : impl_->health) out.push_back(h);
  return out;
}

std::chrono::microseconds MetricAdvisor::last_collect() const { return impl_->last_collect; }
std::size_t MetricAdvisor::open_files() const { return impl_->counters.open_files(); }

}  // namespace koordlet
