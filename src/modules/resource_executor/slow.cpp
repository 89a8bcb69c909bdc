#include <fmt/format.h>

#include "modules/resource_executor/impl.hpp"

namespace koordlet {

using executor::Failure;

/// True when the reclaim thread takes the write over: the loop must not wait for the kernel.
bool ResourceExecutor::Impl::hand_over(const CgroupKey& key,
                                       KeyState& state,
                                       const CgroupValue& value,
                                       Outcome& outcome,
                                       MonoTime now) {
  if (!slow) return false;
  state.written_before = state.written;
  // The kernel shows the new value at once and reclaims after that.
  state.written = executor::as_read_back(cgroups.version(), key.file, value);
  slow->start(key, value, now);
  outcome.kind = OutcomeKind::kPending;
  outcome.error = fmt::format("{}: written by the reclaim thread", cgroups.file(key));
  state.last = outcome;
  return true;
}

/// What has come back from the reclaim thread since the last batch.
void ResourceExecutor::Impl::pick_up(Batch& batch) {
  if (!slow) return;
  for (auto& f : slow->take()) {
    const auto found = states.find(f.key);
    if (found == states.end()) continue;
    auto& state = found->second;
    const auto before = std::exchange(state.written_before, std::nullopt);
    const auto value = executor::as_read_back(cgroups.version(), f.key.file, f.value);
    if (f.result) {
      ++counters.writes;
      state.block.reset();
      // Not before: process 1 would reclaim the memory itself, and wait for it.
      if (units != nullptr) units->hold(f.key, value);
      state.last = Outcome{f.key, OutcomeKind::kWritten, to_string(f.value), {}};
      continue;
    }
    const auto& error = f.result.error();
    auto why = executor::classify_failure(cgroups.version(), f.key.file, error.code);
    if (why == Failure::kGone) continue;  // found out by the reading that follows
    block(state, f.key, f.value, error, why, batch.now);
    const auto current = cgroups.read(f.key);
    if (!current || *current != value) state.written = before;
    state.last = Outcome{f.key, executor::outcome_of(why), to_string(f.value), error.context};
  }
}

/// True while the reclaim thread holds the file and the present wish can wait for it. A wish that
/// lifts the limit cannot: it is written past the thread.
bool ResourceExecutor::Impl::under_way(const CgroupKey& key,
                                       KeyState& state,
                                       const CgroupValue& current,
                                       Outcome& outcome,
                                       MonoTime now) {
  if (!slow) return false;
  const auto since = slow->since(key);
  if (!since) return false;
  const bool wanted = state.seen == batch_number;
  const auto& target = wanted ? state.wanted : state.original;
  if (target != *state.written && !executor::may_block(key, *state.written, target)) {
    if (slow->cancel(key)) {
      state.written = std::exchange(state.written_before, std::nullopt);
    } else {
      slow->forget(key);
    }
    return false;
  }
  state.kernel = current;
  outcome.kind = OutcomeKind::kPending;
  outcome.error =
      fmt::format("{}: the kernel reclaims memory for it since {} ms",
                  cgroups.file(key),
                  std::chrono::duration_cast<std::chrono::milliseconds>(now - *since).count());
  state.last = outcome;
  return true;
}

/// Before everything is given back: what has not begun does not begin any more.
void ResourceExecutor::Impl::call_back() {
  if (!slow) return;
  for (const auto& key : slow->cancel_waiting()) {
    const auto found = states.find(key);
    if (found == states.end()) continue;
    found->second.written = std::exchange(found->second.written_before, std::nullopt);
  }
}

}  // namespace koordlet
