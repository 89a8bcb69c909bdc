#include <algorithm>
#include <cmath>

#include "store/lmdb_metric_store.hpp"
#include "store/window.hpp"

namespace koordlet::store {
namespace {

const std::vector<double> kAggregateQuantiles{0.5, 0.9, 0.95, 0.99};

WindowAggregate to_aggregate(const SeriesSummary& s) {
  auto out = without_quantiles(s);
  const auto whole = [&s](double q) {  // the edges of 64 bits are no doubles
    if (q >= static_cast<double>(s.max)) return s.max;
    if (q <= static_cast<double>(s.min)) return s.min;
    return static_cast<std::int64_t>(std::llround(q));
  };
  out.p50 = whole(s.quantiles[0]);
  out.p90 = whole(s.quantiles[1]);
  out.p95 = whole(s.quantiles[2]);
  out.p99 = whole(s.quantiles[3]);
  return out;
}

}  // namespace

Result<std::optional<TimedValue>> LmdbMetricStore::last(const SeriesKey& series) {
  std::optional<TimedValue> out;
  const auto id = dictionary_.find(series);
  if (!id) return out;
  if ((out = dictionary_.last(*id))) return out;
  std::size_t group = 0;
  auto r = rows_.scan_back([&](StoredTime at, std::string_view bytes) {
    const auto row = RowReader::open(bytes);
    const auto found = row ? row->find(*id, group) : RowReader::Found{true, std::nullopt};
    if (found.damaged) reader_.count_damaged();
    if (!found.damaged && found.value) out = TimedValue{at, *found.value};
    return !out;
  });
  if (!r) return r.error();
  if (!out) {
    const auto damaged = seals_.scan_back([&](SealView& seal) {
      out = reader_.last_in(seal, *id);
      return !out;
    });
    if (!damaged) return damaged.error();
  }
  if (!out) {
    auto rolled = last_in_rollups(minutes_, *id);
    if (!rolled) return rolled;
    out = *rolled;
  }
  if (out) dictionary_.set_last(*id, *out);
  return out;
}

Result<std::vector<TimedValue>> LmdbMetricStore::samples(Id id, StoredTime from, StoredTime to) {
  std::vector<WantedSamples> wanted(1);
  wanted[0].id = id;
  wanted[0].from = from;
  wanted[0].to = to;
  if (auto r = reader_.read(wanted, sealer_.sealed_until()); !r) return r.error();
  return std::move(wanted[0].samples);
}

Result<std::vector<TimedValue>> LmdbMetricStore::range(const SeriesKey& series,
                                                       StoredTime from,
                                                       StoredTime to) {
  const auto id = dictionary_.find(series);
  if (!id || from > to) return std::vector<TimedValue>{};
  return samples(*id, from, to);
}

StoredTime LmdbMetricStore::raw_from(StoredTime from) const {
  if (minutes_.empty() || from > minutes_.seals().back().end + kMinute) return from;
  auto raw = roller_.rolled_until();
  if (!seals_.empty()) raw = std::min(raw, seals_.seals().front().begin);
  // Nothing is older than the samples: they answer alone.
  if (from >= raw || minutes_.seals().front().begin >= minute_of(raw)) return from;
  // A minute is taken from one side only.
  const auto minute = minute_of(raw);
  return raw == minute ? raw : minute + kMinute;
}

Result<void> LmdbMetricStore::gather(Id id, StoredTime from, StoredTime to, Gathered& out) {
  const auto raw = raw_from(from);
  if (raw > from) {
    const auto damaged = read_rollups(minutes_, id, from, std::min(to, raw - StoredTime{1}), out);
    if (!damaged) return damaged.error();
    reader_.count_damaged(*damaged);
  }
  if (raw > to) return {};
  const auto found = samples(id, raw, to);
  if (!found) return found.error();
  out.add(*found);
  return {};
}

Result<std::optional<SeriesSummary>> LmdbMetricStore::summarize(
    const SeriesKey& series, StoredTime from, StoredTime to, const std::vector<double>& quantiles) {
  if (auto r = check_quantiles(quantiles); !r) return r.error();
  const auto id = dictionary_.find(series);
  if (!id || from > to) return std::optional<SeriesSummary>{};
  Gathered gathered{!quantiles.empty(), false};
  if (auto r = gather(*id, from, to, gathered); !r) return r.error();
  return gathered.summary(quantiles);
}

Result<std::vector<RollupPoint>> LmdbMetricStore::rollups(const SeriesKey& series,
                                                          StoredTime from,
                                                          StoredTime to) {
  const auto id = dictionary_.find(series);
  if (!id || from > to) return std::vector<RollupPoint>{};
  Gathered gathered{false, true};
  if (auto r = gather(*id, from, to, gathered); !r) return r.error();
  return gathered.points();
}

Result<std::optional<WindowAggregate>> LmdbMetricStore::aggregate(const SeriesKey& series,
                                                                  StoredTime from,
                                                                  StoredTime to) {
  if (raw_from(from) == from) {
    const auto samples = range(series, from, to);
    if (!samples) return samples.error();
    return store::summarize(*samples);
  }
  const auto summary = summarize(series, from, to, kAggregateQuantiles);
  if (!summary) return summary.error();
  if (!*summary) return std::optional<WindowAggregate>{};
  return to_aggregate(**summary);
}

}  // namespace koordlet::store
