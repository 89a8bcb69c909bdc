#include <algorithm>

#include "store/lmdb_metric_store.hpp"
#include "store/window.hpp"

namespace koordlet::store {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

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

// Windows that samples cover go together, each series once over the hull of its windows.
Result<std::vector<std::optional<WindowAggregate>>> LmdbMetricStore::aggregate_many(
    const std::vector<SeriesWindow>& questions) {
  std::vector<std::optional<WindowAggregate>> out(questions.size());
  std::vector<WantedSamples> wanted;
  std::vector<std::size_t> of_id(dictionary_.end(), kNone);
  std::vector<std::optional<Id>> of_question(questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto& q = questions[i];
    const auto id = dictionary_.find(q.series);
    if (!id || q.from > q.to) continue;
    if (raw_from(q.from) != q.from) {
      auto r = aggregate(q.series, q.from, q.to);
      if (!r) return r.error();
      out[i] = *r;
      continue;
    }
    of_question[i] = id;
    auto& slot = of_id[*id];
    if (slot == kNone) {
      slot = wanted.size();
      wanted.push_back({*id, q.from, q.to, {}, 0});
    }
    wanted[slot].from = std::min(wanted[slot].from, q.from);
    wanted[slot].to = std::max(wanted[slot].to, q.to);
  }
  std::sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (std::size_t i = 0; i < wanted.size(); ++i) of_id[wanted[i].id] = i;
  if (auto r = reader_.read(wanted, sealer_.sealed_until()); !r) return r.error();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (!of_question[i]) continue;
    out[i] = answer(wanted[of_id[*of_question[i]]].samples, questions[i].from, questions[i].to);
  }
  return out;
}

}  // namespace koordlet::store
