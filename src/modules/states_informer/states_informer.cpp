#include "modules/states_informer/states_informer.hpp"

#include <algorithm>
#include <exception>
#include <sys/inotify.h>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "modules/states_informer/pod_tree.hpp"
#include "modules/states_informer/settle.hpp"
#include "modules/states_informer/state_keeper.hpp"
#include "reactor/inotify.hpp"
#include "reactor/task_group.hpp"

namespace koordlet {
namespace asio = boost::asio;
namespace {

using reactor::Inotify;
using reactor::use_ec;

// No IN_MODIFY: a file counts when its writer closes it.
constexpr std::uint32_t kFolderMask =
    IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr std::uint32_t kTreeMask = IN_CREATE | IN_DELETE;
constexpr std::size_t kPodsAStep = 32;  // about 0.5 ms of listing
constexpr std::chrono::seconds kRetry{1};

/// After a cancel any further co_await of a coroutine throws: look first.
bool stopped(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

/// The tree's watches on the one inotify descriptor; without one, every watch is refused.
class TreeWatches final : public states::Watches {
 public:
  explicit TreeWatches(std::unique_ptr<Inotify>& inotify) : inotify_{inotify} {}
  Result<void> watch(const std::string& dir) override {
    if (!inotify_) return Error{Errc::kBusy, fmt::format("{}: no inotify descriptor", dir)};
    return inotify_->watch(dir, kTreeMask);
  }
  void unwatch(const std::string& dir) override {
    if (inotify_) inotify_->unwatch(dir);
  }

 private:
  std::unique_ptr<Inotify>& inotify_;
};

}  // namespace

struct StatesInformer::Impl {
  Impl(asio::any_io_executor executor,
       Config c,
       kernel::Cgroups& cgroups,
       kernel::HostRoots roots,
       const Clock& k,
       reactor::Worker* h)
      : ex{std::move(executor)},
        config{std::move(c)},
        clock{k},
        helper{h},
        keeper{states::ManifestFolder{config.folder, config.max_manifest_bytes},
               config.node_name,
               std::move(roots),
               cgroups.version()},
        settle{config.settle},
        tree{cgroups},
        watches{inotify},
        wake{ex, asio::steady_timer::time_point::max()} {}

  void notify() {
    if (changed) changed();
  }
  void publish() {
    std::vector<std::string> extra;
    if (!inotify_fault.empty()) extra.push_back(inotify_fault);
    if (!tree.fault().empty()) extra.push_back(fmt::format("cgroup watch: {}", tree.fault()));
    if (keeper.publish(clock.now(), extra)) notify();
  }
  void scan_soon() {
    settle.force(clock.now());
    wake.cancel();
  }

  void open_inotify();
  void watch_folder();
  void start_watching();
  bool handle(const Inotify::Event& event);
  asio::awaitable<void> read_events();
  asio::awaitable<void> scan_loop();
  asio::awaitable<bool> scan();
  asio::awaitable<bool> rescan_tree();
  asio::awaitable<void> run();

  asio::any_io_executor ex;
  Config config;
  const Clock& clock;
  reactor::Worker* helper;
  std::function<void()> changed;
  states::StateKeeper keeper;
  states::Settle settle;
  states::PodTree tree;
  std::unique_ptr<Inotify> inotify;
  std::string inotify_fault;
  TreeWatches watches;
  asio::steady_timer wake;  // of scan_loop
  bool tree_lost = false;   // events were lost: the tree must be looked at whole
};

void StatesInformer::Impl::open_inotify() {
  inotify_fault.clear();
  try {
    inotify = std::make_unique<Inotify>(ex);
  } catch (const boost::system::system_error& e) {
    inotify.reset();
    inotify_fault = fmt::format("inotify: {}: changes are seen each {} s only",
                                e.code().message(),
                                config.rescan_interval.count());
  }
}

void StatesInformer::Impl::watch_folder() {
  if (!inotify) return;
  const auto watched = inotify->watch(config.folder, kFolderMask);
  // A missing folder is already the fault of the scan.
  inotify_fault = watched || watched.error().code == Errc::kNotFound ? "" : watched.error().context;
}

/// True: a pod or container directory came or went.
bool StatesInformer::Impl::handle(const Inotify::Event& event) {
  if (event.overflow) {
    tree_lost = true;
    scan_soon();
    return true;
  }
  if (event.dir == config.folder) {
    settle.on_event(clock.now());
    wake.cancel();
    return false;
  }
  if ((event.mask & IN_IGNORED) != 0) return tree.on_gone(event.dir, watches);
  if ((event.mask & IN_ISDIR) == 0) return false;
  return tree.on_entry(event.dir, event.name, (event.mask & IN_CREATE) != 0, watches);
}

/// Makes the watches anew. What came before them is seen by a look after them.
void StatesInformer::Impl::start_watching() {
  open_inotify();
  if (!inotify) return;
  watch_folder();
  tree_lost = true;
  scan_soon();
}

asio::awaitable<void> StatesInformer::Impl::read_events() {
  asio::steady_timer pause{ex};
  for (;;) {
    if (!inotify) start_watching();
    if (inotify) {
      const auto events = co_await inotify->read();
      if (stopped(co_await asio::this_coro::cancellation_state)) co_return;
      if (events) {
        bool tree_changed = false;
        for (const auto& event : *events) tree_changed = handle(event) || tree_changed;
        if (tree_changed) notify();
        continue;
      }
      inotify.reset();
      inotify_fault = events.error().context;
    }
    pause.expires_after(kRetry);
    co_await pause.async_wait(use_ec);
    if (stopped(co_await asio::this_coro::cancellation_state)) co_return;
  }
}

/// False after a cancel.
asio::awaitable<bool> StatesInformer::Impl::rescan_tree() {
  tree_lost = false;
  keeper.find_layout();
  bool tree_changed = tree.begin_rescan(keeper.layout(), watches);
  while (!tree.rescan_done()) {
    tree_changed = tree.step(kPodsAStep, watches) || tree_changed;
    co_await asio::post(ex, use_ec);
    if (stopped(co_await asio::this_coro::cancellation_state)) co_return false;
  }
  if (tree_changed) notify();
  co_return true;
}

/// False after a cancel. The loop gets its turn after each file, and does not parse when there is a
/// helper.
asio::awaitable<bool> StatesInformer::Impl::scan() {
  const auto listed = keeper.begin_scan();  // its error is a fault of the state
  while (listed && keeper.scan_pending()) {
    auto job = keeper.next_job(clock.wall());
    if (job && helper != nullptr) {
      const auto shared = std::make_shared<const states::ManifestFolder::Job>(std::move(*job));
      auto reading = helper->run([shared] { return states::ManifestFolder::run(*shared); });
      auto read = co_await std::move(reading);
      keeper.apply(*shared, std::move(read));
      continue;
    }
    if (job) keeper.apply(*job, states::ManifestFolder::run(*job));
    co_await asio::post(ex, use_ec);
    if (stopped(co_await asio::this_coro::cancellation_state)) co_return false;
  }
  publish();
  co_return true;
}

/// The one place that reads the folder, so that two readings never mix.
asio::awaitable<void> StatesInformer::Impl::scan_loop() {
  MonoTime next_rescan = clock.now() + config.rescan_interval;
  for (;;) {
    const auto due = std::min(settle.due().value_or(next_rescan), next_rescan);
    wake.expires_after(std::max(due - clock.now(), MonoTime::duration::zero()));
    co_await wake.async_wait(use_ec);
    if (stopped(co_await asio::this_coro::cancellation_state)) co_return;
    const auto now = clock.now();
    const bool full = now >= next_rescan;
    if (!settle.take(now) && !full) continue;
    if (full) {
      next_rescan = now + config.rescan_interval;
      watch_folder();
    }
    if (full || tree_lost) {
      const bool go_on = co_await rescan_tree();
      if (!go_on) co_return;
    }
    const bool go_on = co_await scan();
    if (!go_on) co_return;
  }
}

asio::awaitable<void> StatesInformer::Impl::run() {
  std::exception_ptr failure;
  asio::steady_timer stopped{ex, asio::steady_timer::time_point::max()};
  reactor::TaskGroup tasks{ex, [&](const std::string&, const std::exception_ptr& e) {
                             if (e && !failure) failure = e;
                             stopped.cancel();
                           }};
  tasks.spawn("states_informer/events", read_events());
  tasks.spawn("states_informer/scans", scan_loop());
  co_await stopped.async_wait(use_ec);
  // Cancelled, or one of the two failed: both end before this frame does.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  tasks.request_stop();
  const bool joined = co_await tasks.join(std::chrono::seconds{5});
  inotify.reset();
  if (failure) std::rethrow_exception(failure);
  if (!joined) throw std::runtime_error{"states informer: a task did not stop"};
}

StatesInformer::StatesInformer(asio::any_io_executor ex,
                               Config config,
                               kernel::Cgroups& cgroups,
                               kernel::HostRoots roots,
                               const Clock& clock,
                               reactor::Worker* helper)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), cgroups, std::move(roots), clock, helper)} {}

StatesInformer::~StatesInformer() = default;

Result<void> StatesInformer::load() {
  impl_->keeper.find_layout();
  if (auto read = impl_->keeper.scan(impl_->clock.wall()); !read) {
    return wrap("manifests", read.error());
  }
  impl_->publish();
  return {};
}

asio::awaitable<void> StatesInformer::run() { return impl_->run(); }

std::shared_ptr<const NodeState> StatesInformer::state() const { return impl_->keeper.state(); }

void StatesInformer::on_change(std::function<void()> f) { impl_->changed = std::move(f); }

std::optional<kernel::CgroupLayout> StatesInformer::layout() const {
  return impl_->keeper.layout();
}

}  // namespace koordlet
