#include <utility>

#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "modules/predict_server/model.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;

constexpr auto kRound = std::chrono::seconds{60};

/// What the node may give away, before the cluster amplified it; nullopt: not known.
std::optional<policy::PeakAmount> allocatable_of(const NodeState& state) {
  if (!state.node) return std::nullopt;
  const auto& n = *state.node;
  const auto cpu = n.raw_cpu_allocatable ? n.raw_cpu_allocatable : n.cpu_allocatable;
  const auto memory = n.raw_memory_allocatable ? n.raw_memory_allocatable : n.memory_allocatable;
  if (!cpu || !memory) return std::nullopt;
  return policy::PeakAmount{*cpu, *memory};
}

}  // namespace

void Daemon::open_predict() {
  if (!config_.predict.enabled) return;
  predict_ =
      std::make_unique<PredictServer>(predict_config(config_), *storage_, *state_env_, clock_);
}

/// What was learned comes first: a round before it would begin models anew.
asio::awaitable<void> Daemon::predict_loop() {
  co_await predict_->load();
  reactor::TimerFd timer{io_.get_executor(), kRound};
  for (;;) {
    const auto ec = co_await timer.wait();
    if (ec) co_return;
    co_await predict_->round(states_->state());
    stages_["predict"] = predict_->status().last_round;
    const auto* node = predict_->find(predict::kNodeKey);
    if (node == nullptr) continue;
    keep_forecast(*node);
    if (config_.warning.enabled) watch_peak(*node);
  }
}

/// The node's forecast as series, to lay beside what came.
void Daemon::keep_forecast(const policy::Prediction& node) {
  std::vector<store::MetricSample> samples;
  if (const auto& f = node.cpu.forecast)
    samples.push_back(
        {{"node_predicted_peak_cpu", ""}, static_cast<std::int64_t>(f->peak * 1000 + 0.5)});
  if (const auto& f = node.memory.forecast)
    samples.push_back({{"node_predicted_peak_memory", ""}, static_cast<std::int64_t>(f->peak)});
  if (!samples.empty()) cache_->append(clock_.now(), std::move(samples));
}

void Daemon::watch_peak(const policy::Prediction& node) {
  const int percent = config_.warning.percent > 0 ? config_.warning.percent
                                                  : qos_->status().effective.pressure.high_percent;
  const auto state = states_->state();
  policy::PeakLimits limits{capacity(), {}, percent};
  if (state->node) limits.memory = state->node->memory_capacity;
  peak_watch_ = policy::watch_peak(std::move(peak_watch_),
                                   policy::peak_ahead(node, limits),
                                   clock_.now(),
                                   config_.warning.after);
  if (!peak_watch_.lasting()) return;
  const auto& warning = peak_watch_.warning;
  if (peak_watch_.changed)
    log::warn("predict", warning.empty() ? "no peak is forecast any more" : warning);
  control_->warn_of_peak(
      !warning.empty(),
      warning.empty() ? fmt::format("no peak above {} % is forecast", percent)
                      : fmt::format("within {} s {}", config_.predict.window.count(), warning));
}

void Daemon::add_predictions(StatusView& v) const {
  if (!predict_) return;
  const auto s = predict_->status();
  auto& p = v.predictions.emplace();
  p.window = predict_->config().window;
  p.rounds = s.rounds;
  p.last_round = s.last_round;
  p.longest_slice = s.longest_slice;
  p.models = s.models;
  p.bytes = s.bytes;
  p.restored = s.restored;
  p.cold_rows = s.cold_rows;
  p.restarted = s.restarted;
  p.expired = s.expired;
  p.rows = s.rows;
  p.save_failures = s.save_failures;
  p.save_failing = s.save_failing;
  p.node = predict_->find(predict::kNodeKey);
  p.system = predict_->find(predict::kSystemKey);
  predict_->for_each([&p](const std::string& key, const policy::Prediction& prediction) {
    const std::string_view name = key;
    if (name.starts_with(predict::kClassPrefix))
      p.classes.push_back({name.substr(predict::kClassPrefix.size()), &prediction});
    if (const auto uid = predict::pod_of(name); !uid.empty()) p.pods.push_back({uid, &prediction});
  });
  p.reclaimable = predict_->reclaimable(*v.state, allocatable_of(*v.state));
  p.warning = peak_watch_.warning;
}

void Daemon::add_reclaimable(ReportInput& input) const {
  if (!predict_) return;
  const auto r = predict_->reclaimable(*input.state, allocatable_of(*input.state));
  if (!r) return;
  input.prod_reclaimable = {r->reclaimable.cpu, r->reclaimable.memory};
  input.prod_peak = ResourceUse{r->peak.cpu, r->peak.memory};
}

}  // namespace koordlet::app
