#include "app/predict_replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "policy/predict_forecaster.hpp"

namespace koordlet::app {
namespace {

using policy::ForecastConfig;
using policy::Forecaster;
using policy::PredictTime;
using std::chrono::seconds;
using namespace std::chrono_literals;

constexpr seconds kDay{86400}, kHour{3600};
constexpr double kSeenShare = 0.9;  // a window counts when so many of its rows are there
constexpr unsigned kSeed = 42;      // as in reference floors 5.2
constexpr double kOriginalMargin = 1.1;

/// One series, and the columns that it is the sum of.
struct Node {
  std::vector<std::size_t> members;
  std::vector<double> total;  ///< NaN where a member is unknown
};

seconds median_step(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  std::nth_element(
      steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return seconds{steps[steps.size() / 2]};
}

Node make_node(const SeriesTable& table, std::vector<std::size_t> members) {
  Node out{std::move(members), std::vector<double>(table.times_s.size(), 0.0)};
  for (const auto m : out.members)
    for (std::size_t i = 0; i < out.total.size(); ++i) out.total[i] += table.values[m][i];
  return out;
}

/// The first `count` of a shuffled 0..n-1. By hand: std::shuffle differs between libraries.
std::vector<std::size_t> draw(std::mt19937& random, std::size_t n, std::size_t count) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random() % (n - i)]);
  all.resize(count);
  return all;
}

Result<std::vector<Node>> make_nodes(const SeriesTable& table, const ReplayOptions& options) {
  std::vector<Node> out;
  const std::size_t n = table.columns.size();
  if (!options.column.empty()) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), options.column);
    if (at == table.columns.end()) {
      return Error{Errc::kNotFound,
                   fmt::format("column '{}': expected one of the header's", options.column)};
    }
    out.push_back(make_node(table, {static_cast<std::size_t>(at - table.columns.begin())}));
  } else if (options.sum > 0) {
    const auto count = static_cast<std::size_t>(options.sum);
    if (count > n)
      return Error{Errc::kRange, fmt::format("sum of {} columns: expected 1 to {}", count, n)};
    std::mt19937 random{kSeed};
    const int nodes = count == n ? 1 : options.nodes;
    for (int i = 0; i < nodes; ++i) out.push_back(make_node(table, draw(random, n, count)));
  } else {
    for (std::size_t i = 0; i < n; ++i) out.push_back(make_node(table, {i}));
  }
  return out;
}

ForecastConfig config_for(const SeriesTable& table,
                          const Node& node,
                          seconds step,
                          seconds horizon) {
  ForecastConfig out;
  // Slots divide a day and the horizon; rows further apart than 5 minutes need longer ones.
  for (const seconds slot : {300s, 600s, 900s, 1800s, 3600s}) {
    out.slot = slot;
    if (slot >= step) break;
  }
  out.horizon = std::max(horizon / out.slot * out.slot, out.slot);
  double largest = 0;
  for (const auto m : node.members)
    for (const double v : table.values[m]) largest = std::max(largest, v);  // NaN never is
  const auto members = static_cast<double>(node.members.size());
  out.buckets.max = std::max(out.buckets.max, 2 * largest * members);
  return out;
}

/// The rule that is to be beaten: 1.1 times the larger of the 95th percentiles of the total and of
/// its members' sum.
class Original {
 public:
  Original(const ForecastConfig& config, std::size_t members)
      : members_(members, policy::DecayingHistogram{config.buckets, config.half_life}) {}
  void observe(const SeriesTable& table, const Node& node, std::size_t row) {
    if (node.members.size() == 1) return;
    for (std::size_t i = 0; i < node.members.size(); ++i) {
      const double v = table.values[node.members[i]][row];
      if (!std::isnan(v)) members_[i].add(PredictTime{table.times_s[row]}, v);
    }
  }
  double peak(const Forecaster& total) const {
    double sum = 0;
    for (const auto& m : members_) sum += m.percentile(0.95);
    return kOriginalMargin * std::max(sum, total.histogram().percentile(0.95));
  }

 private:
  std::vector<policy::DecayingHistogram> members_;
};

class Run {
 public:
  Run(const SeriesTable& table, const ReplayOptions& options, ReplayResult& out)
      : table_{table}, options_{options}, out_{out} {
    out_.rows.push_back({"original", {}});
    for (std::size_t r = 0; r < policy::kRules; ++r) {
      const std::string name{to_string(static_cast<policy::Rule>(r))};
      out_.rows.push_back({name + " raw", {}});
      out_.rows.push_back({name, {}});
    }
    out_.rows.push_back({"cold start", {}});
    out_.rows.push_back({"chosen", {}});
  }

  void node(const Node& node) {
    const auto config = config_for(table_, node, out_.step, out_.horizon);
    Forecaster forecaster{config};
    Original original{config, node.members.size()};
    out_.bytes_per_model = forecaster.bytes();
    std::int64_t due = table_.times_s.front() + out_.warmup.count();
    for (std::size_t row = 0; row < table_.times_s.size(); ++row) {
      const std::int64_t now = table_.times_s[row];
      if (!std::isnan(node.total[row])) forecaster.observe(PredictTime{now}, node.total[row]);
      original.observe(table_, node, row);
      // A row stands for the step that begins at it.
      if (now + out_.step.count() < due) continue;
      due += kHour.count() * ((now + out_.step.count() - due) / kHour.count() + 1);
      decide(node, row, forecaster, original);
    }
  }

 private:
  void decide(const Node& node, std::size_t row, const Forecaster& f, const Original& original) {
    const std::int64_t now = table_.times_s[row], end = now + out_.horizon.count();
    if (end > table_.times_s.back()) return;
    double peak = 0;
    std::size_t seen = 0;
    for (std::size_t i = row + 1; i < node.total.size() && table_.times_s[i] <= end; ++i) {
      if (std::isnan(node.total[i])) continue;
      ++seen;
      peak = std::max(peak, node.total[i]);
    }
    const auto forecast = f.forecast();
    const double expected = static_cast<double>(out_.horizon / out_.step);
    if (static_cast<double>(seen) < kSeenShare * expected || peak <= 0 || !forecast) {
      ++out_.unknown_peaks;
      return;
    }
    const auto rules = f.by_rule();
    policy::RuleForecasts raw;
    std::size_t at = 0;
    add(at++, original.peak(f), peak);
    for (std::size_t r = 0; r < policy::kRules; ++r) {
      raw[r] = rules[r].raw;
      add(at++, rules[r].raw, peak);
      add(at++, rules[r].widened, peak);
    }
    add(at++, policy::cold_forecast(raw), peak);
    add(at++, forecast->peak, peak);
  }

  void add(std::size_t row, std::optional<double> forecast, double peak) {
    if (!forecast) return;
    if (options_.capacity) forecast = std::min(*forecast, *options_.capacity);
    out_.rows[row].score.add(*forecast, peak, ForecastConfig{}.tau);
  }

  const SeriesTable& table_;
  const ReplayOptions& options_;
  ReplayResult& out_;
};

/// A recording shorter than warm-up and horizon: half of it warms up, the rest is one window.
Result<void> fit(const SeriesTable& table, const ReplayOptions& options, ReplayResult& out) {
  out.step = median_step(table.times_s);
  if (out.step > kHour) {
    return Error{Errc::kRange,
                 fmt::format("rows {} s apart: expected an hour at most", out.step.count())};
  }
  const seconds span{table.times_s.back() - table.times_s.front()};
  // n rows are n steps, of which the last one's end is not seen.
  const seconds half = (span + out.step) / 2 / out.step * out.step;
  out.warmup = options.warmup.value_or(std::min(kDay, half));
  const seconds left = (span + out.step - out.warmup) / out.step * out.step;
  out.horizon = std::min(options.horizon, left);
  out.horizon_cut = out.horizon < options.horizon;
  if (out.horizon < std::max<seconds>(out.step, std::min<seconds>(kHour, options.horizon))) {
    return Error{
        Errc::kRange,
        fmt::format("{} s of recording after a warm-up of {} s: expected the horizon, or an "
                    "hour of it",
                    std::max<std::int64_t>(0, left.count()),
                    out.warmup.count())};
  }
  return {};
}

}  // namespace

Result<ReplayResult> replay(const SeriesTable& table,
                            const ReplayOptions& options,
                            const ReplayProgress& progress) {
  ReplayResult out;
  const auto fits = fit(table, options, out);
  if (!fits) return fits.error();
  const auto nodes = make_nodes(table, options);
  if (!nodes) return nodes.error();
  out.series = nodes->size();
  const auto started = std::chrono::steady_clock::now();
  Run run{table, options, out};
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    run.node((*nodes)[i]);
    progress(i + 1, nodes->size());
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  out.milliseconds = took.count() / static_cast<double>(std::max<std::size_t>(
                                        1, out.series * table.times_s.size()));
  return out;
}

}  // namespace koordlet::app
