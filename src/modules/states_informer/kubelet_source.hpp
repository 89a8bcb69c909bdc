#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "k8s/kubelet_client.hpp"
#include "modules/states_informer/files_source.hpp"
#include "modules/states_informer/object_store.hpp"
#include "modules/states_informer/source.hpp"

namespace koordlet::states {

/// The `kubelet` source: Pods of kubelet's /pods, Node and NodeSLO of a folder. kubelet is asked
/// each `sync` and within `settle` after a pod's cgroup came or went. An answer without pods is
/// believed only when it comes three times in a row: a kubelet that has just started gives it too.
/// While kubelet does not answer, the last list stays and ages.
class KubeletSource final : public Source {
 public:
  struct Config {
    FilesSource::Config files;
    std::string node_name;
    std::chrono::seconds sync{10};
    std::chrono::milliseconds settle{200};
  };
  KubeletSource(boost::asio::any_io_executor ex,
                Config config,
                k8s::KubeletClient& kubelet,
                const Clock& clock,
                reactor::Worker* helper,
                std::function<void()> changed);
  ~KubeletSource() override;

  Result<void> load() override;
  boost::asio::awaitable<void> run() override;
  Content content(const std::optional<kernel::CgroupLayout>& layout,
                  const NodeState& previous) override;
  void on_tree_change() override;
  std::vector<ResourceHealth> health() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::states
