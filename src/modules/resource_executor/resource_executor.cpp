#include "modules/resource_executor/resource_executor.hpp"

#include "modules/resource_executor/impl.hpp"

namespace koordlet {

ResourceExecutor::ResourceExecutor(Config config,
                                   kernel::Cgroups& cgroups,
                                   store::Journal* journal,
                                   reactor::Worker* storage,
                                   const Clock& clock,
                                   std::string boot_id)
    : impl_{std::make_unique<Impl>(config, cgroups, journal, storage, clock, std::move(boot_id))} {}

ResourceExecutor::~ResourceExecutor() = default;

void ResourceExecutor::use_reclaim_thread(reactor::Worker& reclaim, kernel::Cgroups& cgroups) {
  impl_->slow.emplace(reclaim, cgroups);
}

void ResourceExecutor::use_unit_owner(UnitOwner& units) { impl_->units = &units; }

boost::asio::awaitable<Result<std::vector<ResourceExecutor::Held>>> ResourceExecutor::adopt() {
  return impl_->adopt();
}

boost::asio::awaitable<std::vector<Outcome>> ResourceExecutor::apply(const DesiredTable& desired,
                                                                     MonoTime now) {
  return impl_->apply(desired, now);
}

void ResourceExecutor::note_resized(const std::vector<CgroupPath>& pods, MonoTime now) {
  impl_->note_resized(pods, now);
}

std::vector<Outcome> ResourceExecutor::restore_all() { return impl_->restore_all(); }

std::vector<ResourceExecutor::Held> ResourceExecutor::held() const {
  std::vector<Held> out;
  out.reserve(impl_->states.size());
  for (const auto& [key, state] : impl_->states) out.push_back(Impl::to_held(key, state));
  return out;
}

std::optional<ResourceExecutor::Held> ResourceExecutor::find(const CgroupKey& key) const {
  const auto at = impl_->states.find(key);
  if (at == impl_->states.end()) return std::nullopt;
  return Impl::to_held(at->first, at->second);
}

const ResourceExecutor::Counters& ResourceExecutor::counters() const { return impl_->counters; }

}  // namespace koordlet
