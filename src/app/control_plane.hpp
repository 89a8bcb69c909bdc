#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "app/config.hpp"
#include "base/clock.hpp"
#include "k8s/api_client.hpp"
#include "k8s/events.hpp"
#include "k8s/kubelet_client.hpp"
#include "modules/evictor/evictor.hpp"
#include "modules/node_reporter/condition_reporter.hpp"
#include "modules/node_reporter/node_reporter.hpp"
#include "modules/node_reporter/topology_reporter.hpp"
#include "modules/status_api/status_view.hpp"
#include "policy/high_watch.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::app {

/// This node's name: states.node_name, else NODE_NAME of the environment; for the kubernetes source
/// else the host's name in lower case, and for the others "" (the one Node in the folder).
std::string node_name_of(const Config& config);

/// All that talks to the cluster: the API client, kubelet's, the reporters and the evictor. Empty
/// parts where the configuration wants none. Loop thread.
class ControlPlane {
 public:
  struct Hooks {
    std::function<boost::asio::awaitable<Result<ReportInput>>()> gather_report;
    std::function<boost::asio::awaitable<Result<TopologyInput>>()> gather_topology;
    Evictor::StillThere still_there;
  };
  /// The error is the one line that says why koordlet does not start: no credentials, a kubeconfig
  /// that cannot be read, a CA that is none. An API server that does not answer is no error.
  static Result<std::unique_ptr<ControlPlane>> open(boost::asio::any_io_executor ex,
                                                    const Config& config,
                                                    Hooks hooks,
                                                    const Clock& clock);
  ~ControlPlane();

  k8s::ApiClient* api() const { return api_.get(); }              ///< nullptr: none is used
  k8s::KubeletClient* kubelet() const { return kubelet_.get(); }  ///< nullptr: none is asked
  void start(reactor::TaskGroup& tasks, const NodeState& state);
  void on_state_change(const NodeState& state);
  /// The level became HIGH: the cluster hears of it now.
  void report_now();
  /// Whether the level is HIGH in this tick: lasting pressure becomes a condition of the Node.
  void note_level(bool high);
  /// Whether a peak above the threshold is forecast: a condition of the Node, and one Event when it
  /// begins. Nothing without an API server and in a dry run.
  void warn_of_peak(bool ahead, const std::string& message);
  /// Whom the plugins want gone in this tick. Without an API server nobody is evicted.
  void evict(std::vector<EvictionWish> wishes);
  /// What became of earlier wishes, each once.
  std::vector<EvictionOutcome> take_eviction_outcomes();
  void fill(StatusView& view) const;

 private:
  ControlPlane(boost::asio::any_io_executor ex, const Config& config, const Clock& clock);
  Result<void> open_api();
  Result<void> open_kubelet();
  void make_reporters(Hooks& hooks);
  void make_evictor(Hooks& hooks);
  void fill_report(StatusView& view) const;
  void fill_evictions(StatusView& view) const;

  boost::asio::any_io_executor ex_;
  const Config& config_;
  const Clock& clock_;
  std::string node_name_;
  std::unique_ptr<k8s::ApiClient> api_;
  std::unique_ptr<k8s::KubeletClient> kubelet_;
  std::unique_ptr<NodeReporter> reporter_;
  std::unique_ptr<TopologyReporter> topology_;
  bool topology_runs_ = false;
  reactor::TaskGroup* tasks_ = nullptr;  ///< set by start()
  policy::HighWatch high_;
  std::unique_ptr<ConditionReporter> condition_;
  std::unique_ptr<ConditionReporter> peak_condition_;  ///< nullptr: not wanted
  bool peak_ahead_ = false;                            ///< as told by an Event
  std::unique_ptr<k8s::EventRecorder> events_;
  std::unique_ptr<Evictor> evictor_;
};

}  // namespace koordlet::app
