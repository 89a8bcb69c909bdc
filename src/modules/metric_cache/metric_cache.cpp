#include "modules/metric_cache/metric_cache.hpp"

#include <algorithm>
#include <atomic>
#include <malloc.h>
#include <mutex>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/log.hpp"
#include "modules/metric_cache/history.hpp"
#include "reactor/timer_fd.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
using std::chrono::nanoseconds;
constexpr std::string_view kSubject = "metric_cache";

template <class T>
std::optional<Error> error_of(const Result<T>& r) {
  if (r) return std::nullopt;
  return r.error();
}

}  // namespace

struct MetricCache::Impl : std::enable_shared_from_this<MetricCache::Impl> {
  Impl(Config c, reactor::Worker& w, const Clock& k)
      : config{std::move(c)},
        storage{w},
        clock{k},
        anchor{k.wall().time_since_epoch() - k.now().time_since_epoch()},
        history{{config.folder, config.map_size, config.ttl, config.retention}} {}

  // Loop thread.
  const Config config;
  reactor::Worker& storage;
  const Clock& clock;
  nanoseconds anchor;
  bool open = false;

  // Both.
  std::atomic<std::size_t> queued{0};
  mutable std::mutex mutex;  // the storage thread writes the numbers, the loop copies them
  Stats stats;

  // Storage thread.
  History history;
  std::string logged, logged_maintain;
  std::uint64_t drops_told = 1;  ///< so many dropped rows are worth the next line in the log
  bool maintain_queued = false;

  void store_batch(store::StoredTime at, std::vector<store::MetricSample> samples);
  void note(const std::optional<Error>& error);
  void queue_maintain(store::StoredTime now);
  void maintain(store::StoredTime now);
  /// Runs `f(history)` there; a throw (memory) is an error like others.
  template <class T, class F>
  asio::awaitable<Result<T>> on_storage(F f);
};

void MetricCache::Impl::note(const std::optional<Error>& error) {
  bool set_aside = false;
  {
    const std::lock_guard lock{mutex};
    stats.dropped_rows = history.dropped_rows();
    stats.used_bytes = history.used_bytes();
    stats.map_bytes = history.map_bytes();
    stats.totals = history.totals();
    stats.damaged_rows = history.damaged_rows();
    stats.refused_samples = history.refused_samples();
    set_aside = stats.moved_aside != history.moved_aside();
    stats.moved_aside = history.moved_aside();
    if (error) {
      ++stats.errors;
      stats.last_error = error->context;
    }
  }
  if (set_aside) {
    log::warn(kSubject,
              fmt::format("{}: the store could not be used, it was moved to {}",
                          history.aside_reason(),
                          history.moved_aside()));
  }
  // At 1, 2, 4, ... rows: a full disk would say it each second.
  if (const auto dropped = history.dropped_rows(); dropped >= drops_told) {
    drops_told = dropped * 2;
    log::warn(kSubject,
              fmt::format("no room for new data: {} rows of old data dropped so far; the store "
                          "holds {} bytes and may have {} (store.metrics_map_size, and what the "
                          "disk has free)",
                          dropped,
                          history.used_bytes(),
                          history.map_bytes()));
  }
}

void MetricCache::Impl::store_batch(store::StoredTime at,
                                    std::vector<store::MetricSample> samples) {
  const auto count = samples.size();
  // The real clock: this is how long the disk took, whatever time the tests play.
  const auto started = std::chrono::steady_clock::now();
  Result<void> r;
  try {
    r = history.append(at, std::move(samples));
  } catch (const std::exception& e) {
    r = Error{Errc::kIo, e.what()};
  }
  const auto took = std::chrono::steady_clock::now() - started;
  const auto error = error_of(r);
  note(error);
  const auto text = error ? error->context : std::string{};
  if (error && logged != text) {  // once, not each second of a full disk
    log::warn(kSubject, "a batch is lost, ignoring: " + text);
  }
  logged = text;
  const std::lock_guard lock{mutex};
  stats.last_commit = std::chrono::duration_cast<std::chrono::microseconds>(took);
  if (error) return;
  ++stats.batches;
  stats.samples += count;
}

// A job of its own: it stands behind the queries that wait now. Not two at a time, or a backlog of
// batches would leave as many steps behind it.
void MetricCache::Impl::queue_maintain(store::StoredTime now) {
  if (maintain_queued) return;
  maintain_queued = true;
  storage.post([impl = shared_from_this(), now] { impl->maintain(now); });
}

void MetricCache::Impl::maintain(store::StoredTime now) {
  maintain_queued = false;
  if (!history.is_open()) return;  // closed since
  const auto started = std::chrono::steady_clock::now();
  Result<bool> more = false;
  try {
    more = history.maintain(now);
  } catch (const std::exception& e) {
    more = Error{Errc::kIo, e.what()};
  }
  const auto took = std::chrono::steady_clock::now() - started;
  const auto error = error_of(more);
  note(error);
  const auto text = error ? error->context : std::string{};
  if (error && logged_maintain != text) {
    log::warn(kSubject, "sealing failed, ignoring until the next batch: " + text);
  }
  logged_maintain = text;
  if (error || !*more) return;
  queue_maintain(now);
  const std::lock_guard lock{mutex};
  ++stats.maintain_steps;
  stats.longest_step =
      std::max(stats.longest_step, std::chrono::duration_cast<std::chrono::microseconds>(took));
}

template <class T, class F>
asio::awaitable<Result<T>> MetricCache::Impl::on_storage(F f) {
  auto job = [self = shared_from_this(), f = std::move(f)]() -> Result<T> {
    Result<T> r = Error{Errc::kIo, "not run"};
    try {
      r = f(self->history);
    } catch (const std::exception& e) {
      r = Error{Errc::kIo, e.what()};
    }
    self->note(error_of(r));
    return r;
  };
  auto result = co_await storage.run(std::move(job));
  co_return result;
}

MetricCache::MetricCache(Config config, reactor::Worker& storage, const Clock& clock)
    : impl_{std::make_shared<Impl>(std::move(config), storage, clock)} {}

// The environment is closed where it lives, behind what is queued.
MetricCache::~MetricCache() {
  impl_->storage.post([impl = impl_] { impl->history.close(); });
}

asio::awaitable<Result<void>> MetricCache::open() {
  const auto impl = impl_;
  const auto now = stored_time(impl->clock.now());
  auto open_history = [now](History& h) { return h.open(now); };
  const auto ahead = co_await impl->on_storage<std::chrono::milliseconds>(open_history);
  if (!ahead) co_return ahead.error();
  impl->anchor += *ahead;
  if (*ahead > std::chrono::seconds{1}) {  // below: a restart within the tick, no news
    log::warn(kSubject,
              fmt::format("stored time runs {} ms ahead of the wall clock, which was stepped back "
                          "since the last run",
                          ahead->count()));
  }
  impl->open = true;
  co_return Result<void>{};
}

void MetricCache::append(MonoTime now, std::vector<store::MetricSample> samples) {
  if (samples.empty()) return;
  auto& s = *impl_;
  if (!s.open || s.queued.load() >= s.config.max_queued_batches) {
    const std::lock_guard lock{s.mutex};
    ++s.stats.dropped_batches;
    return;
  }
  ++s.queued;
  s.storage.post([impl = impl_, at = stored_time(now), samples = std::move(samples)]() mutable {
    impl->store_batch(at, std::move(samples));
    impl->queue_maintain(at);
    --impl->queued;
  });
}

asio::awaitable<Result<std::optional<store::TimedValue>>> MetricCache::last(
    store::SeriesKey series) {
  const auto impl = impl_;
  auto query = [series = std::move(series)](History& h) { return h.last(series); };
  auto result = co_await impl->on_storage<std::optional<store::TimedValue>>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::optional<store::WindowAggregate>>> MetricCache::aggregate(
    store::SeriesKey series, std::chrono::seconds window) {
  const auto impl = impl_;
  const auto now = stored_time(impl->clock.now());
  auto query = [series = std::move(series), now, window](History& h) {
    return h.aggregate(series, now, window);
  };
  auto result = co_await impl->on_storage<std::optional<store::WindowAggregate>>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::vector<std::optional<store::WindowAggregate>>>>
MetricCache::aggregate_many(
    std::vector<std::pair<store::SeriesKey, std::chrono::seconds>> questions) {
  using Answers = std::vector<std::optional<store::WindowAggregate>>;
  const auto impl = impl_;
  const auto now = stored_time(impl->clock.now());
  auto query = [questions = std::move(questions), now](History& h) {
    return h.aggregate_many(questions, now);
  };
  auto result = co_await impl->on_storage<Answers>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::optional<store::SeriesSummary>>> MetricCache::summarize(
    store::SeriesKey series,
    store::StoredTime from,
    store::StoredTime to,
    std::vector<double> quantiles) {
  using Answer = std::optional<store::SeriesSummary>;
  const auto impl = impl_;
  store::SeriesWindow window{std::move(series), from, to};
  auto query = [window = std::move(window), quantiles = std::move(quantiles)](History& h) {
    return h.summarize(window, quantiles);
  };
  auto result = co_await impl->on_storage<Answer>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::vector<store::RollupPoint>>> MetricCache::rollups(
    store::SeriesKey series, store::StoredTime from, store::StoredTime to) {
  const auto impl = impl_;
  store::SeriesWindow window{std::move(series), from, to};
  auto query = [window = std::move(window)](History& h) { return h.rollups(window); };
  auto result = co_await impl->on_storage<std::vector<store::RollupPoint>>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::vector<store::TimedValue>>> MetricCache::range(store::SeriesKey series,
                                                                           store::StoredTime from,
                                                                           store::StoredTime to) {
  const auto impl = impl_;
  store::SeriesWindow window{std::move(series), from, to};
  auto query = [window = std::move(window)](History& h) { return h.range(window); };
  auto result = co_await impl->on_storage<std::vector<store::TimedValue>>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::vector<store::SeriesKey>>> MetricCache::series() {
  const auto impl = impl_;
  auto query = [](History& h) { return h.series(); };
  auto result = co_await impl->on_storage<std::vector<store::SeriesKey>>(std::move(query));
  co_return result;
}

asio::awaitable<Result<std::size_t>> MetricCache::collect_garbage() {
  const auto impl = impl_;
  const auto now = stored_time(impl->clock.now());
  auto collect = [now](History& h) {
    auto dropped = h.expire(now);
    ::malloc_trim(0);
    return dropped;
  };
  auto result = co_await impl->on_storage<std::size_t>(std::move(collect));
  co_return result;
}

asio::awaitable<void> MetricCache::run() {
  const auto executor = co_await asio::this_coro::executor;
  const auto interval = std::max(impl_->config.gc_interval, std::chrono::seconds{1});
  reactor::TimerFd tick{executor, interval};
  for (;;) {
    const auto ec = co_await tick.wait();
    if (ec) co_return;
    const auto dropped = co_await collect_garbage();
    if (!dropped) {
      log::warn(kSubject, "expiry failed, ignoring until the next: " + dropped.error().context);
    }
  }
}

MetricCache::Stats MetricCache::stats() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->stats;
}

store::StoredTime MetricCache::stored_time(MonoTime t) const {
  const auto at = impl_->anchor + nanoseconds{t.time_since_epoch()};
  return std::max(std::chrono::floor<std::chrono::milliseconds>(at), store::StoredTime{0});
}

}  // namespace koordlet
