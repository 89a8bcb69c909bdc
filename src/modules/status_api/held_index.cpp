#include "modules/status_api/held_index.hpp"

#include <algorithm>

namespace koordlet::status_api {

namespace {

bool key_less(const StatusView::HeldFile* held, const CgroupKey& key) { return held->key < key; }

}  // namespace

HeldIndex::HeldIndex(const StatusView& view) {
  sorted_.reserve(view.held.size());
  for (const auto& held : view.held) sorted_.push_back(&held);
  const auto by_key = [](const auto* a, const auto* b) { return a->key < b->key; };
  if (!std::is_sorted(sorted_.begin(), sorted_.end(), by_key)) {
    std::sort(sorted_.begin(), sorted_.end(), by_key);
  }
}

const StatusView::HeldFile* HeldIndex::find(const CgroupKey& key) const {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), key, key_less);
  return at != sorted_.end() && (*at)->key == key ? *at : nullptr;
}

std::vector<const StatusView::HeldFile*> HeldIndex::at_or_below(const CgroupPath& path) const {
  std::vector<const StatusView::HeldFile*> out;
  if (path.is_root()) return out;
  // Everything below starts with the text of `path`; names like "pod1-2" stand between "pod1" and
  // "pod1/c".
  auto at = std::lower_bound(sorted_.begin(), sorted_.end(), CgroupKey{path, {}}, key_less);
  for (; at != sorted_.end() && (*at)->key.path.str().starts_with(path.str()); ++at) {
    const auto& key = (*at)->key;
    if (key.path == path || path.is_ancestor_of(key.path)) out.push_back(*at);
  }
  return out;
}

}  // namespace koordlet::status_api
