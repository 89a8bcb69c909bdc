#include "modules/metric_cache/history.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace koordlet {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kReopenEvery = std::chrono::minutes{1};

Error not_open() { return {Errc::kNotSupported, "metric history is not open"}; }

Result<void> check_window(const store::SeriesWindow& window) {
  if (window.from <= window.to) return {};
  return Error{Errc::kRange,
               fmt::format("window: expected an end at or after its start {} ms, got {} ms",
                           window.from.count(),
                           window.to.count())};
}

}  // namespace

Result<void> History::open_files() {
  close();
  store::LmdbEnv::Options options;
  options.folder = options_.folder;
  options.map_size = options_.map_size;
  for (bool again = false;; again = true) {
    auto env = store::LmdbEnv::open(options);
    if (!env) return env.error();
    if (!env->moved_aside().empty()) {
      moved_aside_ = env->moved_aside();
      aside_reason_ = env->aside_reason();
    }
    env_.emplace(std::move(*env));
    auto opened = store::MetricStore::open(*env_, {options_.ttl, options_.retention});
    if (opened) {
      store_ = std::move(*opened);
      return {};
    }
    const auto error = opened.error();
    const bool foreign = error.code == Errc::kNotSupported;
    if (again || (!foreign && !store::is_damaged(error))) {
      close();
      return error;
    }
    auto moved = store::LmdbEnv::set_aside(std::move(*env_), foreign ? "format" : "damaged");
    env_.reset();
    if (!moved) return moved.error();
    moved_aside_ = *moved;
    aside_reason_ = error.context;
  }
}

void History::close() {
  if (store_) {
    dropped_before_ += store_->dropped_rows();
    damaged_before_ += store_->damaged_rows();
    refused_before_ += store_->refused_samples();
  }
  store_.reset();
  env_.reset();
}

Result<milliseconds> History::open(store::StoredTime now) {
  now_ = now;
  if (is_open()) return milliseconds{0};
  if (auto r = open_files(); !r) return r.error();
  const auto newest = store_->newest();
  if (!newest || *newest < now) return milliseconds{0};
  if (*newest - now <= options_.ttl) return *newest - now + milliseconds{1};
  const auto dropped = store_->drop_after(now);
  if (!dropped) {
    close();
    return wrap("drop rows of a clock that was ahead", dropped.error());
  }
  dropped_before_ += *dropped;
  return milliseconds{store_->newest() == now ? 1 : 0};
}

Error History::judge(Error e) {
  if (!store::is_damaged(e)) return e;
  if (reopened_at_ && now_ - *reopened_at_ < kReopenEvery) return e;
  reopened_at_ = now_;
  if (auto r = open_files(); !r) return wrap("reopen after: " + e.context, r.error());
  return e;
}

Result<void> History::append(store::StoredTime at, std::vector<store::MetricSample> samples) {
  now_ = std::max(now_, at);
  if (!is_open() && (!reopened_at_ || now_ - *reopened_at_ < kReopenEvery)) return not_open();
  if (!is_open()) {  // it was, and reopening failed a while ago
    reopened_at_ = now_;
    if (auto r = open_files(); !r) return r;
  }
  if (const auto newest = store_->newest()) at = std::max(at, *newest + milliseconds{1});
  auto r = store_->append({at, std::move(samples)});
  if (!r) return judge(r.error());
  return r;
}

Result<std::optional<store::TimedValue>> History::last(const store::SeriesKey& series) {
  if (!is_open()) return not_open();
  auto r = store_->last(series);
  if (!r) return judge(r.error());
  return r;
}

Result<store::SeriesWindow> History::window_of(const store::SeriesKey& series,
                                               store::StoredTime now,
                                               std::chrono::seconds length) const {
  if (length <= std::chrono::seconds{0}) {
    return Error{Errc::kRange,
                 fmt::format("window: expected more than 0 s, got {} s", length.count())};
  }
  // In whole seconds first: a huge window does not fit in milliseconds.
  const bool all = length >= std::chrono::floor<std::chrono::seconds>(now);
  const auto from = all ? store::StoredTime{0} : now - length;
  return store::SeriesWindow{series, from, std::max(now, store_->newest().value_or(now))};
}

Result<std::optional<store::WindowAggregate>> History::aggregate(const store::SeriesKey& series,
                                                                 store::StoredTime now,
                                                                 std::chrono::seconds window) {
  now_ = std::max(now_, now);
  if (!is_open()) return not_open();
  const auto asked = window_of(series, now, window);
  if (!asked) return asked.error();
  auto r = store_->aggregate(series, asked->from, asked->to);
  if (!r) return judge(r.error());
  return r;
}

Result<std::vector<std::optional<store::WindowAggregate>>> History::aggregate_many(
    const std::vector<Question>& questions, store::StoredTime now) {
  now_ = std::max(now_, now);
  if (!is_open()) return not_open();
  std::vector<store::SeriesWindow> windows;
  windows.reserve(questions.size());
  for (const auto& [series, length] : questions) {
    auto window = window_of(series, now, length);
    if (!window) return wrap(series.kind, window.error());
    windows.push_back(std::move(*window));
  }
  auto r = store_->aggregate_many(windows);
  if (!r) return judge(r.error());
  return r;
}

Result<std::optional<store::SeriesSummary>> History::summarize(
    const store::SeriesWindow& window, const std::vector<double>& quantiles) {
  if (!is_open()) return not_open();
  if (auto ok = check_window(window); !ok) return ok.error();
  auto r = store_->summarize(window.series, window.from, window.to, quantiles);
  if (!r) return judge(r.error());
  return r;
}

Result<std::vector<store::RollupPoint>> History::rollups(const store::SeriesWindow& window) {
  if (!is_open()) return not_open();
  if (auto ok = check_window(window); !ok) return ok.error();
  auto r = store_->rollups(window.series, window.from, window.to);
  if (!r) return judge(r.error());
  return r;
}

Result<std::vector<store::TimedValue>> History::range(const store::SeriesWindow& window) {
  if (!is_open()) return not_open();
  if (auto ok = check_window(window); !ok) return ok.error();
  auto r = store_->range(window.series, window.from, window.to);
  if (!r) return judge(r.error());
  return r;
}

Result<std::vector<store::SeriesKey>> History::series() {
  if (!is_open()) return not_open();
  auto r = store_->series();
  if (!r) return judge(r.error());
  return r;
}

Result<std::size_t> History::expire(store::StoredTime now) {
  now_ = std::max(now_, now);
  if (!is_open()) return not_open();
  auto r = store_->expire(now);
  if (!r) return judge(r.error());
  return r;
}

Result<bool> History::maintain(store::StoredTime now) {
  now_ = std::max(now_, now);
  if (!is_open()) return not_open();
  auto r = store_->maintain(now);
  if (!r) return judge(r.error());
  return r;
}

std::optional<store::MetricStore::Totals> History::totals() const {
  if (!store_) return std::nullopt;
  return store_->totals();
}

std::uint64_t History::damaged_rows() const {
  return damaged_before_ + (store_ ? store_->damaged_rows() : 0);
}

std::uint64_t History::refused_samples() const {
  return refused_before_ + (store_ ? store_->refused_samples() : 0);
}

std::uint64_t History::dropped_rows() const {
  return dropped_before_ + (store_ ? store_->dropped_rows() : 0);
}

}  // namespace koordlet
