#include "runtime/cri_inventory.hpp"

#include <utility>

namespace koordlet::runtime {
namespace {

template <class Map>
auto find_in(Map& map, const std::string& id) -> decltype(&map.begin()->second) {
  const auto at = map.find(id);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

const HookPod* CriInventory::find_pod(const std::string& id) const { return find_in(pods_, id); }

const CriContainer* CriInventory::find_container(const std::string& id) const {
  return find_in(containers_, id);
}

CriContainer* CriInventory::find_container(const std::string& id) {
  return find_in(containers_, id);
}

void CriInventory::put_pod(HookPod pod) {
  touch(pod.id);
  auto& to = pods_[pod.id];
  to = std::move(pod);
}

void CriInventory::put_container(CriContainer container) {
  const auto id = container.is.id;
  touch(id);
  erase_container(id);
  if (!container.told_as.empty()) ids_[container.told_as] = id;
  containers_[id] = std::move(container);
}

void CriInventory::erase_pod(const std::string& id) {
  touch(id);
  pods_.erase(id);
  for (auto at = containers_.begin(); at != containers_.end();) {
    const auto next = std::next(at);
    if (at->second.is.pod_id == id) erase_container(std::string{at->first});
    at = next;
  }
}

void CriInventory::erase_container(const std::string& id) {
  touch(id);
  const auto at = containers_.find(id);
  if (at == containers_.end()) return;
  ids_.erase(at->second.told_as);
  containers_.erase(at);
}

std::string CriInventory::id_of(const std::string& told) const {
  const auto at = ids_.find(told);
  return at == ids_.end() ? told : at->second;
}

void CriInventory::take(const HookInventory& listed) {
  std::set<std::string> there;
  for (const auto& pod : listed.pods) {
    there.insert(pod.id);
    if (!touched_.contains(pod.id)) pods_.try_emplace(pod.id, pod);
  }
  for (const auto& container : listed.containers) {
    there.insert(container.id);
    if (touched_.contains(container.id)) continue;
    const auto [at, is_new] = containers_.try_emplace(container.id);
    if (is_new) {
      at->second.is = container;
    } else {
      at->second.is.state = container.state;
      at->second.is.resources = merged(at->second.is.resources, container.resources);
    }
  }
  const auto gone = [&](const std::string& id) {
    return !there.contains(id) && !touched_.contains(id);
  };
  std::erase_if(pods_, [&](const auto& item) { return gone(item.first); });
  std::erase_if(containers_, [&](const auto& item) {
    const bool out = gone(item.first);
    if (out) ids_.erase(item.second.told_as);
    return out;
  });
}

HookInventory CriInventory::all() const {
  HookInventory out;
  for (const auto& [id, pod] : pods_) out.pods.push_back(pod);
  for (const auto& [id, container] : containers_) out.containers.push_back(container.is);
  return out;
}

}  // namespace koordlet::runtime
