#include "policy/evict_choice.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/evict_victims.hpp"

namespace koordlet::policy {
namespace {

using Rule = Evict::Rule;
using R = EvictResource;
using std::chrono::seconds;

/// A pod that cannot be measured does not keep the others waiting for longer.
constexpr seconds kMeasureWait{5};

/// What stands against naming a victim now.
struct Bar {
  EvictPhase phase;
  std::string why;
};

/// The part of `amounts` that `need` is about.
EvictAmounts of_need(const EvictAmounts& amounts, const EvictAmounts& need) {
  EvictAmounts out;
  for (const R r : kAllEvictResources) {
    if (need[r] > 0) out[r] = amounts[r];
  }
  return out;
}

EvictAmounts less(const EvictAmounts& need, const EvictAmounts& pending) {
  EvictAmounts out;
  for (const R r : kAllEvictResources) out[r] = std::max<std::int64_t>(need[r] - pending[r], 0);
  return out;
}

/// The resource of `left` that this pod gives most visibly: the first one.
R resource_of(const EvictAmounts& left, const EvictAmounts& frees) {
  for (const R r : kAllEvictResources) {
    if (left[r] > 0 && frees[r] > 0) return r;
  }
  return R::kMemoryUsed;
}

R first_of(const EvictAmounts& need) {
  for (const R r : kAllEvictResources) {
    if (need[r] > 0) return r;
  }
  return R::kMemoryUsed;
}

bool is_hopeless(const EvictTask& task, const EvictAmounts& pending, const EvictAmounts& sum) {
  return std::any_of(kAllEvictResources.begin(), kAllEvictResources.end(), [&](R r) {
    // Wide: both may be near the end of the range.
    return task.need[r] > pending[r] && Wide{pending[r]} + sum[r] < task.rescue[r];
  });
}

std::optional<Bar> time_bar(const Evict::State& st, const EvictTask& task, const EvictScene& s) {
  const auto& config = s.config.evict;
  const bool by_use = task.plugin == EvictPlugin::kBeMemory || task.plugin == EvictPlugin::kMemory;
  if (s.softening && by_use) {
    return Bar{EvictPhase::kHeld, "best effort is squeezed first (memory_soften)"};
  }
  if (auto bar = node_bar(st.ledger, config, s.snap.now); !bar.empty()) {
    return Bar{EvictPhase::kHeld, std::move(bar)};
  }
  const auto cool = cool_at(st.ledger, config, is_memory_plugin(task.plugin), *st.started);
  if (s.snap.now >= cool) return std::nullopt;
  const auto left = std::chrono::ceil<seconds>(cool - s.snap.now);
  return Bar{EvictPhase::kHeld, fmt::format("cools down for {} s", left.count())};
}

std::optional<Bar> victim_bar(const Evict::Answer& out,
                              const Rule& rule,
                              const EvictTask& task,
                              const EvictScene& s,
                              const Victims& victims) {
  if (victims.stale > 0 && s.snap.now - *rule.measuring_since < kMeasureWait) {
    return Bar{EvictPhase::kMeasuring,
               fmt::format(
                   "{} pods without a sample of the last {} s", victims.stale, kFreshPods.count())};
  }
  if (victims.usable.empty()) {
    return Bar{victims.held > 0 ? EvictPhase::kHeld : EvictPhase::kNoVictim,
               fmt::format("no pod may be evicted now, {} are held, {} are not measured",
                           victims.held,
                           victims.stale)};
  }
  if (s.config.evict.require_rescue && is_hopeless(task, s.pending, victims.sum)) {
    return Bar{EvictPhase::kHopeless,
               fmt::format("all {} victims hold {}, which would not get the node under it",
                           rule.candidates,
                           amounts_text(victims.sum, task.need))};
  }
  if (!out.wishes.empty()) {
    const auto& other = out.wishes.front();
    return Bar{EvictPhase::kHeld,
               fmt::format("one at a time, {} names {}/{}", other.plugin, other.ns, other.name)};
  }
  return std::nullopt;
}

/// The victim that was named keeps its place while it may still be one.
const EvictCandidate& choose(const Evict::State& st, EvictPlugin plugin, const Victims& victims) {
  const auto& usable = victims.usable;
  if (st.asked && st.asked->plugin == to_string(plugin)) {
    const auto same = std::find_if(usable.begin(), usable.end(), [&](const EvictCandidate& c) {
      return c.pod->uid == st.asked->uid;
    });
    if (same != usable.end()) return *same;
  }
  return usable.front();
}

EvictionWish make_wish(const Rule& rule,
                       const EvictTask& task,
                       const EvictScene& s,
                       const EvictCandidate& victim,
                       const EvictAmounts& left) {
  EvictionWish wish;
  wish.uid = victim.pod->uid;
  wish.ns = victim.pod->ns;
  wish.name = victim.pod->name;
  wish.plugin = to_string(task.plugin);
  wish.frees = victim.frees;
  wish.resource = resource_of(left, victim.frees);
  wish.since = rule.over_since;
  wish.owner = victim.owner;
  wish.node_used = s.snap.signals->memory_used.value_or(Bytes{});
  wish.reason =
      fmt::format("{}: {} {}, {} on the way out; this pod holds {}, first of {} that hold {}",
                  task.why,
                  amounts_text(task.need, task.need),
                  task.to_mark,
                  amounts_text(rule.pending, task.need),
                  amounts_text(victim.frees, task.need),
                  rule.candidates,
                  amounts_text(rule.reachable, task.need));
  return wish;
}

std::optional<Bar> release_bar(const Evict::State& st,
                               const EvictTask& task,
                               const EvictAmounts& left,
                               const EvictAmounts& pending) {
  if (!left.none() && !waits_for_release(st.ledger, first_of(left))) return std::nullopt;
  return Bar{EvictPhase::kReleasing,
             fmt::format("{} of {} on the way out",
                         amounts_text(pending, task.need),
                         amounts_text(task.need, task.need))};
}

}  // namespace

void choose_victim(Evict::Answer& out, const EvictTask& task, const EvictScene& s) {
  Evict::State& st = out.state;
  Rule& rule = st.rule(task.plugin);
  const auto left = less(task.need, s.pending);
  // While enough is on its way out the candidates are shown by the whole need.
  const auto victims =
      find_victims(s.snap, s.config, st.ledger, task.plugin, left.none() ? task.need : left);
  rule.pending = of_need(s.pending, task.need);
  rule.reachable = victims.sum;
  rule.candidates = static_cast<int>(victims.usable.size());
  // Asked for with the first sample over: the numbers are there when the second one confirms it.
  if (victims.stale == 0) {
    rule.measuring_since.reset();
  } else {
    out.want_fresh_pods = true;
    if (!rule.measuring_since) rule.measuring_since = s.snap.now;
  }
  std::optional<Bar> bar;
  if (rule.over < kEvictSamples) bar = Bar{EvictPhase::kConfirming, {}};
  if (!bar) bar = release_bar(st, task, left, rule.pending);
  if (!bar) bar = time_bar(st, task, s);
  if (!bar) bar = victim_bar(out, rule, task, s, victims);
  const bool mine = st.asked && st.asked->plugin == to_string(task.plugin);
  if (bar) {
    if (mine) st.asked.reset();
    rule.phase = bar->phase;
    rule.why = bar->why.empty() ? task.why : fmt::format("{}: {}", task.why, bar->why);
    return;
  }
  auto wish = make_wish(rule, task, s, choose(st, task.plugin, victims), left);
  rule.phase = EvictPhase::kAsking;
  rule.why = wish.reason;
  out.wishes.push_back(wish);
  st.asked = std::move(wish);
}

}  // namespace koordlet::policy
