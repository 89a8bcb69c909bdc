#include <algorithm>

#include "store/lmdb_metric_store.hpp"
#include "store/window.hpp"

namespace koordlet::store {
namespace {

using Id = SeriesDictionary::Id;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
// A row is decoded whole unless it holds this many entries for each one wanted: looking one entry
// up costs half a group of 64.
constexpr std::size_t kWholeRow = 32;

/// One series of the questions, over the hull of its windows.
struct Wanted {
  Id id = 0;
  StoredTime from{0}, to{0};
  std::size_t group = 0;  ///< where the last row had it
  std::vector<TimedValue> samples;
  bool covers(StoredTime at) const { return from <= at && at <= to; }
};

/// The series of all questions, each once.
struct Plan {
  std::vector<Wanted> wanted;
  std::vector<std::size_t> of_id;        ///< index into wanted; ids are small and dense
  std::vector<std::size_t> of_question;  ///< the same; kNone: unknown series or empty window
  StoredTime from{0}, to{0};
};

Plan plan(const SeriesDictionary& dictionary, const std::vector<SeriesWindow>& questions) {
  Plan out;
  out.of_id.assign(dictionary.end(), kNone);
  for (const auto& q : questions) {
    const auto id = dictionary.find(q.series);
    if (!id || q.from > q.to) {
      out.of_question.push_back(kNone);
      continue;
    }
    auto& slot = out.of_id[*id];
    if (slot == kNone) {
      slot = out.wanted.size();
      out.wanted.push_back({*id, q.from, q.to, 0, {}});
    }
    auto& w = out.wanted[slot];
    w.from = std::min(w.from, q.from);
    w.to = std::max(w.to, q.to);
    const bool first = out.wanted.size() == 1 && slot == 0;
    out.from = first ? w.from : std::min(out.from, w.from);
    out.to = std::max(out.to, w.to);
    out.of_question.push_back(slot);
  }
  return out;
}

std::optional<WindowAggregate> answer(const std::vector<TimedValue>& samples,
                                      StoredTime from,
                                      StoredTime to) {
  const auto first = std::lower_bound(
      samples.begin(), samples.end(), from, [](const auto& s, StoredTime t) { return s.at < t; });
  const auto last = std::upper_bound(
      first, samples.end(), to, [](StoredTime t, const auto& s) { return t < s.at; });
  return summarize(std::vector<TimedValue>{first, last});
}

}  // namespace

Result<std::optional<WindowAggregate>> LmdbMetricStore::aggregate(const SeriesKey& series,
                                                                  StoredTime from,
                                                                  StoredTime to) {
  const auto samples = range(series, from, to);
  if (!samples) return samples.error();
  return store::summarize(*samples);
}

Result<std::optional<SeriesSummary>> LmdbMetricStore::summarize(
    const SeriesKey& series, StoredTime from, StoredTime to, const std::vector<double>& quantiles) {
  if (auto r = check_quantiles(quantiles); !r) return r.error();
  const auto samples = range(series, from, to);
  if (!samples) return samples.error();
  return store::summarize(*samples, quantiles);
}

Result<std::vector<RollupPoint>> LmdbMetricStore::rollups(const SeriesKey& series,
                                                          StoredTime from,
                                                          StoredTime to) {
  const auto samples = range(series, from, to);
  if (!samples) return samples.error();
  return roll_up(*samples);
}

Result<std::vector<std::optional<WindowAggregate>>> LmdbMetricStore::aggregate_many(
    const std::vector<SeriesWindow>& questions) {
  auto p = plan(dictionary_, questions);
  std::vector<std::optional<WindowAggregate>> out(questions.size());
  if (p.wanted.empty()) return out;
  std::vector<RowEntry> row_entries;
  const auto look_up = [&](StoredTime at, std::string_view row) {
    for (auto& w : p.wanted) {
      if (!w.covers(at)) continue;
      if (const auto v = value_in(row, w.id, w.group)) w.samples.push_back({at, *v});
    }
  };
  auto r = rows_.scan(p.from, p.to, [&](StoredTime at, std::string_view row) {
    const auto reader = RowReader::open(row);
    if (!reader) {
      ++damaged_rows_;
    } else if (reader->size() > kWholeRow * p.wanted.size()) {
      look_up(at, row);
    } else {
      row_entries.clear();
      if (!reader->read_intact(row_entries)) ++damaged_rows_;
      for (const auto& e : row_entries) {
        if (e.id >= p.of_id.size() || p.of_id[e.id] == kNone) continue;
        auto& w = p.wanted[p.of_id[e.id]];
        if (w.covers(at)) w.samples.push_back({at, e.value});
      }
    }
  });
  if (!r) return r.error();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (p.of_question[i] == kNone) continue;
    out[i] = answer(p.wanted[p.of_question[i]].samples, questions[i].from, questions[i].to);
  }
  return out;
}

}  // namespace koordlet::store
