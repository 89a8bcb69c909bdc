#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "reactor/psi_trigger.hpp"
#include "store/checkpoint.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;
using reactor::use_ec;

constexpr auto kFastCollect = std::chrono::seconds{10};
constexpr auto kSaveInterval = std::chrono::minutes{10};
constexpr const char* kCheckpoint = "interference baselines";

/// Stall and window in us. The second one is for processes without CAP_SYS_RESOURCE, which the
/// kernel gives windows of whole multiples of 2 s only.
constexpr const char* kTriggers[] = {"some 100000 1000000", "some 200000 2000000"};

}  // namespace

bool Daemon::is_interfered() const {
  const auto& node = interference_->node();
  return node && node->interfered;
}

/// What the pressure rule asks of the newest windows.
std::vector<LsSignal> Daemon::ls_signals() const {
  std::vector<LsSignal> out;
  for (const auto& [uid, p] : interference_->pods()) {
    LsSignal& s = out.emplace_back();
    s.uid = uid;
    s.at = p.window.at;
    s.window = p.window.length;
    if (p.window.cpu) {
      s.cpu_full_percent = p.window.cpu->full_percent;
      s.cpu_some_percent = p.window.cpu->some_percent;
    }
    s.wait_p95 = p.window.wait_p95;
    s.degree = p.degree.degree;
    s.throttled = p.window.throttled;
    s.be_degree = p.degree.be_degree;
  }
  return out;
}

/// What ended or began since the last window, one line each.
void Daemon::log_interference() {
  const auto state = states_->state();
  std::map<std::string, bool> now;
  for (const auto& [uid, p] : interference_->pods()) {
    now[uid] = p.interfered;
    const auto known = interfered_.find(uid);
    if (p.interfered == (known != interfered_.end() && known->second)) continue;
    const auto* pod = find_pod(*state, uid);
    const auto name = pod != nullptr ? full_name(*pod) : uid;
    if (!p.interfered) {
      log::info("interference", fmt::format("pod {}: over", name));
      continue;
    }
    std::string blamed;
    for (const auto& c : p.culprits) {
      const auto* culprit = find_pod(*state, c.uid);
      blamed += fmt::format(
          "{}{}", blamed.empty() ? ": " : ", ", culprit != nullptr ? full_name(*culprit) : c.uid);
    }
    log::info("interference",
              fmt::format("pod {}: degree {}, most by {}{}",
                          name,
                          p.degree.degree.value_or(0),
                          to_string(p.degree.top),
                          blamed));
    collect_within(kFastCollect);
  }
  interfered_ = std::move(now);
}

/// A window each ls_interval; between two of them nothing of it runs.
asio::awaitable<void> Daemon::interference_loop() {
  reactor::TimerFd timer{io_.get_executor(), config_.interference.ls_interval};
  for (;;) {
    const auto started = std::chrono::steady_clock::now();
    co_await advisor_->sample_slow();
    const auto be_used = signals_ ? signals_->be_used : std::nullopt;
    co_await interference_->sample(states_->state(), be_used);
    stages_["interference"] = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - started);
    cache_->append(clock_.now(), interference_->take_samples());
    log_interference();
    if (baselines_saved_ && clock_.now() - *baselines_saved_ >= kSaveInterval) save_baselines();
    const auto ec = co_await timer.wait();
    if (ec) co_return;
  }
}

/// The wait is always armed; an event makes the policy look at class counters at once. A trigger
/// that goes away (psi off, file removed) is shown and not missed: ticks come anyway.
asio::awaitable<void> Daemon::watch_pressure(std::string path, std::string trigger) {
  auto opened = reactor::PsiTrigger::open(io_.get_executor(), path, trigger);
  auto& shown = pressure_watches_[path];
  if (!opened) shown.fault = opened.error().context;
  while (shown.fault.empty()) {
    const auto event = co_await opened->wait();
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) co_return;
    if (event) {
      ++shown.events;
      wake({.fast = true});
    } else {
      shown.fault = event.error().context;
    }
  }
  // A task that ends by itself stops the daemon: this one only has nothing left to do.
  asio::steady_timer never{io_, asio::steady_timer::time_point::max()};
  co_await never.async_wait(use_ec);
}

void Daemon::open_interference() {
  baselines_saved_ = clock_.now();
  tasks_.spawn("interference", interference_loop());
  if (!config_.interference.psi_triggers) return;
  // CPU stalls of the whole node say nothing (one capped hog stalls all the time): memory and IO.
  for (const std::string resource : {"memory", "io"}) {
    const auto path = fmt::format("{}/pressure/{}", config_.host.proc, resource);
    auto& shown = pressure_watches_[path];
    for (const std::string trigger : kTriggers) {
      auto probe = reactor::PsiTrigger::open(io_.get_executor(), path, trigger);
      shown.trigger = trigger;
      shown.fault = probe ? "" : probe.error().context;
      if (probe) break;
    }
    if (shown.fault.empty())
      tasks_.spawn("pressure trigger " + resource, watch_pressure(path, shown.trigger));
  }
}

asio::awaitable<void> Daemon::load_baselines() {
  auto* env = &*state_env_;
  auto text = co_await storage_->run([env] { return store::Checkpoints{*env}.get(kCheckpoint); });
  if (!text) {
    log::warn("interference", fmt::format("{}: learning anew, ignoring", text.error().context));
    co_return;
  }
  if (!*text) co_return;
  if (const auto loaded = interference_->load_baselines(**text); !loaded)
    log::warn("interference", fmt::format("{}: learning anew, ignoring", loaded.error().context));
}

void Daemon::save_baselines() {
  baselines_saved_ = clock_.now();
  if (!interference_->baselines_changed()) return;
  storage_->post([env = &*state_env_, text = interference_->baselines_text()] {
    const auto saved = store::Checkpoints{*env}.put(kCheckpoint, text);
    if (!saved) log::warn("interference", fmt::format("{}, ignoring", saved.error().context));
  });
}

}  // namespace koordlet::app
