#include "modules/states_informer/tree_watch.hpp"

#include <algorithm>
#include <sys/inotify.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "modules/states_informer/together.hpp"
#include "reactor/inotify.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::states {
namespace asio = boost::asio;
namespace {

using reactor::Inotify;
using reactor::use_ec;

constexpr std::uint32_t kTreeMask = IN_CREATE | IN_DELETE;
constexpr std::size_t kPodsAStep = 32;  // about 0.5 ms of listing
constexpr std::chrono::seconds kRetry{1};
/// While there is no tree it is looked for more often: the first pod of a node must not wait.
constexpr std::chrono::milliseconds kNoTree{500};

/// The tree's watches on the one inotify descriptor; without one, every watch is refused.
class TreeWatches final : public Watches {
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

struct TreeWatch::Impl {
  Impl(asio::any_io_executor executor,
       kernel::Cgroups& cgroups,
       const Clock& k,
       std::chrono::milliseconds r,
       std::function<const std::optional<kernel::CgroupLayout>&()> f,
       std::function<void()> c)
      : ex{std::move(executor)},
        clock{k},
        rescan{r},
        find_layout{std::move(f)},
        changed{std::move(c)},
        tree{cgroups},
        watches{inotify},
        wake{ex, asio::steady_timer::time_point::max()} {}

  void rescan_soon() {
    due = clock.now();
    wake.cancel();
  }
  void start_watching();
  bool handle(const Inotify::Event& event);
  asio::awaitable<void> read_events();
  asio::awaitable<bool> look_at_all();
  asio::awaitable<void> rescan_loop();

  asio::any_io_executor ex;
  const Clock& clock;
  std::chrono::milliseconds rescan;
  std::function<const std::optional<kernel::CgroupLayout>&()> find_layout;
  std::function<void()> changed;
  PodTree tree;
  std::unique_ptr<Inotify> inotify;
  std::string inotify_fault;
  TreeWatches watches;
  asio::steady_timer wake;
  MonoTime due;
};

/// Makes the watches anew. What came before them is seen by a look after them.
void TreeWatch::Impl::start_watching() {
  inotify_fault.clear();
  try {
    inotify = std::make_unique<Inotify>(ex);
    rescan_soon();
  } catch (const boost::system::system_error& e) {
    inotify.reset();
    inotify_fault = fmt::format("cgroup watch: inotify: {}: changes are seen each {} s only",
                                e.code().message(),
                                rescan.count() / 1000);
  }
}

/// True: a pod or container directory came or went.
bool TreeWatch::Impl::handle(const Inotify::Event& event) {
  if (event.overflow) {
    rescan_soon();
    return true;
  }
  if ((event.mask & IN_IGNORED) != 0) return tree.on_gone(event.dir, watches);
  if ((event.mask & IN_ISDIR) == 0) return false;
  return tree.on_entry(event.dir, event.name, (event.mask & IN_CREATE) != 0, watches);
}

asio::awaitable<void> TreeWatch::Impl::read_events() {
  asio::steady_timer pause{ex};
  for (;;) {
    if (!inotify) start_watching();
    if (inotify) {
      const auto events = co_await inotify->read();
      if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
      if (events) {
        bool tree_changed = false;
        for (const auto& event : *events) tree_changed = handle(event) || tree_changed;
        if (tree_changed) changed();
        continue;
      }
      inotify.reset();
      inotify_fault = fmt::format("cgroup watch: {}", events.error().context);
    }
    pause.expires_after(kRetry);
    co_await pause.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
  }
}

/// False after a cancel.
asio::awaitable<bool> TreeWatch::Impl::look_at_all() {
  bool tree_changed = tree.begin_rescan(find_layout(), watches);
  while (!tree.rescan_done()) {
    tree_changed = tree.step(kPodsAStep, watches) || tree_changed;
    co_await asio::post(ex, use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return false;
  }
  if (tree_changed) changed();
  co_return true;
}

asio::awaitable<void> TreeWatch::Impl::rescan_loop() {
  for (;;) {
    wake.expires_after(std::max(due - clock.now(), MonoTime::duration::zero()));
    co_await wake.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
    if (clock.now() < due) continue;
    due = clock.now() + rescan;
    const bool go_on = co_await look_at_all();
    if (!go_on) co_return;
    if (!find_layout()) due = std::min(due, clock.now() + kNoTree);
  }
}

TreeWatch::TreeWatch(asio::any_io_executor ex,
                     kernel::Cgroups& cgroups,
                     const Clock& clock,
                     std::chrono::milliseconds rescan,
                     std::function<const std::optional<kernel::CgroupLayout>&()> find_layout,
                     std::function<void()> changed)
    : impl_{std::make_unique<Impl>(
          std::move(ex), cgroups, clock, rescan, std::move(find_layout), std::move(changed))} {}

TreeWatch::~TreeWatch() = default;

asio::awaitable<void> TreeWatch::run() {
  auto& impl = *impl_;
  impl.due = impl.clock.now() + impl.rescan;
  std::vector<std::pair<std::string, asio::awaitable<void>>> parts;
  parts.emplace_back("tree/events", impl.read_events());
  parts.emplace_back("tree/rescans", impl.rescan_loop());
  co_await run_together(impl.ex, std::move(parts));
  impl.inotify.reset();
}

std::string TreeWatch::fault() const {
  if (!impl_->inotify_fault.empty()) return impl_->inotify_fault;
  return impl_->tree.fault().empty() ? "" : fmt::format("cgroup watch: {}", impl_->tree.fault());
}

}  // namespace koordlet::states
