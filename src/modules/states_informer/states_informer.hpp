#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "k8s/api_client.hpp"
#include "k8s/kubelet_client.hpp"
#include "k8s/reflector.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_layout.hpp"
#include "model/node_state.hpp"
#include "modules/states_informer/source.hpp"
#include "reactor/worker.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet {

enum class StatesSource { kFiles, kKubernetes, kKubelet };

/// Keeps the node's state from outside, and the kubepods trees (inotify: a pod or container
/// directory that comes or goes wakes the tick). The state is replaced whole and never changed in
/// place.
///
/// Sources: `files`: a folder with Pod, Node and NodeSLO manifests, YAML or JSON. `kubernetes`:
/// list and watch of this node's Pods, the Node, NodeSLO and NodeMetric. `kubelet`: Pods of
/// kubelet's /pods, asked each `kubelet_sync` and when a pod's cgroup comes or goes; Node and
/// NodeSLO from the folder.
class StatesInformer {
 public:
  struct Config {
    StatesSource source = StatesSource::kFiles;
    std::string folder;  ///< manifests; must exist (files, kubelet)
    std::chrono::milliseconds settle{
        50};  ///< quiet time after the last event before the folder is re-read
    std::chrono::seconds rescan_interval{10};  ///< backstop for lost events
    std::size_t max_manifest_bytes = 4u << 20;
    std::string node_name;  ///< files: empty is the one Node in the folder; kubernetes: required
    std::chrono::seconds kubelet_sync{10};
    k8s::Reflector::Options reflector{};
  };
  /// What the sources talk to. All outlive the informer; what a source does not need may be null.
  struct Remote {
    k8s::ApiClient* api = nullptr;          ///< kubernetes
    k8s::KubeletClient* kubelet = nullptr;  ///< kubelet; else only its CPU manager policy is read
    store::LmdbEnv* state = nullptr;        ///< last good API state; nullptr: not kept
  };
  /// `helper` reads and parses manifests (a large YAML file takes tens of milliseconds) and writes
  /// `remote.state` while run() is running; nullptr: the loop reads, and nothing is kept.
  /// References must outlive the informer. A pod's cgroup is the root path as long as layout() is
  /// empty: it must not be written to then.
  StatesInformer(boost::asio::any_io_executor ex,
                 Config config,
                 Remote remote,
                 kernel::Cgroups& cgroups,
                 kernel::HostRoots roots,
                 const Clock& clock,
                 reactor::Worker* helper = nullptr);
  ~StatesInformer();

  /// Before run(): reads the folder, or the state that was kept. Faulty objects are faults in the
  /// state, not an error; a missing folder is.
  Result<void> load();
  boost::asio::awaitable<void> run();              ///< until cancelled
  std::shared_ptr<const NodeState> state() const;  ///< never nullptr
  /// Called on the loop after each replacement (changed content) and after each kubepods directory
  /// event.
  void on_change(std::function<void()> f);
  /// nullopt until the kubepods tree exists (looked for again at each rescan, never guessed).
  std::optional<kernel::CgroupLayout> layout() const;
  std::vector<states::ResourceHealth> health() const;
  const std::string& node_uid() const;  ///< of the Node object; "" unknown
  /// What kubelet says of itself; nullopt: not asked, or no answer yet.
  const std::optional<k8s::KubeletConfig>& kubelet_config() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
