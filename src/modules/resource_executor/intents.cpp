#include "modules/resource_executor/impl.hpp"

namespace koordlet {

using executor::Step;

namespace {

/// A row of the journal and the state that it speaks for.
struct Intent {
  executor::KeyState* state;
  std::string previous, next;
};

std::string written_text(const executor::KeyState& state) {
  return state.written ? to_string(*state.written) : std::string{};
}

/// Every value that the kernel can show after a crash must stand in the row: what we wrote last,
/// what we are about to write, and the original.
bool row_covers(const executor::KeyState& state, const Intent& intent) {
  if (!state.row_ok || state.row_next != intent.next) return false;
  return intent.previous.empty() || state.row_previous == intent.previous ||
         state.row_next == intent.previous;
}

}  // namespace

/// One commit before the first write. A cpuset that moves passes through a third value, the union:
/// its row names the union first, and the target in a second commit before pass 2.
boost::asio::awaitable<void> ResourceExecutor::Impl::commit_intents(const std::vector<Step>& steps,
                                                                    bool second_pass,
                                                                    Batch& batch) {
  if (!journal.present()) co_return;
  std::vector<Intent> intents;
  std::vector<store::JournalEntry> rows;
  const auto add = [&](const CgroupKey& key, Intent intent) {
    const auto& state = *intent.state;
    rows.push_back({key,
                    to_string(state.original),
                    intent.previous,
                    intent.next,
                    state.plugin,
                    boot_id,
                    state.inode});
    intents.push_back(std::move(intent));
  };
  if (rows_behind && !second_pass) {
    for (auto& [key, state] : states) {
      if (!state.written || state.row_ok) continue;
      const auto text = written_text(state);
      add(key, {&state, text, text});
    }
  }
  std::vector<bool> merged(batch.changes.size(), false);
  for (const auto& step : steps) {
    if (step.merged) merged[step.change] = true;
  }
  for (const auto& step : steps) {
    const auto& item = batch.items[step.change];
    const auto& change = batch.changes[step.change];
    const bool first_of_two = step.merged;
    const bool second_of_two = merged[step.change] && !step.merged;
    if (item.ended || second_of_two != second_pass) continue;
    // A crash around the write-back leaves ours or the original: the row already says both.
    if (item.release && !first_of_two) continue;
    const auto value = executor::as_read_back(
        cgroups.version(), change.key->file, executor::step_value(step, change));
    Intent intent{item.state, written_text(*item.state), to_string(value)};
    if (!row_covers(*item.state, intent)) add(*change.key, std::move(intent));
  }
  if (rows.empty()) co_return;

  const auto restores_before = restores;
  const auto started = clock.now();
  const auto done = co_await journal.commit(std::move(rows), {});
  counters.last_commit =
      std::chrono::duration_cast<std::chrono::microseconds>(clock.now() - started);
  if (!done) {
    // Protection of the LS pods goes on; the rows are caught up with the next commit.
    ++counters.journal_failures;
    batch.journal_error = done.error().context;
  }
  if (restores != restores_before) co_return;  // the states are gone
  if (!second_pass || !done) rows_behind = !done;
  for (auto& intent : intents) {
    intent.state->row_ok = done.has_value();
    intent.state->row_previous = std::move(intent.previous);
    intent.state->row_next = std::move(intent.next);
  }
}

boost::asio::awaitable<void> ResourceExecutor::Impl::commit_erased() {
  if (erased.empty()) co_return;
  if (!journal.present()) {
    erased.clear();
    co_return;
  }
  // A key that is held again in the meantime keeps its row.
  std::erase_if(erased, [&](const CgroupKey& key) {
    const auto found = states.find(key);
    return found != states.end() && found->second.row_ok;
  });
  auto keys = std::move(erased);
  erased.clear();
  const auto done = co_await journal.commit({}, keys);
  if (done) co_return;
  ++counters.journal_failures;
  erased.insert(erased.end(), keys.begin(), keys.end());  // again with the next batch
}

}  // namespace koordlet
