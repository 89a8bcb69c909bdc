#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/scoped_flag.hpp"
#include "modules/resource_executor/impl.hpp"

namespace koordlet {

namespace asio = boost::asio;
using executor::Failure;
using executor::Step;

namespace {

constexpr std::chrono::milliseconds kSlice{1};  // of work between two yields to the loop
constexpr std::chrono::minutes kRefusedRetry{1};

/// Counts work until the loop is due its turn.
class Slice {
 public:
  Slice(const Clock& clock, int batch_size)
      : clock_{clock}, batch_size_{std::max(batch_size, 1)}, start_{clock.now()} {}
  bool due(bool counts) {
    if (counts) ++done_;
    return done_ >= batch_size_ || clock_.now() - start_ >= kSlice;
  }
  void restart() {
    done_ = 0;
    start_ = clock_.now();
  }

 private:
  const Clock& clock_;
  int batch_size_;
  int done_ = 0;
  MonoTime start_;
};

std::vector<Outcome> all_pending(const DesiredTable& desired, const char* why) {
  std::vector<Outcome> out;
  out.reserve(desired.size());
  for (const auto& [key, want] : desired) {
    out.push_back({key, OutcomeKind::kPending, to_string(want.value), why});
  }
  return out;
}

/// A v1 quota also counts against children that were removed a moment ago, until the kernel has
/// freed them: a shrink that fails although it fits the parent is right soon.
bool may_be_dying_child(const Step& step,
                        const executor::ChangeRef& change,
                        const std::optional<CgroupValue>& parent) {
  if (step.pass != 2 || change.key->file != CgroupFile::kCpuMax) return false;
  if (!parent) return true;
  return executor::compare_bandwidth(std::get<CpuMax>(*change.desired),
                                     std::get<CpuMax>(*parent)) <= 0;
}

std::chrono::milliseconds retry_delay(const ResourceExecutor::Config& config, int attempts) {
  auto delay = config.retry_first;
  for (int i = 1; i < attempts && delay < config.retry_max; ++i) delay *= 2;
  return std::min(delay, config.retry_max);
}

constexpr const char* kGivenBack = "everything was given back meanwhile";

}  // namespace

asio::awaitable<std::vector<Outcome>> ResourceExecutor::Impl::apply(const DesiredTable& desired,
                                                                    MonoTime now) {
  if (busy) co_return all_pending(desired, "an earlier batch still runs");
  const ScopedFlag running{busy};
  const auto started = clock.now();
  const auto restores_before = restores;
  ++counters.batches;
  Batch batch;
  batch.desired = &desired;
  batch.now = now;
  batch.number = ++batch_number;
  batch.outcomes.reserve(desired.size());

  pick_up(batch);
  const bool examined = co_await examine_all(desired, batch);
  if (!examined) co_return all_pending(desired, kGivenBack);
  const auto steps = executor::plan_steps(cgroups.version(), batch.changes);
  if (config.dry_run) {
    for (const auto& item : batch.items) {
      auto& outcome = batch.outcomes[item.outcome];
      outcome.kind = OutcomeKind::kDryRun;
      item.state->last = outcome;
    }
  } else {
    co_await commit_intents(steps, false, batch);
    bool written = restores == restores_before;
    if (written) written = co_await write_all(steps, batch);
    if (!written) {
      for (const auto& item : batch.items) {
        if (batch.outcomes[item.outcome].kind != OutcomeKind::kUnchanged) continue;
        batch.outcomes[item.outcome].kind = OutcomeKind::kPending;
        batch.outcomes[item.outcome].error = kGivenBack;
      }
      co_return std::move(batch.outcomes);
    }
  }
  finish(batch);
  if (units != nullptr) units->send();
  if (!config.dry_run) co_await commit_erased();
  counters.last_batch =
      std::chrono::duration_cast<std::chrono::microseconds>(clock.now() - started);
  co_return std::move(batch.outcomes);
}

/// False when everything was given back while the loop had its turn.
asio::awaitable<bool> ResourceExecutor::Impl::examine_all(const DesiredTable& desired,
                                                          Batch& batch) {
  const auto restores_before = restores;
  Slice slice{clock, config.batch_size};
  for (const auto& [key, want] : desired) {
    examine(key, want, batch);
    if (key.file == CgroupFile::kCpuIdle && want.value == CgroupValue{Number{1}} &&
        !desired.contains({key.path, CgroupFile::kCpuWeight})) {
      examine_weight_of_idle(key, want, batch);
    }
    if (!slice.due(false)) continue;
    co_await asio::post(asio::use_awaitable);
    if (restores != restores_before) co_return false;
    slice.restart();
  }
  steady_files = batch.steady_files;
  for (auto& [key, state] : states) {
    if (state.seen == batch.number) continue;
    release(key, state, batch);
    if (!slice.due(false)) continue;
    co_await asio::post(asio::use_awaitable);
    if (restores != restores_before) co_return false;
    slice.restart();
  }
  co_return true;
}

asio::awaitable<bool> ResourceExecutor::Impl::write_all(const std::vector<Step>& steps,
                                                        Batch& batch) {
  const auto restores_before = restores;
  Slice slice{clock, config.batch_size};
  int pass = 1;
  for (const auto& step : steps) {
    if (slice.due(false)) {
      co_await asio::post(asio::use_awaitable);
      if (restores != restores_before) co_return false;
      slice.restart();
    }
    if (step.pass != pass) {
      pass = step.pass;
      co_await commit_intents(steps, true, batch);
      if (restores != restores_before) co_return false;
    }
    if (batch.items[step.change].ended || held_back(step, batch)) continue;
    write_step(step, batch);
    static_cast<void>(slice.due(true));
  }
  co_return true;
}

/// A parent does not shrink below a child that kept its old value: the kernel would refuse it.
bool ResourceExecutor::Impl::held_back(const Step& step, Batch& batch) {
  const auto& change = batch.changes[step.change];
  if (step.pass != 2 || batch.failed.empty()) return false;
  if (!executor::shrink_depends_on_children(cgroups.version(), change.key->file)) return false;
  for (const auto& child : batch.failed) {
    if (child.file != change.key->file || !change.key->path.is_ancestor_of(child.path)) continue;
    auto& item = batch.items[step.change];
    auto& outcome = batch.outcomes[item.outcome];
    outcome.kind = OutcomeKind::kPending;
    outcome.error = fmt::format("{}: waits for {}", cgroups.file(*change.key), to_string(child));
    item.ended = true;
    item.state->last = outcome;
    return true;
  }
  return false;
}

void ResourceExecutor::Impl::write_step(const Step& step, Batch& batch) {
  const auto& change = batch.changes[step.change];
  auto& item = batch.items[step.change];
  auto& state = *item.state;
  auto value = executor::step_value(step, change);
  auto before = to_string(*change.current);
  if (executor::may_block(*change.key, *change.current, value) &&
      hand_over(*change.key, state, value, batch.outcomes[item.outcome], batch.now)) {
    item.ended = true;
    return;
  }
  auto done = cgroups.write(*change.key, value);
  if (!done && done.error().code == Errc::kBusy && item.release) {
    // The kernel does not empty the cpuset of a populated cgroup; its widest list means the same.
    const auto widest = executor::widest_cpuset(cgroups, *change.key, value);
    if (widest) {
      value = *widest;
      done = cgroups.write(*change.key, value);
    }
  }
  if (!done) {
    write_failed(step, done.error(), batch);
    return;
  }
  ++counters.writes;
  state.written = executor::as_read_back(cgroups.version(), change.key->file, value);
  state.kernel = *state.written;
  if (step.merged) return;
  if (units != nullptr && item.release) units->give_back(*change.key, state.original);
  if (units != nullptr && !item.release) units->hold(*change.key, *state.written);
  state.block.reset();
  auto& outcome = batch.outcomes[item.outcome];
  outcome.kind = OutcomeKind::kWritten;
  outcome.before = std::move(before);
  outcome.restored = item.release;
  outcome.error = batch.journal_error;
  state.last = outcome;
  if (item.release) {
    ++counters.restored;
    batch.drop.push_back(*change.key);
  }
}

void ResourceExecutor::Impl::write_failed(const Step& step, const Error& error, Batch& batch) {
  const auto& change = batch.changes[step.change];
  auto& item = batch.items[step.change];
  auto& state = *item.state;
  auto& outcome = batch.outcomes[item.outcome];
  item.ended = true;
  outcome.error = error.context;
  auto why = executor::classify_failure(cgroups.version(), change.key->file, error.code);
  if (why == Failure::kGone && cgroups.inode(*change.key)) why = Failure::kUnsupported;
  if (why == Failure::kGone) {
    outcome.kind = OutcomeKind::kGone;
    outcome.error.clear();
    ++counters.gone;
    if (units != nullptr) units->forget(*change.key);
    batch.drop.push_back(*change.key);
    return;
  }
  batch.failed.push_back(*change.key);
  block(state, *change.key, item.release ? state.original : state.wanted, error, why, batch.now);
  if (why == Failure::kRefused && may_be_dying_child(step, change, state.block->parent)) {
    state.block->until = batch.now + retry_delay(config, state.block->attempts);
  }
  outcome.kind = executor::outcome_of(why);
  state.last = outcome;
}

/// Notes why and how long `value` is not tried again, and counts it.
void ResourceExecutor::Impl::block(KeyState& state,
                                   const CgroupKey& key,
                                   CgroupValue value,
                                   const Error& error,
                                   Failure why,
                                   MonoTime now) {
  executor::Block block;
  block.why = why;
  block.error = error.context;
  block.value = std::move(value);
  block.attempts = state.block && state.block->why == why ? state.block->attempts + 1 : 1;
  block.until = now + retry_delay(config, block.attempts);
  if (why == Failure::kUnsupported) ++counters.unsupported;
  if (why == Failure::kRefused) {
    ++counters.refused;
    block.until = now + kRefusedRetry;
    if (auto parent = cgroups.read({key.path.parent(), key.file, key.item})) {
      block.parent = std::move(*parent);
    }
  }
  state.block = std::move(block);
}

void ResourceExecutor::Impl::finish(Batch& batch) {
  for (const auto& key : batch.drop) {
    const auto found = states.find(key);
    if (found == states.end()) continue;
    if (found->second.row_ok || found->second.written) erased.push_back(key);
    states.erase(found);
  }
}

}  // namespace koordlet
