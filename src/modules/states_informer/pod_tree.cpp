#include "modules/states_informer/pod_tree.hpp"

#include <algorithm>
#include <iterator>

namespace koordlet::states {
namespace {

constexpr KubeQos kTiers[] = {KubeQos::kGuaranteed, KubeQos::kBurstable, KubeQos::kBestEffort};

}  // namespace

/// The kernel floor alone knows where a cgroup lies: it is the folder of any of its files.
std::string PodTree::dir_of(const CgroupPath& path) const {
  const auto file = cgroups_.file({path, CgroupFile::kCpuMax});
  return file.substr(0, file.rfind('/'));
}

bool PodTree::counts(const Dir& dir, const std::string& name) const {
  if (dir.tier) return layout_->parse_pod_dir(*dir.tier, name).has_value();
  return layout_->parse_container_dir(name, false).has_value();
}

bool PodTree::drop(const std::string& dir, Watches& watches) {
  const auto found = dirs_.find(dir);
  if (found == dirs_.end()) return false;
  const Dir gone = std::move(found->second);
  dirs_.erase(found);
  watches.unwatch(dir);
  if (!gone.tier) return true;
  for (const auto& pod : gone.entries) drop(dir_of(gone.path.child(pod)), watches);
  return !gone.entries.empty();
}

/// nullopt: the directory is not there.
std::optional<std::set<std::string>> PodTree::watch_and_list(const Dir& dir, Watches& watches) {
  const auto watched = watches.watch(dir_of(dir.path));
  if (!watched && watched.error().code == Errc::kNotFound) return std::nullopt;
  if (!watched) fault_ = watched.error().context;
  const auto children = cgroups_.children(dir.path);
  if (!children) return std::nullopt;
  std::set<std::string> out;
  std::copy_if(children->begin(),
               children->end(),
               std::inserter(out, out.end()),
               [&](const std::string& name) { return counts(dir, name); });
  return out;
}

bool PodTree::look_at_tier(KubeQos tier, Watches& watches) {
  const auto path = layout_->tier(tier);
  const auto dir = dir_of(path);
  auto now = watch_and_list(Dir{path, tier, {}}, watches);
  if (!now) return drop(dir, watches);
  Dir& entry = dirs_[dir];
  const auto before = std::move(entry.entries);
  entry = Dir{path, tier, std::move(*now)};
  for (const auto& name : before) {
    if (!entry.entries.contains(name)) drop(dir_of(path.child(name)), watches);
  }
  for (const auto& name : entry.entries) todo_.push_back(path.child(name));
  return before != entry.entries;
}

bool PodTree::look_at_pod(const CgroupPath& path, Watches& watches) {
  const auto dir = dir_of(path);
  auto now = watch_and_list(Dir{path, std::nullopt, {}}, watches);
  if (!now) return drop(dir, watches);
  Dir& entry = dirs_[dir];
  const bool changed = entry.entries != *now;
  entry = Dir{path, std::nullopt, std::move(*now)};
  return changed;
}

bool PodTree::begin_rescan(const std::optional<kernel::CgroupLayout>& layout, Watches& watches) {
  fault_.clear();
  todo_.clear();
  bool changed = false;
  const bool other_driver = layout.has_value() != layout_.has_value() ||
                            (layout && layout->driver() != layout_->driver());
  if (other_driver) {
    for (const auto& [dir, entry] : dirs_) watches.unwatch(dir);
    changed = !dirs_.empty();
    dirs_.clear();
    layout_ = layout;
  }
  if (!layout_) return changed;
  for (const auto tier : kTiers) changed = look_at_tier(tier, watches) || changed;
  return changed;
}

bool PodTree::step(std::size_t count, Watches& watches) {
  bool changed = false;
  for (; count > 0 && !todo_.empty(); --count) {
    const auto path = std::move(todo_.back());
    todo_.pop_back();
    changed = look_at_pod(path, watches) || changed;
  }
  return changed;
}

bool PodTree::on_entry(const std::string& dir,
                       const std::string& name,
                       bool came,
                       Watches& watches) {
  const auto found = dirs_.find(dir);
  const auto component = CgroupPath::parse(name);
  if (found == dirs_.end() || !component || component->depth() != 1) return false;
  Dir& entry = found->second;
  if (!counts(entry, name)) {
    if (!entry.tier) return false;
    const auto path = entry.path.child(name);
    const auto tier = std::find_if(
        std::begin(kTiers), std::end(kTiers), [&](KubeQos t) { return path == layout_->tier(t); });
    if (tier == std::end(kTiers)) return false;
    const bool changed = came ? look_at_tier(*tier, watches) : drop(dir_of(path), watches);
    return step(todo_.size(), watches) || changed;
  }
  if (came) {
    entry.entries.insert(name);
    if (entry.tier) look_at_pod(entry.path.child(name), watches);
  } else {
    entry.entries.erase(name);
    if (entry.tier) drop(dir_of(entry.path.child(name)), watches);
  }
  return true;
}

bool PodTree::on_gone(const std::string& dir, Watches& watches) { return drop(dir, watches); }

}  // namespace koordlet::states
