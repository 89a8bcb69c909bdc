#include "modules/states_informer/api_source.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "modules/states_informer/together.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::states {
namespace asio = boost::asio;
namespace {

using Kind = ObjectStore::Kind;
using reactor::use_ec;

constexpr std::string_view kGroup = "/apis/slo.koordinator.sh/v1alpha1/";
/// The state follows the times of the reflectors at least that often.
constexpr std::chrono::milliseconds kRefresh{1000};

k8s::Reflector::Resource resource(Kind kind, const std::string& node) {
  const std::string name{ObjectStore::name_of(kind)};
  const auto by_name = "metadata.name=" + node;
  switch (kind) {
    case Kind::kPods:
      return {name, "/api/v1/pods", "spec.nodeName=" + node};
    case Kind::kNode:
      return {name, "/api/v1/nodes", by_name};
    case Kind::kNodeSlo:
      return {name, fmt::format("{}nodeslos", kGroup), by_name};
    case Kind::kNodeMetric:
      return {name, fmt::format("{}nodemetrics", kGroup), by_name};
  }
  return {};
}

/// The definitions of these may not be installed: then there are none.
bool is_optional(Kind kind) { return kind == Kind::kNodeSlo || kind == Kind::kNodeMetric; }

}  // namespace

struct ApiSource::Impl {
  Impl(asio::any_io_executor executor,
       Config c,
       k8s::ApiClient& client,
       const Clock& k,
       reactor::Worker* worker,
       store::LmdbEnv* environment,
       std::function<void()> f)
      : ex{std::move(executor)},
        config{std::move(c)},
        api{client},
        clock{k},
        storage{worker},
        env{environment},
        changed{std::move(f)},
        objects{config.node_name, env != nullptr},
        owner{fmt::format("{} {}", api.server(), config.node_name)} {
    for (std::size_t i = 0; i < ObjectStore::kKinds; ++i) {
      const auto kind = static_cast<Kind>(i);
      reflectors[i] = std::make_unique<k8s::Reflector>(ex,
                                                       api,
                                                       resource(kind, config.node_name),
                                                       sink(kind),
                                                       config.reflector,
                                                       clock,
                                                       is_optional(kind));
    }
  }

  k8s::Reflector::Sink sink(Kind kind);
  void committed(Kind kind);
  asio::awaitable<void> refresh_loop();
  asio::awaitable<void> cache_loop();
  asio::awaitable<void> write_cache();
  const k8s::Reflector::Health& health(Kind kind) const {
    return reflectors[static_cast<std::size_t>(kind)]->health();
  }
  bool all_synced() const {
    return std::all_of(
        reflectors.begin(), reflectors.end(), [](const auto& r) { return r->health().synced; });
  }
  /// When the kind was last confirmed: by the server, else by the run that wrote the cache.
  MonoTime confirmed(Kind kind) const {
    const auto& h = health(kind);
    return h.synced ? h.confirmed_at : cached_at;
  }
  std::array<MonoTime, ObjectStore::kKinds> times() const {
    return {confirmed(Kind::kPods),
            confirmed(Kind::kNode),
            confirmed(Kind::kNodeSlo),
            confirmed(Kind::kNodeMetric)};
  }

  asio::any_io_executor ex;
  Config config;
  k8s::ApiClient& api;
  const Clock& clock;
  reactor::Worker* storage;
  store::LmdbEnv* env;
  std::function<void()> changed;
  ObjectStore objects;
  std::string owner;
  std::array<std::unique_ptr<k8s::Reflector>, ObjectStore::kKinds> reflectors;
  MonoTime cached_at;  ///< of what the cache held; MonoTime{}: nothing
  MonoTime stamped_at;
  std::string cache_fault;
};

k8s::Reflector::Sink ApiSource::Impl::sink(Kind kind) {
  k8s::Reflector::Sink out;
  out.stage = [this, kind](boost::json::value object) { objects.stage(kind, object); };
  out.commit = [this, kind] { committed(kind); };
  out.abandon = [this, kind] { objects.abandon(kind); };
  out.apply = [this, kind](k8s::Reflector::Event event, boost::json::value object) {
    const auto before = objects.generation();
    if (event == k8s::Reflector::Event::kDeleted) {
      objects.erase(kind, object);
    } else {
      objects.put(kind, object);
    }
    if (objects.generation() != before) changed();
  };
  return out;
}

void ApiSource::Impl::committed(Kind kind) {
  objects.commit(kind);
  changed();  // even when it is empty: it is known to be empty now
}

/// Carries the reflectors' times into the state.
asio::awaitable<void> ApiSource::Impl::refresh_loop() {
  asio::steady_timer timer{ex};
  auto shown = times();
  std::string faults;
  for (;;) {
    timer.expires_after(kRefresh);
    co_await timer.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
    std::string now_faults;
    for (const auto& r : reflectors) now_faults += r->health().fault + "\n";
    if (times() == shown && now_faults == faults) continue;
    shown = times();
    faults = now_faults;
    changed();
  }
}

asio::awaitable<void> ApiSource::Impl::write_cache() {
  auto change = objects.take_change();
  const bool stamp_due = clock.now() - stamped_at >= config.cache_stamp && all_synced();
  if (change.put.empty() && change.erase.empty() && !stamp_due) co_return;
  stamped_at = clock.now();
  const auto now_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock.wall().time_since_epoch())
          .count();
  auto job = [e = env, max = config.max_cache_bytes, who = owner, c = std::move(change), now_ms] {
    return store::ObjectCache{*e, max}.commit(who, c, now_ms);
  };
  auto writing = storage->run(std::move(job));
  const auto written = co_await std::move(writing);
  cache_fault = written ? std::string{} : fmt::format("state cache: {}", written.error().context);
}

asio::awaitable<void> ApiSource::Impl::cache_loop() {
  asio::steady_timer timer{ex};
  for (;;) {
    timer.expires_after(config.cache_delay);
    co_await timer.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
    if (env != nullptr && storage != nullptr) co_await write_cache();
  }
}

ApiSource::ApiSource(asio::any_io_executor ex,
                     Config config,
                     k8s::ApiClient& api,
                     const Clock& clock,
                     reactor::Worker* storage,
                     store::LmdbEnv* env,
                     std::function<void()> changed)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), api, clock, storage, env, std::move(changed))} {}

ApiSource::~ApiSource() = default;

Result<void> ApiSource::load() {
  auto& impl = *impl_;
  if (impl.env == nullptr) return {};
  const auto content = store::ObjectCache{*impl.env, impl.config.max_cache_bytes}.load(impl.owner);
  if (!content) {
    impl.cache_fault = fmt::format("state cache: {}: ignoring", content.error().context);
    return {};
  }
  std::size_t bad = content->damaged;
  for (const auto& cached : content->objects) {
    if (!impl.objects.restore(cached)) ++bad;
  }
  if (bad > 0) impl.cache_fault = fmt::format("state cache: {} objects not readable: ignored", bad);
  if (content->saved_at_ms <= 0) return {};
  // A wall clock that was set back makes nothing younger than now.
  const auto wall_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(impl.clock.wall().time_since_epoch());
  const auto age = std::max(wall_ms - std::chrono::milliseconds{content->saved_at_ms},
                            std::chrono::milliseconds{0});
  impl.cached_at = impl.clock.now() - age;
  // The monotonic clock starts at boot, and zero means "never".
  if (impl.cached_at <= MonoTime{}) impl.cached_at = MonoTime{} + std::chrono::nanoseconds{1};
  return {};
}

asio::awaitable<void> ApiSource::run() {
  auto& impl = *impl_;
  std::vector<std::pair<std::string, asio::awaitable<void>>> parts;
  for (std::size_t i = 0; i < ObjectStore::kKinds; ++i) {
    parts.emplace_back(fmt::format("reflector/{}", ObjectStore::name_of(static_cast<Kind>(i))),
                       impl.reflectors[i]->run());
  }
  parts.emplace_back("api/times", impl.refresh_loop());
  parts.emplace_back("api/cache", impl.cache_loop());
  co_await run_together(impl.ex, std::move(parts));
}

Content ApiSource::content(const std::optional<kernel::CgroupLayout>& layout, const NodeState&) {
  auto& impl = *impl_;
  impl.objects.set_layout(layout);
  Content out;
  out.node = impl.objects.node();
  out.pods = impl.objects.pods();
  out.slo = impl.objects.slo();
  out.metric = impl.objects.metric();
  out.faults = impl.objects.faults();
  for (const auto& h : health()) {
    if (!h.fault.empty()) out.faults.push_back(fmt::format("{}: {}", h.name, h.fault));
  }
  if (!out.node && impl.health(Kind::kNode).synced) {
    out.faults.push_back(
        fmt::format("node: the API server has no Node '{}': expected its name in "
                    "states.node_name or NODE_NAME",
                    impl.config.node_name));
  }
  if (!impl.cache_fault.empty()) out.faults.push_back(impl.cache_fault);
  const auto t = impl.times();
  out.pods_at = t[0];
  out.node_at = t[1];
  out.slo_at = t[2];
  out.metric_at = t[3];
  return out;
}

std::vector<ResourceHealth> ApiSource::health() const {
  std::vector<ResourceHealth> out;
  for (std::size_t i = 0; i < ObjectStore::kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    const auto& r = impl_->health(kind);
    ResourceHealth h;
    h.name = ObjectStore::name_of(kind);
    h.synced = r.synced;
    h.cached = !r.synced && impl_->cached_at != MonoTime{};
    h.confirmed_at = impl_->confirmed(kind);
    h.fault = r.fault;
    h.lists = r.lists;
    h.watches = r.watches;
    h.events = r.events;
    h.bookmarks = r.bookmarks;
    h.relists = r.relists_410;
    h.failures = static_cast<std::uint64_t>(r.failures);
    h.resource_version = r.resource_version;
    out.push_back(std::move(h));
  }
  return out;
}

const std::string& ApiSource::node_uid() const { return impl_->objects.node_uid(); }

}  // namespace koordlet::states
