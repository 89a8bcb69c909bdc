#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "k8s/api_client.hpp"
#include "k8s/reflector.hpp"
#include "modules/states_informer/object_store.hpp"
#include "modules/states_informer/source.hpp"
#include "reactor/worker.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::states {

/// The `kubernetes` source: this node's Pods, its Node, NodeSLO and NodeMetric by list and watch.
/// The last good state is kept in the state environment, and is what counts after a start without
/// API server until the first whole list.
class ApiSource final : public Source {
 public:
  struct Config {
    std::string node_name;
    k8s::Reflector::Options reflector{};
    std::uint64_t max_cache_bytes = 16u << 20;
    std::chrono::milliseconds cache_delay{2'000};  ///< changes are gathered before they are written
    std::chrono::milliseconds cache_stamp{
        60'000};  ///< the cache's time is renewed at least that often
  };
  /// `env` nullptr: nothing is kept. `storage` writes to it while run() is running.
  ApiSource(boost::asio::any_io_executor ex,
            Config config,
            k8s::ApiClient& api,
            const Clock& clock,
            reactor::Worker* storage,
            store::LmdbEnv* env,
            std::function<void()> changed);
  ~ApiSource() override;

  Result<void> load() override;  ///< takes what the cache has; a broken cache is a fault, no error
  boost::asio::awaitable<void> run() override;
  Content content(const std::optional<kernel::CgroupLayout>& layout,
                  const NodeState& previous) override;
  std::vector<ResourceHealth> health() const override;
  const std::string& node_uid() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::states
