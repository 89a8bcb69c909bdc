#include "modules/resource_executor/restore.hpp"

#include <algorithm>
#include <set>

#include "modules/resource_executor/impl.hpp"

namespace koordlet {
namespace executor {
namespace {

bool is_gone(Errc code) { return code == Errc::kNotFound || code == Errc::kGone; }

OutcomeKind failed_kind(CgroupVersion version, CgroupFile file, Errc code) {
  switch (classify_failure(version, file, code)) {
    case Failure::kGone:
      return OutcomeKind::kGone;
    case Failure::kTransient:
      return OutcomeKind::kPending;
    case Failure::kRefused:
      return OutcomeKind::kRefused;
    case Failure::kUnsupported:
      return OutcomeKind::kUnsupported;
  }
  return OutcomeKind::kRefused;
}

/// Reads one file and decides. True when it has to be written; `current` is then what it holds.
bool must_write(kernel::Cgroups& cgroups,
                const Restoration& file,
                const std::set<CgroupPath>& idle,
                Outcome& outcome,
                CgroupValue& current) {
  const auto inode = cgroups.inode(file.key);
  const auto read = cgroups.read(file.key);
  if ((inode && *inode != file.inode) || (!inode && is_gone(inode.error().code)) ||
      (!read && is_gone(read.error().code))) {
    outcome.kind = OutcomeKind::kGone;
    return false;
  }
  if (!read) {
    outcome.kind = failed_kind(cgroups.version(), file.key.file, read.error().code);
    outcome.error = read.error().context;
    return false;
  }
  current = *read;
  const bool under_idle = file.key.file == CgroupFile::kCpuWeight && idle.contains(file.key.path) &&
                          current == weight_under_idle(cgroups.version());
  const bool ours =
      current == file.ours || under_idle || is_unit_rounding(file.key, file.ours, current);
  if (current == file.original || !ours) {
    outcome.value = to_string(current);
    return false;
  }
  return true;
}

Result<void> write_back(kernel::Cgroups& cgroups, const CgroupKey& key, const CgroupValue& value) {
  auto done = cgroups.write(key, value);
  if (done || done.error().code != Errc::kBusy) return done;
  const auto widest = widest_cpuset(cgroups, key, value);
  return widest ? cgroups.write(key, *widest) : done;
}

/// One round over what is still to do; what fails stays in `open`.
void write_round(kernel::Cgroups& cgroups,
                 const std::vector<ChangeRef>& changes,
                 std::vector<Outcome*>& outcomes,
                 std::vector<bool>& open) {
  for (const auto& step : plan_steps(cgroups.version(), changes)) {
    if (!open[step.change]) continue;
    const auto& change = changes[step.change];
    auto& outcome = *outcomes[step.change];
    const auto done = write_back(cgroups, *change.key, step_value(step, change));
    if (done) {
      if (step.merged) continue;
      outcome.kind = OutcomeKind::kWritten;
      outcome.before = to_string(*change.current);
      outcome.restored = true;
      outcome.error.clear();
      open[step.change] = false;
      continue;
    }
    outcome.kind = failed_kind(cgroups.version(), change.key->file, done.error().code);
    outcome.error = outcome.kind == OutcomeKind::kGone ? std::string{} : done.error().context;
    if (outcome.kind == OutcomeKind::kGone) open[step.change] = false;
  }
}

}  // namespace

std::vector<Outcome> restore_files(kernel::Cgroups& cgroups,
                                   const std::vector<Restoration>& files,
                                   bool dry_run) {
  std::set<CgroupPath> idle;
  for (const auto& file : files) {
    if (file.key.file == CgroupFile::kCpuIdle) idle.insert(file.key.path);
  }
  std::vector<Outcome> out;
  out.reserve(files.size());
  std::vector<CgroupValue> currents(files.size());
  std::vector<ChangeRef> changes;
  std::vector<Outcome*> outcomes;
  for (const auto& file : files) {
    auto& outcome =
        out.emplace_back(Outcome{file.key, OutcomeKind::kUnchanged, to_string(file.original), {}});
    auto& current = currents[out.size() - 1];
    if (!must_write(cgroups, file, idle, outcome, current)) continue;
    if (dry_run) {
      outcome.kind = OutcomeKind::kDryRun;
      continue;
    }
    changes.push_back({&file.key, &current, &file.original, file.order});
    outcomes.push_back(&outcome);
  }
  // A write may wait for another (a child that somebody else shrinks just now): a second round is
  // cheap, and nobody comes back later.
  constexpr int kRounds = 2;
  std::vector<bool> open(changes.size(), true);
  for (int round = 0; round < kRounds; ++round) {
    if (std::find(open.begin(), open.end(), true) == open.end()) break;
    write_round(cgroups, changes, outcomes, open);
  }
  return out;
}

}  // namespace executor

namespace {

/// What the file of a restored key holds, as its outcome says; nothing when it is gone or still
/// holds our value.
std::optional<CgroupValue> value_left(const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kWritten && outcome.kind != OutcomeKind::kUnchanged) {
    return std::nullopt;
  }
  const auto value = parse_cgroup_value(outcome.key.file, outcome.value);
  if (!value) return std::nullopt;
  return *value;
}

void tell(UnitOwner& units, const std::vector<Outcome>& outcomes) {
  for (const auto& outcome : outcomes) {
    if (const auto value = value_left(outcome)) units.give_back(outcome.key, *value);
    if (outcome.kind == OutcomeKind::kGone) units.forget(outcome.key);
  }
  units.send();
}

}  // namespace

std::vector<Outcome> ResourceExecutor::Impl::restore_all() {
  if (!config.dry_run) call_back();
  std::vector<executor::Restoration> files;
  for (const auto& [key, state] : states) {
    if (!state.written) continue;
    files.push_back({key, state.original, *state.written, state.inode, state.order});
  }
  auto outcomes = executor::restore_files(cgroups, files, config.dry_run);
  if (config.dry_run) return outcomes;
  if (units != nullptr) tell(*units, outcomes);
  ++restores;
  std::vector<CgroupKey> rows = std::move(erased);
  erased.clear();
  std::map<CgroupKey, KeyState> left;
  for (const auto& outcome : outcomes) {
    const bool done = outcome.kind == OutcomeKind::kWritten ||
                      outcome.kind == OutcomeKind::kUnchanged || outcome.kind == OutcomeKind::kGone;
    if (outcome.kind == OutcomeKind::kWritten) {
      ++counters.writes;
      ++counters.restored;
    }
    if (done) continue;
    auto node = states.extract(outcome.key);
    node.mapped().last = outcome;
    left.insert(std::move(node));
  }
  for (const auto& [key, state] : states) {
    if (state.row_ok || state.written) rows.push_back(key);
  }
  states = std::move(left);
  journal.erase_later(std::move(rows));
  return outcomes;
}

Result<std::vector<Outcome>> restore_from_journal(kernel::Cgroups& cgroups,
                                                  store::Journal& journal,
                                                  std::string_view boot_id,
                                                  bool dry_run,
                                                  UnitOwner* units) {
  const auto entries = journal.load();
  if (!entries) return wrap("restore", entries.error());
  std::set<CgroupPath> idle;
  for (const auto& entry : *entries) {
    if (entry.key.file == CgroupFile::kCpuIdle) idle.insert(entry.key.path);
  }
  std::vector<Outcome> out(entries->size());
  std::vector<executor::Restoration> files;
  std::vector<std::size_t> places;
  std::vector<CgroupKey> done;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const auto& entry = (*entries)[i];
    out[i] = {entry.key, OutcomeKind::kGone, entry.original, {}};
    const auto inode = cgroups.inode(entry.key);
    const auto current = cgroups.read(entry.key);
    const auto original = parse_cgroup_value(entry.key.file, entry.original);
    if (!inode || !current || !original) {
      done.push_back(entry.key);
      continue;
    }
    auto adoption = store::classify(entry, to_string(*current), *inode, boot_id);
    if (adoption == store::Adoption::kThirdParty && idle.contains(entry.key.path) &&
        entry.key.file == CgroupFile::kCpuWeight &&
        *current == executor::weight_under_idle(cgroups.version())) {
      adoption = store::Adoption::kOurs;
    }
    if (adoption == store::Adoption::kThirdParty && executor::is_unit_rounding(entry, *current)) {
      adoption = store::Adoption::kOurs;
    }
    if (adoption == store::Adoption::kOurs) {
      files.push_back({entry.key, *original, *current, *inode, 0});
      places.push_back(i);
      continue;
    }
    if (adoption != store::Adoption::kDrop) {
      out[i].kind = OutcomeKind::kUnchanged;
      out[i].value = to_string(*current);
    }
    done.push_back(entry.key);
  }
  auto restored = executor::restore_files(cgroups, files, dry_run);
  for (std::size_t i = 0; i < restored.size(); ++i) {
    const auto kind = restored[i].kind;
    if (kind == OutcomeKind::kWritten || kind == OutcomeKind::kUnchanged ||
        kind == OutcomeKind::kGone) {
      done.push_back(restored[i].key);
    }
    out[places[i]] = std::move(restored[i]);
  }
  if (!dry_run && units != nullptr) tell(*units, out);
  if (dry_run || done.empty()) return out;
  const auto erased = journal.commit({}, done);
  // The files are right again; rows that stay are found untouched the next time.
  if (!erased) return wrap("restore: files are given back, but the journal", erased.error());
  return out;
}

}  // namespace koordlet
