#include "modules/states_informer/files_source.hpp"

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

// No IN_MODIFY: a file counts when its writer closes it.
constexpr std::uint32_t kFolderMask =
    IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr std::chrono::seconds kRetry{1};

}  // namespace

struct FilesSource::Impl {
  Impl(asio::any_io_executor executor,
       Config c,
       const Clock& k,
       reactor::Worker* h,
       std::function<void()> f)
      : ex{std::move(executor)},
        config{std::move(c)},
        clock{k},
        helper{h},
        changed{std::move(f)},
        folder{config.folder, config.max_manifest_bytes},
        settle{config.settle},
        wake{ex, asio::steady_timer::time_point::max()} {}

  void scan_soon() {
    settle.force(clock.now());
    wake.cancel();
  }
  Result<void> begin();
  void finish();
  void open_inotify();
  void watch_folder();
  asio::awaitable<void> read_events();
  asio::awaitable<bool> scan();
  asio::awaitable<void> scan_loop();

  asio::any_io_executor ex;
  Config config;
  const Clock& clock;
  reactor::Worker* helper;
  std::function<void()> changed;
  ManifestFolder folder;
  Settle settle;
  std::unique_ptr<Inotify> inotify;
  std::string inotify_fault;
  asio::steady_timer wake;  // of scan_loop

  std::string folder_fault;
  MonoTime read_at;  // of the last reading that listed the folder
  bool listed = false;

  // What the merged objects were made of.
  Merged merged;
  std::optional<std::uint64_t> merged_generation;
  std::optional<CgroupDriver> merged_driver;
};

Result<void> FilesSource::Impl::begin() {
  auto done = folder.begin();
  listed = done.has_value();
  folder_fault = done ? std::string{} : done.error().context;
  return done;
}

void FilesSource::Impl::finish() {
  if (listed) read_at = clock.now();
}

void FilesSource::Impl::open_inotify() {
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

void FilesSource::Impl::watch_folder() {
  if (!inotify) return;
  const auto watched = inotify->watch(config.folder, kFolderMask);
  // A missing folder is already the fault of the scan.
  inotify_fault = watched || watched.error().code == Errc::kNotFound ? "" : watched.error().context;
}

asio::awaitable<void> FilesSource::Impl::read_events() {
  asio::steady_timer pause{ex};
  for (;;) {
    if (!inotify) {
      // What came before the watch is seen by a look after it.
      open_inotify();
      watch_folder();
      scan_soon();
    }
    if (inotify) {
      const auto events = co_await inotify->read();
      if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
      if (events) {
        for (const auto& event : *events) {
          if (event.overflow) {
            scan_soon();
          } else {
            settle.on_event(clock.now());
            wake.cancel();
          }
        }
        continue;
      }
      inotify.reset();
      inotify_fault = events.error().context;
    }
    pause.expires_after(kRetry);
    co_await pause.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
  }
}

/// False after a cancel. The loop gets its turn after each file, and does not parse when there is a
/// helper.
asio::awaitable<bool> FilesSource::Impl::scan() {
  const auto begun = begin();  // its error is a fault of the state
  while (begun && folder.pending()) {
    auto job = folder.next(clock.wall());
    if (job && helper != nullptr) {
      const auto shared = std::make_shared<const ManifestFolder::Job>(std::move(*job));
      auto reading = helper->run([shared] { return ManifestFolder::run(*shared); });
      auto read = co_await std::move(reading);
      folder.apply(*shared, std::move(read));
      continue;
    }
    if (job) folder.apply(*job, ManifestFolder::run(*job));
    co_await asio::post(ex, use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return false;
  }
  finish();
  changed();
  co_return true;
}

/// The one place that reads the folder, so that two readings never mix.
asio::awaitable<void> FilesSource::Impl::scan_loop() {
  MonoTime next_rescan = clock.now() + config.rescan_interval;
  for (;;) {
    const auto due = std::min(settle.due().value_or(next_rescan), next_rescan);
    wake.expires_after(std::max(due - clock.now(), MonoTime::duration::zero()));
    co_await wake.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
    const auto now = clock.now();
    const bool full = now >= next_rescan;
    if (!settle.take(now) && !full) continue;
    if (full) {
      next_rescan = now + config.rescan_interval;
      watch_folder();
    }
    const bool go_on = co_await scan();
    if (!go_on) co_return;
  }
}

FilesSource::FilesSource(asio::any_io_executor ex,
                         Config config,
                         const Clock& clock,
                         reactor::Worker* helper,
                         std::function<void()> changed)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), clock, helper, std::move(changed))} {}

FilesSource::~FilesSource() = default;

Result<void> FilesSource::load() {
  if (auto begun = impl_->begin(); !begun) return wrap("manifests", begun.error());
  while (impl_->folder.pending()) {
    if (const auto job = impl_->folder.next(impl_->clock.wall())) {
      impl_->folder.apply(*job, ManifestFolder::run(*job));
    }
  }
  impl_->finish();
  return {};
}

asio::awaitable<void> FilesSource::run() {
  auto& impl = *impl_;
  std::vector<std::pair<std::string, asio::awaitable<void>>> parts;
  parts.emplace_back("files/events", impl.read_events());
  parts.emplace_back("files/scans", impl.scan_loop());
  co_await run_together(impl.ex, std::move(parts));
  impl.inotify.reset();
}

Content FilesSource::content(const std::optional<kernel::CgroupLayout>& layout,
                             const NodeState& previous) {
  auto& impl = *impl_;
  const auto driver = layout ? std::optional{layout->driver()} : std::nullopt;
  if (impl.merged_generation != impl.folder.generation() || impl.merged_driver != driver) {
    impl.merged = merge(impl.folder.files(), impl.config.node_name, layout, previous);
    impl.merged_generation = impl.folder.generation();
    impl.merged_driver = driver;
  }
  Content out;
  out.node = impl.merged.node;
  out.pods = impl.merged.pods;
  out.slo = impl.merged.slo;
  out.faults = impl.merged.faults;
  if (!impl.inotify_fault.empty()) out.faults.push_back(impl.inotify_fault);
  if (!impl.folder_fault.empty()) out.faults.push_back(impl.folder_fault);
  out.pods_at = impl.listed && impl.merged.pods_confirmed ? impl.read_at : previous.pods_at;
  out.node_at = impl.listed && impl.merged.node_confirmed ? impl.read_at : previous.node_at;
  out.slo_at = impl.listed && impl.merged.slo_confirmed ? impl.read_at : previous.slo_at;
  return out;
}

std::vector<ResourceHealth> FilesSource::health() const {
  ResourceHealth h;
  h.name = "manifests";
  h.synced = impl_->read_at != MonoTime{};
  h.confirmed_at = impl_->read_at;
  h.fault = impl_->folder_fault;
  return {h};
}

}  // namespace koordlet::states
