#include <fmt/format.h>

#include "modules/resource_executor/impl.hpp"

namespace koordlet {

using executor::Failure;

namespace {

constexpr std::chrono::minutes kYieldCpuset{10};
/// Steady files that one batch reads, some milliseconds of the loop; beyond them it is by turns.
constexpr std::size_t kSteadyLooks = 500;

bool is_gone(Errc code) { return code == Errc::kNotFound || code == Errc::kGone; }

}  // namespace

void ResourceExecutor::Impl::read_failed(const CgroupKey& key,
                                         const Error& error,
                                         Outcome& outcome,
                                         Batch& batch) {
  const auto state = states.find(key);
  // A missing file of a living cgroup is a matter of the kernel, not of the pod's life.
  const bool gone = is_gone(error.code) && !cgroups.inode(key);
  if (gone) {
    outcome.kind = OutcomeKind::kGone;
    ++counters.gone;
  } else if (error.code == Errc::kBusy || error.code == Errc::kIo) {
    outcome.kind = OutcomeKind::kPending;
    outcome.error = error.context;
  } else {
    outcome.kind = OutcomeKind::kUnsupported;
    outcome.error = error.context;
    ++counters.unsupported;
  }
  if (state == states.end()) return;
  state->second.seen = batch.number;
  state->second.last = outcome;
  if (!is_gone(error.code)) return;
  if (units != nullptr) units->forget(key);
  batch.drop.push_back(key);
}

void ResourceExecutor::Impl::adopt_wish(KeyState& state,
                                        const CgroupKey& key,
                                        const Desired& want,
                                        Batch& batch) {
  state.seen = batch.number;
  state.order = want.order;
  if (state.since != want.since) state.since = want.since;
  if (state.plugin != want.plugin) state.plugin = want.plugin;
  if (state.reason != want.reason) state.reason = want.reason;
  if (state.losers != want.losers) state.losers = want.losers;
  auto wanted = executor::as_read_back(cgroups.version(), key.file, want.value);
  if (!state.wanted_text.empty() && wanted == state.wanted) return;
  state.wanted = std::move(wanted);
  state.wanted_text = to_string(want.value);
  state.yielded_until.reset();
}

bool ResourceExecutor::Impl::weight_is_idle(const CgroupKey& key,
                                            const CgroupValue& current) const {
  if (key.file != CgroupFile::kCpuWeight) return false;
  if (current != executor::weight_under_idle(cgroups.version())) return false;
  const auto idle = states.find({key.path, CgroupFile::kCpuIdle});
  return idle != states.end() && idle->second.written == CgroupValue{Number{1}};
}

bool ResourceExecutor::Impl::idle_stays(const CgroupPath& path, const Batch& batch) {
  const auto idle = batch.desired->find({path, CgroupFile::kCpuIdle});
  return idle != batch.desired->end() && idle->second.value == CgroupValue{Number{1}};
}

/// The part of a verification that needs no write: already right, left to another writer, or
/// waiting. Books foreign writes.
bool ResourceExecutor::Impl::settled(KeyState& state,
                                     const CgroupKey& key,
                                     const CgroupValue& current,
                                     Outcome& outcome,
                                     Batch& batch) {
  const bool moved = current != state.kernel;
  const bool owner =
      state.written && current != *state.written && moved && owner_wrote(state, current, batch.now);
  const bool foreign = state.written && current != *state.written && !owner;
  state.kernel = current;
  if (state.yielded_until && batch.now >= *state.yielded_until) state.yielded_until.reset();
  executor::age_contests(state, config.contested_per_minute, batch.now);
  if (current == state.wanted) {
    if (foreign || owner) {  // somebody wrote our very wish: held from now on as if we had
      state.written = current;
      state.row_ok = false;
      rows_behind = true;
      if (units != nullptr && !config.dry_run) units->hold(key, current);
    }
    state.block.reset();
    ++counters.unchanged;
    return true;
  }
  // systemd may still write the value before over ours: nobody decided that, it is written again.
  const bool settling = units != nullptr && units->settling(key);
  if (foreign && moved && !settling) {
    ++counters.foreign;
    state.last_foreign = KeyState::Foreign{current, batch.now};
    const bool counts = executor::note_foreign(
        state, cgroups.version(), key, current, config.contested_per_minute, batch.now);
    // Two writers of one cpuset (kubelet's static policy) would flip it for ever: one gives way.
    if (counts && state.contested && key.file == CgroupFile::kCpuset) {
      state.yielded_until = batch.now + kYieldCpuset;
    }
  }
  if (state.yielded_until) {
    outcome.kind = OutcomeKind::kRefused;
    outcome.error = fmt::format("{}: contested: another writer keeps '{}', left to it",
                                cgroups.file(key),
                                to_string(current));
    return true;
  }
  return blocked(state, key, state.wanted, outcome, batch.now);
}

bool ResourceExecutor::Impl::blocked(KeyState& state,
                                     const CgroupKey& key,
                                     const CgroupValue& value,
                                     Outcome& outcome,
                                     MonoTime now) {
  if (!state.block) return false;
  auto& block = *state.block;
  if (block.value != value) {
    state.block.reset();
    return false;
  }
  switch (block.why) {
    case Failure::kGone:
      return false;
    case Failure::kTransient:
      if (now >= block.until) return false;
      outcome.kind = OutcomeKind::kPending;
      outcome.error =
          fmt::format("{} (retry in {} ms)",
                      block.error,
                      std::chrono::ceil<std::chrono::milliseconds>(block.until - now).count());
      return true;
    case Failure::kRefused: {
      const auto parent = cgroups.read({key.path.parent(), key.file, key.item});
      const bool same_parent = parent ? block.parent == *parent : !block.parent.has_value();
      if (now >= block.until || !same_parent) return false;
      outcome.kind = OutcomeKind::kRefused;
      outcome.error = block.error;
      return true;
    }
    case Failure::kUnsupported:
      outcome.kind = OutcomeKind::kUnsupported;
      outcome.error = block.error;
      return true;
  }
  return false;
}

/// Of thousands of files that follow from their pods alone, each batch reads a part.
bool ResourceExecutor::Impl::is_not_its_turn(const CgroupKey& key,
                                             const KeyState& state,
                                             const Desired& want,
                                             const Batch& batch) const {
  const std::size_t turns = steady_files / kSteadyLooks + 1;
  if (turns == 1 || state.block || state.yielded_until || state.contested) return false;
  const bool holds =
      !state.wanted_text.empty() && state.kernel == state.wanted &&
      executor::as_read_back(cgroups.version(), key.file, want.value) == state.wanted;
  if (!holds) return false;
  return (std::hash<std::string_view>{}(key.path.str()) + batch.number) % turns != 0;
}

void ResourceExecutor::Impl::examine(const CgroupKey& key, const Desired& want, Batch& batch) {
  const auto index = batch.outcomes.size();
  auto& outcome = batch.outcomes.emplace_back(Outcome{key, OutcomeKind::kUnchanged, {}, {}});
  auto found = states.find(key);
  const auto* set = std::get_if<CpuSet>(&want.value);
  if (!holds_type_of(key.file, want.value) || (set != nullptr && set->empty())) {
    outcome.value = to_string(want.value);
    outcome.kind = OutcomeKind::kRefused;
    outcome.error =
        fmt::format("{}: not a value for this file: '{}'", cgroups.file(key), outcome.value);
    ++counters.refused;
    if (found != states.end()) found->second.seen = batch.number;
    return;
  }
  batch.steady_files += want.steady ? 1 : 0;
  if (want.steady && found != states.end() && is_not_its_turn(key, found->second, want, batch)) {
    adopt_wish(found->second, key, want, batch);
    outcome.value = found->second.wanted_text;
    ++counters.unchanged;
    return;
  }
  const auto current = cgroups.read(key);
  if (!current) {
    outcome.value = to_string(want.value);
    read_failed(key, current.error(), outcome, batch);
    return;
  }
  const bool known = found != states.end();
  if (!known || *current != found->second.kernel) {
    // Only a value that moved can tell of a cgroup made anew under the same name.
    const auto inode = cgroups.inode(key);
    if (!inode) {
      outcome.value = to_string(want.value);
      read_failed(key, inode.error(), outcome, batch);
      return;
    }
    if (known && found->second.inode != *inode) {
      if (found->second.row_ok || found->second.written) erased.push_back(key);
      if (units != nullptr) units->forget(key);
      states.erase(found);
      found = states.end();
    }
    if (found == states.end()) {
      found = states.try_emplace(key).first;
      found->second.original = found->second.kernel = *current;
      found->second.inode = *inode;
    }
  }
  auto& state = found->second;
  adopt_wish(state, key, want, batch);
  outcome.value = state.wanted_text;
  if (!state.written && *current != state.original) {
    state.original = *current;  // not touched yet: the owner may still change it
    state.row_ok = false;
  }
  if (under_way(key, state, *current, outcome, batch.now)) return;
  const bool idle = weight_is_idle(key, *current);
  state.kernel = idle ? *current : state.kernel;
  if (idle && idle_stays(key.path, batch)) {  // the kernel takes no weight now
    ++counters.unchanged;
    return;
  }
  if (!idle && settled(state, key, *current, outcome, batch)) {
    if (outcome.kind != OutcomeKind::kUnchanged) state.last = outcome;
    return;
  }
  batch.changes.push_back({&found->first, &state.kernel, &want.value, want.order});
  batch.items.push_back({&state, index, false, false});
}

/// Leaving cpu.idle resets the weight, so the weight is held with it: its original goes back too.
void ResourceExecutor::Impl::examine_weight_of_idle(const CgroupKey& idle,
                                                    const Desired& want,
                                                    Batch& batch) {
  const CgroupKey key{idle.path, CgroupFile::kCpuWeight};
  if (const auto held = states.find(key); held != states.end()) {
    held->second.seen = batch.number;
    return;
  }
  const auto weight = cgroups.read(key);
  const auto inode = cgroups.inode(key);
  if (!weight || !inode || *weight == executor::weight_under_idle(cgroups.version())) return;
  auto& state = states[key];
  state.original = state.kernel = state.wanted = *weight;
  state.wanted_text = to_string(*weight);
  state.inode = *inode;
  state.plugin = want.plugin;
  state.reason = "kept: leaving cpu.idle resets the weight";
  state.since = want.since;
  state.order = want.order;
  state.seen = batch.number;
  if (config.dry_run) return;
  state.written = *weight;
  rows_behind = true;
  if (units != nullptr) units->hold(key, *weight);
}

void ResourceExecutor::Impl::release(const CgroupKey& key, KeyState& state, Batch& batch) {
  if (!state.written) {  // never touched: nothing to give back
    batch.drop.push_back(key);
    return;
  }
  const auto index = batch.outcomes.size();
  auto& outcome = batch.outcomes.emplace_back(
      Outcome{key, OutcomeKind::kUnchanged, to_string(state.original), {}});
  const auto inode = cgroups.inode(key);
  const auto current = cgroups.read(key);
  const bool remade = inode && *inode != state.inode;
  if (remade || (!inode && is_gone(inode.error().code)) ||
      (!current && is_gone(current.error().code))) {
    outcome.kind = OutcomeKind::kGone;
    ++counters.gone;
    if (units != nullptr) units->forget(key);
    batch.drop.push_back(key);
    return;
  }
  if (!current) {
    outcome.kind = OutcomeKind::kPending;
    outcome.error = current.error().context;
    state.last = outcome;
    return;
  }
  if (under_way(key, state, *current, outcome, batch.now)) return;
  const bool ours = *current == *state.written || weight_is_idle(key, *current) ||
                    executor::is_unit_rounding(key, *state.written, *current);
  state.kernel = *current;
  if (*current == state.original || !ours) {
    // Not ours: somebody else decided meanwhile, and that stays.
    outcome.value = to_string(*current);
    ++counters.unchanged;
    batch.drop.push_back(key);
    if (units != nullptr && !config.dry_run) units->give_back(key, *current);
    return;
  }
  if (blocked(state, key, state.original, outcome, batch.now)) {
    state.last = outcome;
    return;
  }
  batch.changes.push_back({&key, &state.kernel, &state.original, state.order});
  batch.items.push_back({&state, index, true, false});
}

}  // namespace koordlet
