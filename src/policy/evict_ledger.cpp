#include "policy/evict_ledger.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "policy/evict_victims.hpp"

namespace koordlet::policy {
namespace {

using std::chrono::seconds;
using Hold = EvictionLedger::Hold;

/// How long after a victim has left its memory may take to show in the node's use.
constexpr seconds kEffect{10};
/// Longer than any cool-down may be.
constexpr seconds kForgetLast{3600};

seconds twice(seconds last, seconds low, seconds high) {
  return last.count() <= 0 ? low : std::min(last * 2, high);
}

/// What was said so far counts until twice the longest wait has passed in peace.
bool is_forgotten(const Hold& hold, seconds longest, MonoTime now) {
  return now - hold.until > longest * 2;
}

/// A longer hold that stands already is not shortened.
template <class Slot>
void hold_at_least(Slot& slot, MonoTime now, seconds length, std::string why) {
  if (slot.until >= now + length) return;
  slot = Hold{now + length, length, std::move(why)};
}

void rise(Hold& hold, const EvictionOutcome& outcome, std::string why) {
  seconds length = twice(hold.length, kMinHold, kMaxHold);
  // The server may know better, within reason.
  if (outcome.retry_after) length = std::min(std::max(length, *outcome.retry_after), kMaxHold);
  hold = Hold{outcome.at + length, length, std::move(why)};
}

void rise_node(EvictionLedger& ledger, const EvictionOutcome& outcome) {
  Hold hold = ledger.node_hold.value_or(Hold{});
  rise(hold, outcome, fmt::format("the last try was {}", to_string(outcome.result)));
  ledger.node_hold = std::move(hold);
}

/// For what may be the pod's fault or the server's: the pod waits for longer than the node, so that
/// another one shows which it was, and for the full time when it happens to it again.
void suspect_pod(EvictionLedger& ledger, const EvictionOutcome& outcome) {
  const seconds node = ledger.node_hold ? ledger.node_hold->length : seconds{0};
  Hold& hold = ledger.pods[outcome.wish.uid];
  const bool again = hold.length.count() > 0;
  hold.length = again ? kMaxHold : std::min(node + kMinHold, kMaxHold);
  hold.until = outcome.at + std::max(hold.length, node + kMinHold);
  hold.why = to_string(outcome.result);
}

void rise_pod(EvictionLedger& ledger, const EvictionOutcome& outcome) {
  rise(ledger.pods[outcome.wish.uid], outcome, std::string{to_string(outcome.result)});
}

void drop_old(std::vector<MonoTime>& times, MonoTime now) {
  std::erase_if(times, [now](MonoTime t) { return now - t >= kEvictWindow; });
}

void accept(EvictionLedger& ledger, const EvictionOutcome& outcome, const EvictConfig& config) {
  const EvictionWish& wish = outcome.wish;
  EvictionLedger::Victim victim;
  victim.owner = wish.owner;
  victim.frees = wish.frees;
  victim.resource = wish.resource;
  victim.node_used = wish.node_used;
  victim.accepted = outcome.at;
  ledger.victims.insert_or_assign(wish.uid, std::move(victim));
  ledger.pods.erase(wish.uid);
  ledger.node_hold.reset();
  ledger.node.push_back(outcome.at);
  (is_memory(wish.resource) ? ledger.last_memory : ledger.last_cpu) = outcome.at;
  auto& owner = ledger.owners[wish.owner];
  drop_old(owner.evicted, outcome.at);
  owner.evicted.push_back(outcome.at);
  const auto count = static_cast<int>(owner.evicted.size());
  if (count < config.owner_max_evictions) return;
  const seconds last = owner.hold ? owner.hold->length : seconds{0};
  Hold hold;
  hold.length = std::max(twice(last, kOwnerHold, kMaxOwnerHold), kOwnerHold);
  hold.until = outcome.at + hold.length;
  hold.why = fmt::format("{} lost {} pods in 10 minutes", wish.owner, count);
  owner.hold = std::move(hold);
  owner.evicted.clear();
}

void forget(EvictionLedger& ledger, const NodeState& state, MonoTime now) {
  std::erase_if(ledger.pods, [&](const auto& entry) {
    return is_forgotten(entry.second, kMaxHold, now) ||
           (find_pod(state, entry.first) == nullptr && entry.second.until <= now);
  });
  std::erase_if(ledger.terminating,
                [&](const auto& entry) { return find_pod(state, entry.first) == nullptr; });
  drop_old(ledger.node, now);
  for (auto it = ledger.owners.begin(); it != ledger.owners.end();) {
    auto& owner = it->second;
    drop_old(owner.evicted, now);
    if (owner.hold && is_forgotten(*owner.hold, kMaxOwnerHold, now)) owner.hold.reset();
    it = owner.evicted.empty() && !owner.hold ? ledger.owners.erase(it) : std::next(it);
  }
  for (auto* last : {&ledger.last_cpu, &ledger.last_memory}) {
    if (*last && now - **last > kForgetLast) last->reset();
  }
  if (ledger.node_hold && is_forgotten(*ledger.node_hold, kMaxHold, now)) ledger.node_hold.reset();
}

seconds left_of(const Hold& hold, MonoTime now) {
  return std::chrono::ceil<seconds>(hold.until - now);
}

std::string hold_text(const Hold& hold, MonoTime now) {
  return fmt::format("{}; not before {} s from now", hold.why, left_of(hold, now).count());
}

}  // namespace

std::string owner_text(const Pod& pod) {
  if (!pod.owner) return fmt::format("pod {}/{}", pod.ns, pod.name);
  return fmt::format("{} {}/{}", pod.owner->kind, pod.ns, pod.owner->name);
}

void note_outcome(EvictionLedger& ledger,
                  const EvictionOutcome& outcome,
                  const EvictConfig& config) {
  switch (outcome.result) {
    case EvictionResult::kAccepted:
      accept(ledger, outcome, config);
      return;
    case EvictionResult::kRefused:
    case EvictionResult::kGone:
    case EvictionResult::kNotSame:
      // The next candidate may be tried at once. Gone: our picture of the pods is a little behind.
      rise_pod(ledger, outcome);
      ledger.node_hold.reset();
      return;
    case EvictionResult::kForbidden:
    case EvictionResult::kFailed:
      // The pod alone may be the cause (a webhook, two budgets), or the whole node may be.
      rise_node(ledger, outcome);
      suspect_pod(ledger, outcome);
      return;
    case EvictionResult::kUnreachable:
      rise_node(ledger, outcome);
      return;
    case EvictionResult::kDropped:
      return;
    case EvictionResult::kDryRun:
      ledger.node_hold =
          Hold{outcome.at + kDryRunHold, seconds{0}, "dry run, one victim is named a minute"};
      return;
  }
}

bool note_pods(EvictionLedger& ledger,
               const NodeState& state,
               const EvictConfig& config,
               MonoTime now) {
  const seconds grace{config.release_grace_seconds};
  bool any_left = false;
  for (auto it = ledger.victims.begin(); it != ledger.victims.end();) {
    const auto& [uid, victim] = *it;
    const Pod* pod = find_pod(state, uid);
    const bool gone = pod == nullptr || !is_active(*pod);
    const bool stuck = !gone && now - victim.accepted >= grace;
    if (gone) {
      if (victim.resource == EvictResource::kMemoryUsed) {
        ledger.left.push_back(
            {victim.owner, victim.node_used, Bytes{victim.frees[EvictResource::kMemoryUsed]}, now});
      }
      any_left = true;
    }
    if (stuck) {
      hold_at_least(ledger.pods[uid],
                    now,
                    kFreedNothingHold,
                    fmt::format("still there {} s after its eviction", grace.count()));
    }
    it = gone || stuck ? ledger.victims.erase(it) : std::next(it);
  }
  for (const auto& pod : state.pods) {
    if (pod->terminating && is_active(*pod)) ledger.terminating.try_emplace(pod->uid, now);
  }
  forget(ledger, state, now);
  return any_left;
}

void note_sample(EvictionLedger& ledger, const NodeSignals& signals, MonoTime now) {
  if (!signals.memory_used) return;
  std::erase_if(ledger.left, [&](const EvictionLedger::Left& left) {
    if (signals.at <= left.at) return false;  // measured before it left
    const Bytes half{left.frees.v / 2};
    if (*signals.memory_used < left.node_used && left.node_used - *signals.memory_used >= half) {
      return true;
    }
    if (signals.at - left.at < kEffect) return false;
    if (*signals.memory_used < left.node_used) return true;
    auto& hold = ledger.owners[left.owner].hold;
    Hold next = hold.value_or(Hold{});
    hold_at_least(next,
                  now,
                  kFreedNothingHold,
                  fmt::format("the last eviction of {} freed nothing", left.owner));
    hold = std::move(next);
    return true;
  });
}

EvictAmounts pending_release(const EvictionLedger& ledger,
                             const Snapshot& snap,
                             const EvictConfig& config) {
  const seconds grace{config.release_grace_seconds};
  EvictAmounts sum;
  for (const auto& [uid, victim] : ledger.victims) {
    if (snap.now - victim.accepted >= grace) continue;
    EvictAmounts now = victim.frees;
    // What it gave back already shows in the node's use.
    const auto use = snap.pods.find(uid);
    const auto less = [&now](EvictResource r, std::int64_t left) {
      now[r] = std::clamp<std::int64_t>(left, 0, now[r]);
    };
    if (use != snap.pods.end() && use->second.memory) {
      less(EvictResource::kMemoryUsed, use->second.memory->v);
    }
    if (use != snap.pods.end() && use->second.cpu) {
      less(EvictResource::kCpuUsed, use->second.cpu->v);
    }
    sum += now;
  }
  for (const auto& left : ledger.left) sum[EvictResource::kMemoryUsed] += left.frees.v;
  for (const auto& [uid, seen] : ledger.terminating) {
    if (snap.now - seen >= grace || ledger.victims.contains(uid)) continue;
    const Pod* pod = find_pod(*snap.state, uid);
    if (pod != nullptr && is_active(*pod)) sum += pod_amounts(*pod, snap);
  }
  return sum;
}

bool waits_for_release(const EvictionLedger& ledger, EvictResource resource) {
  if (resource != EvictResource::kMemoryUsed) return !ledger.victims.empty();
  return !ledger.left.empty() ||
         std::any_of(ledger.victims.begin(), ledger.victims.end(), [](const auto& entry) {
           return is_memory(entry.second.resource);
         });
}

MonoTime cool_at(const EvictionLedger& ledger,
                 const EvictConfig& config,
                 bool memory,
                 MonoTime started) {
  const auto& last = memory ? ledger.last_memory : ledger.last_cpu;
  return std::max(last.value_or(started), started) +
         seconds{memory ? config.memory_cooldown_seconds : config.cpu_cooldown_seconds};
}

std::string node_bar(const EvictionLedger& ledger, const EvictConfig& config, MonoTime now) {
  if (ledger.node_hold && ledger.node_hold->until > now) return hold_text(*ledger.node_hold, now);
  const auto recent = std::count_if(
      ledger.node.begin(), ledger.node.end(), [now](MonoTime t) { return now - t < kEvictWindow; });
  if (recent < config.node_max_evictions) return {};
  return fmt::format("{} evictions on this node in 10 minutes", recent);
}

std::string pod_bar(const EvictionLedger& ledger, const Pod& pod, MonoTime now) {
  if (ledger.victims.contains(pod.uid)) return "its eviction was accepted";
  const auto held = ledger.pods.find(pod.uid);
  if (held != ledger.pods.end() && held->second.until > now) return hold_text(held->second, now);
  const auto owner = ledger.owners.find(owner_text(pod));
  if (owner == ledger.owners.end() || !owner->second.hold) return {};
  const Hold& hold = *owner->second.hold;
  return hold.until > now ? hold_text(hold, now) : std::string{};
}

}  // namespace koordlet::policy
