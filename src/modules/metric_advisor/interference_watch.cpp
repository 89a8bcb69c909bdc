#include "modules/metric_advisor/interference_watch.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "kernel/cpu_info.hpp"
#include "modules/metric_advisor/baseline_checkpoint.hpp"
#include "modules/metric_advisor/interference_impl.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

constexpr auto kSlice = std::chrono::microseconds{1000};  // work between two yields to the loop

MicroSource::Config micro_config(const InterferenceWatch::Config& c) {
  MicroSource::Config out;
  out.enable = c.perf;
  out.window = c.perf_window;
  out.interval = c.perf_interval;
  return out;
}

std::int64_t day_of(WallTime t) {
  return std::chrono::floor<std::chrono::days>(t).time_since_epoch().count();
}

void push(std::deque<policy::VictimWindow>& history,
          policy::VictimWindow window,
          std::size_t most) {
  history.push_back(std::move(window));
  while (history.size() > most) history.pop_front();
}

}  // namespace

InterferenceWatch::Impl::Impl(Config c,
                              const kernel::HostRoots& roots,
                              kernel::Cgroups& cgroups,
                              const Clock& k,
                              std::size_t budget)
    : config{std::move(c)},
      clock{k},
      counters{roots, cgroups.version(), budget},
      run_queue{roots, cgroups},
      micro{micro_config(config), roots, cgroups.version(), counters} {
  if (const auto cpus = kernel::read_topology(roots))
    node_capacity = MilliCpu{static_cast<std::int64_t>(cpus->size()) * 1000};
  // A reading of the counters stands until the next one.
  config.rules.micro_hold = config.perf_interval + config.perf_window + config.ls_interval;
  ceiling = node_capacity.v > 0 ? scale(node_capacity, Permille{1100})
                                : MilliCpu{std::int64_t{CpuSet::kMaxCpus} * 1000};
  if (const auto model = kernel::read_cpu_model(roots)) cpu_model = model->name;
}

void InterferenceWatch::Impl::note(const std::string& source, const std::string& why) {
  auto& h = health[source];
  h.name = source;
  h.fault = why;
  h.unsupported = false;
  if (why.empty()) h.last_ok = clock.now();
}

void InterferenceWatch::Impl::note(const std::string& source, const Error& why) {
  note(source, why.context);
  health[source].unsupported = why.code == Errc::kNotSupported;
}

/// The suspects' use in this window stands beside what the victim suffered in it.
void InterferenceWatch::Impl::blame(const Pod& pod,
                                    Track& track,
                                    const InterferenceWindow& w,
                                    PodInterference& result) {
  const auto& rules = config.rules;
  if (w.wait && w.run && w.run->count() > 0 && w.dispatches &&
      *w.dispatches >= rules.min_dispatches) {
    policy::VictimWindow v;
    v.pain = static_cast<double>(w.wait->count()) / static_cast<double>(w.run->count());
    v.normal = (rules.wait_ratio.lo + rules.wait_ratio.hi) / 2;
    v.used = suspect_use;
    push(track.wait_history, std::move(v), rules.history_windows);
  }
  for (const auto& sample : w.micro) {
    const auto at = baselines.find({baseline_owner(pod), sample.container, cpu_model});
    if (at == baselines.end() || at->second.cpi.samples < rules.mature_samples) continue;
    policy::VictimWindow v;
    v.pain = sample.cpi;
    v.normal = at->second.cpi.mean + 2 * at->second.cpi.sigma();
    v.used = suspect_use;
    push(track.cpi_history, std::move(v), rules.history_windows);
  }
  if (!result.interfered) return;
  result.culprits = policy::rank_culprits(track.cpi_history, rules);
  result.culprit_signal = "cpi";
  if (!result.culprits.empty()) return;
  result.culprits = policy::rank_culprits(track.wait_history, rules);
  result.culprit_signal = result.culprits.empty() ? "" : "run queue";
}

void InterferenceWatch::Impl::judge_pod(const Pod& pod,
                                        Track& track,
                                        const InterferenceWindow& window) {
  const auto& owner = baseline_owner(pod);
  auto judged = policy::judge(
      pod.uid, window, baselines, owner, cpu_model, std::move(track.state), config.rules);
  track.state = std::move(judged.second);
  auto& result = judged.first;
  blame(pod, track, window, result);
  if (!window.micro.empty()) {
    policy::learn(
        baselines, window, result.degree, owner, cpu_model, day_of(clock.wall()), config.rules);
    policy::trim_baselines(baselines, config.max_baselines);
    baselines_changed = true;
  }
  emit(result);
  pods[pod.uid] = std::move(result);
}

InterferenceWatch::InterferenceWatch(Config config,
                                     const kernel::HostRoots& roots,
                                     kernel::Cgroups& cgroups,
                                     const Clock& clock,
                                     std::size_t descriptor_budget)
    : impl_{std::make_unique<Impl>(std::move(config), roots, cgroups, clock, descriptor_budget)} {}
InterferenceWatch::~InterferenceWatch() = default;

void InterferenceWatch::open() {
  auto& m = *impl_;
  if (!m.config.enable) return;
  m.run_queue.open(m.config.bpf);
  m.micro.open();
}

asio::awaitable<void> InterferenceWatch::sample(std::shared_ptr<const NodeState> state,
                                                std::optional<MilliCpu> be_used) {
  auto& m = *impl_;
  if (!m.config.enable) co_return;
  auto slice_start = std::chrono::steady_clock::now();
  m.mark_best_effort(*state);
  m.read_suspects(*state);
  m.read_micro(*state, m.clock.now());
  for (const auto& pod : state->pods) {
    if (!is_latency_sensitive(*pod)) continue;
    auto& track = m.tracks[pod->uid];
    if (const auto window = m.read_window(*pod, track, be_used)) {
      m.judge_pod(*pod, track, *window);
    } else {
      m.pods.erase(pod->uid);  // what cannot be measured now has no degree, least of all an old one
    }
    if (std::chrono::steady_clock::now() - slice_start < kSlice) continue;
    co_await asio::post(asio::use_awaitable);
    slice_start = std::chrono::steady_clock::now();
  }
  m.drop_gone(*state);
  std::vector<PodInterference> all;
  for (const auto& [uid, p] : m.pods) all.push_back(p);
  m.node = policy::worst_of(all, m.clock.now());
  m.emit_node();
}

const std::map<std::string, PodInterference>& InterferenceWatch::pods() const {
  return impl_->pods;
}
const std::optional<NodeInterference>& InterferenceWatch::node() const { return impl_->node; }
std::string InterferenceWatch::run_queue_source() const { return impl_->run_queue.name(); }
std::string InterferenceWatch::run_queue_fault() const { return impl_->run_queue.why_not(); }
std::string InterferenceWatch::perf_fault() const { return impl_->micro.why_not(); }

std::vector<MetricAdvisor::SourceHealth> InterferenceWatch::health() const {
  std::vector<MetricAdvisor::SourceHealth> out;
  const auto& m = *impl_;
  for (const auto& [name, h] : m.health) out.push_back(h);
  if (m.config.enable && m.config.perf) {
    out.push_back({"perf counters",
                   m.micro.why_not(),
                   m.micro.last_read().value_or(MonoTime{}),
                   m.micro.is_unsupported()});
  }
  return out;
}

std::vector<store::MetricSample> InterferenceWatch::take_samples() {
  return std::exchange(impl_->samples, {});
}

std::string InterferenceWatch::baselines_text() const {
  impl_->baselines_changed = false;
  return encode_baselines(impl_->baselines);
}

Result<void> InterferenceWatch::load_baselines(std::string_view text) {
  auto table = parse_baselines(text);
  if (!table) return table.error();
  impl_->baselines = std::move(*table);
  return {};
}

bool InterferenceWatch::baselines_changed() const { return impl_->baselines_changed; }
std::size_t InterferenceWatch::baselines() const { return impl_->baselines.size(); }
std::size_t InterferenceWatch::open_files() const { return impl_->counters.open_files(); }

}  // namespace koordlet
