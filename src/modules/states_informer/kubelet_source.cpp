#include "modules/states_informer/kubelet_source.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "modules/states_informer/settle.hpp"
#include "modules/states_informer/together.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::states {
namespace asio = boost::asio;
namespace {

using Kind = ObjectStore::Kind;
using reactor::use_ec;

}  // namespace

struct KubeletSource::Impl {
  Impl(asio::any_io_executor executor,
       Config c,
       k8s::KubeletClient& client,
       const Clock& k,
       reactor::Worker* helper,
       std::function<void()> f)
      : ex{executor},
        config{std::move(c)},
        kubelet{client},
        clock{k},
        changed{f},
        files{executor, config.files, k, helper, std::move(f)},
        objects{config.node_name, false},
        settle{config.settle},
        wake{ex, asio::steady_timer::time_point::max()} {}

  asio::awaitable<void> poll_loop();
  void take(const Result<std::vector<boost::json::value>>& answer);

  asio::any_io_executor ex;
  Config config;
  k8s::KubeletClient& kubelet;
  const Clock& clock;
  std::function<void()> changed;
  FilesSource files;
  ObjectStore objects;
  k8s::EmptyGuard empties;
  Settle settle;
  asio::steady_timer wake;
  std::string fault;
  MonoTime confirmed_at;
  std::uint64_t polls = 0, failures = 0;
};

void KubeletSource::Impl::take(const Result<std::vector<boost::json::value>>& answer) {
  ++polls;
  if (!answer) {
    ++failures;
    if (fault != answer.error().context) {
      fault = answer.error().context;
      changed();
    }
    return;
  }
  const bool had_fault = !std::exchange(fault, {}).empty();
  if (!empties.believe(answer->size())) {
    fault = "kubelet answers with no pods: not believed before the third time in a row";
    changed();
    return;
  }
  confirmed_at = clock.now();
  const auto before = objects.generation();
  for (const auto& object : *answer) objects.stage(Kind::kPods, object);
  objects.commit(Kind::kPods);
  // The first answer is news even when it has no pods.
  if (objects.generation() != before || had_fault || polls - failures == 1) changed();
}

asio::awaitable<void> KubeletSource::Impl::poll_loop() {
  for (;;) {
    auto answer = co_await kubelet.pods();
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
    take(answer);
    const auto backstop = clock.now() + config.sync;
    for (;;) {
      const auto due = std::min(settle.due().value_or(backstop), backstop);
      if (clock.now() >= due) break;
      wake.expires_after(due - clock.now());
      co_await wake.async_wait(use_ec);
      if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
    }
    static_cast<void>(settle.take(clock.now()));
  }
}

KubeletSource::KubeletSource(asio::any_io_executor ex,
                             Config config,
                             k8s::KubeletClient& kubelet,
                             const Clock& clock,
                             reactor::Worker* helper,
                             std::function<void()> changed)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), kubelet, clock, helper, std::move(changed))} {}

KubeletSource::~KubeletSource() = default;

Result<void> KubeletSource::load() { return impl_->files.load(); }

asio::awaitable<void> KubeletSource::run() {
  auto& impl = *impl_;
  std::vector<std::pair<std::string, asio::awaitable<void>>> parts;
  parts.emplace_back("kubelet/files", impl.files.run());
  parts.emplace_back("kubelet/pods", impl.poll_loop());
  co_await run_together(impl.ex, std::move(parts));
}

Content KubeletSource::content(const std::optional<kernel::CgroupLayout>& layout,
                               const NodeState& previous) {
  auto& impl = *impl_;
  impl.objects.set_layout(layout);
  auto out = impl.files.content(layout, previous);
  out.pods = impl.objects.pods();
  out.pods_at = impl.confirmed_at;
  const auto faults = impl.objects.faults();
  out.faults.insert(out.faults.end(), faults.begin(), faults.end());
  if (!impl.fault.empty()) out.faults.push_back(fmt::format("pods: {}", impl.fault));
  return out;
}

void KubeletSource::on_tree_change() {
  impl_->settle.on_event(impl_->clock.now());
  impl_->wake.cancel();
}

std::vector<ResourceHealth> KubeletSource::health() const {
  auto out = impl_->files.health();
  ResourceHealth pods;
  pods.name = "pods";
  pods.synced = impl_->confirmed_at != MonoTime{};
  pods.confirmed_at = impl_->confirmed_at;
  pods.fault = impl_->fault;
  pods.lists = impl_->polls;
  pods.failures = impl_->failures;
  out.insert(out.begin(), std::move(pods));
  return out;
}

}  // namespace koordlet::states
