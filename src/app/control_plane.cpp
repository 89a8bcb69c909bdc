#include "app/control_plane.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "app/age.hpp"
#include "k8s/api_access.hpp"
#include "k8s/server_url.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  std::string out{name.data()};
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return out;
}

std::optional<StatusView::Report::Times> times_of(const Recent::Percentiles& p) {
  if (p.count == 0) return std::nullopt;
  return StatusView::Report::Times{p.p50, p.p99, p.max};
}

}  // namespace

std::string node_name_of(const Config& config) {
  const auto& informer = config.states.informer;
  if (!informer.node_name.empty()) return informer.node_name;
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != 0) return name;
  return informer.source == StatesSource::kKubernetes ? host_name() : std::string{};
}

ControlPlane::ControlPlane(asio::any_io_executor ex, const Config& config, const Clock& clock)
    : ex_{std::move(ex)}, config_{config}, clock_{clock}, node_name_{node_name_of(config)} {}

ControlPlane::~ControlPlane() = default;

Result<std::unique_ptr<ControlPlane>> ControlPlane::open(asio::any_io_executor ex,
                                                         const Config& config,
                                                         Hooks hooks,
                                                         const Clock& clock) {
  std::unique_ptr<ControlPlane> out{new ControlPlane{std::move(ex), config, clock}};
  if (config.states.informer.source == StatesSource::kKubernetes) {
    if (const auto api = out->open_api(); !api) return wrap("API server", api.error());
    out->make_reporters(hooks);
    out->make_evictor(hooks);
  }
  if (!config.kubelet.url.empty()) {
    if (const auto kubelet = out->open_kubelet(); !kubelet) return wrap("kubelet", kubelet.error());
  }
  return out;
}

Result<void> ControlPlane::open_api() {
  const auto access = config_.api.kubeconfig.empty()
                          ? k8s::access_in_cluster(k8s::in_cluster_from_environment())
                          : k8s::access_from_kubeconfig(config_.api.kubeconfig);
  if (!access) return access.error();
  k8s::ApiClient::Options options;
  options.http.connect_timeout = config_.api.connect_timeout;
  options.http.request_timeout = config_.api.request_timeout;
  options.http.head_timeout = config_.api.request_timeout;
  options.http.dead_peer = config_.api.dead_peer;
  options.user_agent = fmt::format("koordlet/{}", KOORDLET_VERSION);
  api_ = std::make_unique<k8s::ApiClient>(ex_, *access, options, clock_);
  return api_->open();
}

Result<void> ControlPlane::open_kubelet() {
  const auto& k = config_.kubelet;
  const auto url = k8s::parse_server_url(k.url);
  if (!url) return wrap("kubelet.url", url.error());
  k8s::ApiAccess access;
  access.endpoint = url->endpoint;
  access.base_path = url->base_path;
  access.ca_file = k.ca_file;
  access.token_file = k.token_file;
  access.cert_file = k.cert_file;
  access.key_file = k.key_file;
  access.source = "[kubelet]";
  kubelet_ = std::make_unique<k8s::KubeletClient>(
      ex_, std::move(access), k8s::KubeletClient::Options{}, clock_);
  return kubelet_->open();
}

void ControlPlane::make_reporters(Hooks& hooks) {
  if (config_.report.topology) {
    TopologyReporter::Config topology;
    topology.node_name = node_name_;
    topology_ = std::make_unique<TopologyReporter>(
        ex_,
        std::move(topology),
        TopologyReporter::Deps{std::move(hooks.gather_topology), k8s::caller_of(*api_)},
        clock_);
  }
  if (config_.report.high_condition && !config_.executor.dry_run) {
    ConditionReporter::Config condition;
    condition.node_name = node_name_;
    condition_ = std::make_unique<ConditionReporter>(
        ex_, std::move(condition), k8s::caller_of(*api_), clock_);
  }
  if (config_.predict.enabled && config_.warning.enabled && !config_.executor.dry_run) {
    ConditionReporter::Config condition;
    condition.node_name = node_name_;
    condition.text = {"KoordletPeakForecast", "PeakAboveThreshold", "NoPeakForecast"};
    peak_condition_ = std::make_unique<ConditionReporter>(
        ex_, std::move(condition), k8s::caller_of(*api_), clock_);
  }
  if (!config_.report.enable) return;
  NodeReporter::Config config;
  config.node_name = node_name_;
  if (config_.report.interval.count() > 0) config.interval = config_.report.interval;
  config.node_limit = std::max(milliseconds{3000}, 3 * config_.qos.interval);
  config.create = config_.report.create;
  NodeReporter::Deps deps;
  deps.gather = std::move(hooks.gather_report);
  deps.call = k8s::caller_of(*api_);
  reporter_ = std::make_unique<NodeReporter>(ex_, std::move(config), std::move(deps), clock_);
}

void ControlPlane::make_evictor(Hooks& hooks) {
  k8s::EventRecorder::Config events;
  events.node_name = node_name_;
  events_ = std::make_unique<k8s::EventRecorder>(ex_, k8s::caller_of(*api_), events, clock_);
  Evictor::Config config;
  config.dry_run = config_.executor.dry_run;
  evictor_ = std::make_unique<Evictor>(
      ex_, k8s::caller_of(*api_), *events_, std::move(hooks.still_there), clock_, config);
}

void ControlPlane::start(reactor::TaskGroup& tasks, const NodeState& state) {
  tasks_ = &tasks;
  if (reporter_) tasks.spawn("node reporter", reporter_->run());
  if (condition_) tasks.spawn("node condition", condition_->run());
  if (peak_condition_) tasks.spawn("peak condition", peak_condition_->run());
  if (events_) tasks.spawn("events", events_->run());
  if (evictor_) tasks.spawn("evictor", evictor_->run());
  on_state_change(state);
}

void ControlPlane::on_state_change(const NodeState& state) {
  if (reporter_) reporter_->note_state(state);
  // Before the Node is known there is no topology to tell of.
  if (topology_ && state.node && tasks_ != nullptr && !topology_runs_) {
    topology_runs_ = true;
    tasks_->spawn("topology reporter", topology_->run());
  }
}

void ControlPlane::report_now() {
  if (reporter_) reporter_->report_now();
}

void ControlPlane::note_level(bool high) {
  if (!condition_) return;
  const auto after = config_.report.high_condition_after;
  high_ = policy::watch_high(high_, high, clock_.now(), after);
  if (!high_.lasting) return;
  condition_->want(*high_.lasting,
                   fmt::format("pressure {} HIGH for {} s: best effort is {}",
                               *high_.lasting ? "at" : "below",
                               after.count(),
                               *high_.lasting ? "held back here, send none" : "welcome again"));
}

void ControlPlane::warn_of_peak(bool ahead, const std::string& message) {
  if (!peak_condition_) return;
  peak_condition_->want(ahead, message);
  if (ahead && !peak_ahead_)
    events_->record(
        k8s::node_subject(node_name_), k8s::EventType::kWarning, "KoordletPeakForecast", message);
  peak_ahead_ = ahead;
}

void ControlPlane::fill(StatusView& view) const {
  if (api_) {
    const auto& h = api_->health();
    view.api = StatusView::Api{api_->server(),
                               h.fault,
                               age_of(h.last_ok, view.now),
                               h.clock_skew,
                               h.calls,
                               h.failures,
                               h.unauthorized,
                               h.throttled,
                               h.forbidden};
  }
  if (reporter_) fill_report(view);
  if (condition_) {
    const auto& c = condition_->status();
    view.high_condition = StatusView::HighCondition{c.wanted, c.told, c.problem, c.patches};
  }
  if (evictor_) fill_evictions(view);
}

void ControlPlane::fill_report(StatusView& view) const {
  const auto s = reporter_->status();
  auto& r = view.report.emplace();
  r.interval = s.interval;
  if (s.last_success) r.last_age = age_of(*s.last_success, view.now);
  if (s.next) {
    r.next_in = std::chrono::duration_cast<milliseconds>(
        std::max(*s.next - view.now, MonoTime::duration::zero()));
  }
  r.update_time = s.last_update_time;
  r.problem = s.problem;
  r.lacks = s.health;
  r.reports = s.reports;
  r.unsent = s.unsent;
  r.failures = s.failures;
  r.build_to_2xx = times_of(s.took);
  r.age_then = times_of(s.age);
  if (topology_) r.topology = topology_->status().problem;
}

void ControlPlane::fill_evictions(StatusView& view) const {
  const auto& s = evictor_->status();
  for (int i = 0; i < kEvictionResults; ++i) {
    const auto result = static_cast<EvictionResult>(i);
    view.eviction_counts[std::string{to_string(result)}] = s.count(result);
    for (const auto& [plugin, counts] : s.by_plugin) {
      view.eviction_plugin_counts[{plugin, std::string{to_string(result)}}] =
          counts[static_cast<std::size_t>(i)];
    }
  }
  for (auto at = s.history.rbegin(); at != s.history.rend(); ++at) {
    const auto& o = at->outcome;
    view.evictions.push_back({fmt::format("{}/{}", o.wish.ns, o.wish.name),
                              o.wish.uid,
                              o.wish.plugin,
                              o.wish.reason,
                              std::string{to_string(o.result)},
                              o.detail,
                              o.at});
  }
}

void ControlPlane::evict(std::vector<EvictionWish> wishes) {
  if (evictor_) evictor_->submit(std::move(wishes));
}

std::vector<EvictionOutcome> ControlPlane::take_eviction_outcomes() {
  return evictor_ ? evictor_->take_outcomes() : std::vector<EvictionOutcome>{};
}

}  // namespace koordlet::app
