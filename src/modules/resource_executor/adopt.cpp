#include <set>

#include "modules/resource_executor/impl.hpp"

namespace koordlet {

ResourceExecutor::Held ResourceExecutor::Impl::to_held(const CgroupKey& key,
                                                       const KeyState& state) {
  Held out;
  out.key = key;
  out.original = to_string(state.original);
  out.value = state.wanted_text;
  out.kernel = to_string(state.kernel);
  out.plugin = state.plugin;
  out.reason = state.reason;
  out.since = state.since;
  out.last = state.last;
  out.foreign_writes = state.foreign_writes;
  out.contested = state.contested;
  out.losers = state.losers;
  return out;
}

/// True when the file is ours and held from now on; otherwise its row can go.
bool ResourceExecutor::Impl::adopt_entry(const store::JournalEntry& entry, bool under_idle) {
  const auto inode = cgroups.inode(entry.key);
  const auto current = cgroups.read(entry.key);
  const auto original = parse_cgroup_value(entry.key.file, entry.original);
  if (!inode || !current || !original) return false;
  auto adoption = store::classify(entry, to_string(*current), *inode, boot_id);
  if (adoption == store::Adoption::kThirdParty && executor::is_unit_rounding(entry, *current)) {
    adoption = store::Adoption::kOurs;
  }
  const bool idle_weight = under_idle && entry.key.file == CgroupFile::kCpuWeight &&
                           adoption == store::Adoption::kThirdParty &&
                           *current == executor::weight_under_idle(cgroups.version());
  if (adoption != store::Adoption::kOurs && !idle_weight) {
    // Not ours any more, but systemd may still think so.
    const bool tell = units != nullptr && !config.dry_run && adoption != store::Adoption::kDrop;
    if (tell) units->give_back(entry.key, *current);
    return false;
  }
  auto& state = states[entry.key];
  const auto next = parse_cgroup_value(entry.key.file, entry.next);
  state.original = *original;
  state.inode = *inode;
  state.kernel = *current;
  state.written = idle_weight && next ? *next : *current;
  state.wanted = *state.written;
  state.wanted_text = to_string(state.wanted);
  state.plugin = entry.plugin;
  state.reason = "adopted from an earlier run";
  state.since = clock.now();
  state.row_previous = entry.previous;
  state.row_next = entry.next;
  state.row_ok = true;
  // systemd may not have heard of it before that run ended.
  if (units != nullptr && !config.dry_run) units->hold(entry.key, *state.written);
  return true;
}

boost::asio::awaitable<Result<std::vector<ResourceExecutor::Held>>>
ResourceExecutor::Impl::adopt() {
  const auto entries = co_await journal.load();
  if (!entries) co_return wrap("adopt", entries.error());
  std::set<CgroupPath> idle;
  for (const auto& entry : *entries) {
    if (entry.key.file == CgroupFile::kCpuIdle) idle.insert(entry.key.path);
  }
  std::vector<Held> out;
  for (const auto& entry : *entries) {
    if (states.contains(entry.key)) continue;  // held since before: newer than the row
    if (!adopt_entry(entry, idle.contains(entry.key.path))) {
      erased.push_back(entry.key);
      continue;
    }
    out.push_back(to_held(entry.key, states.at(entry.key)));
  }
  if (units != nullptr) units->send();
  if (!config.dry_run) co_await commit_erased();
  co_return out;
}

}  // namespace koordlet
