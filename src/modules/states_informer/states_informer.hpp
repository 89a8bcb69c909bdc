#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_layout.hpp"
#include "model/node_state.hpp"
#include "reactor/worker.hpp"

namespace koordlet {

/// Keeps the node's state from outside: the `files` source (a folder with Pod, Node and NodeSLO
/// manifests, YAML or JSON, watched with inotify and re-read whole), and the kubepods trees
/// (inotify: a pod or container directory that comes or goes wakes the tick). The state is replaced
/// whole and never changed in place.
class StatesInformer {
 public:
  struct Config {
    std::string folder;  ///< manifests; must exist
    std::chrono::milliseconds settle{
        50};  ///< quiet time after the last event before the folder is re-read
    std::chrono::seconds rescan_interval{10};  ///< backstop for lost events
    std::size_t max_manifest_bytes = 4u << 20;
    std::string node_name;  ///< empty: the one Node in the folder
  };
  /// `helper` reads and parses the manifests while run() is running (a large YAML file takes tens
  /// of milliseconds); nullptr: the loop does. References must outlive the informer. A pod's cgroup
  /// is the root path as long as layout() is empty: it must not be written to then.
  StatesInformer(boost::asio::any_io_executor ex,
                 Config config,
                 kernel::Cgroups& cgroups,
                 kernel::HostRoots roots,
                 const Clock& clock,
                 reactor::Worker* helper = nullptr);
  ~StatesInformer();

  /// Reads the folder once, before run(). Faulty manifests are faults in the state, not an error; a
  /// missing folder is.
  Result<void> load();
  boost::asio::awaitable<void> run();              ///< until cancelled
  std::shared_ptr<const NodeState> state() const;  ///< never nullptr
  /// Called on the loop after each replacement (changed content) and after each kubepods directory
  /// event.
  void on_change(std::function<void()> f);
  /// nullopt until the kubepods tree exists (looked for again at each rescan, never guessed).
  std::optional<kernel::CgroupLayout> layout() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
