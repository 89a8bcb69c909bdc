#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "kernel/host.hpp"
#include "modules/flight_recorder/flight_recorder.hpp"
#include "modules/metric_advisor/interference_watch.hpp"
#include "modules/metric_advisor/metric_advisor.hpp"
#include "modules/metric_cache/metric_cache.hpp"
#include "modules/predict_server/predict_server.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "modules/states_informer/states_informer.hpp"
#include "modules/status_api/status_api.hpp"
#include "modules/status_api/status_view.hpp"
#include "policy/config.hpp"
#include "policy/hook_values.hpp"
#include "runtime/nri_connection.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::app {

enum class OnShutdown { kRestore, kKeep };

/// Everything that TOML and the command line can set, one member a section. The defaults of a
/// module stand in its own Config; the ones of the daemon itself stand here.
struct Config {
  struct States {
    States() { informer.folder = "/etc/koordlet/manifests"; }
    StatesInformer::Config informer;
  };
  /// The way to the API server.
  struct Api {
    std::string kubeconfig;  ///< "": in-cluster
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds request_timeout{10'000};
    std::chrono::milliseconds dead_peer{30'000};
  };
  struct Kubelet {
    std::string url;  ///< "": kubelet is not asked
    std::string ca_file, token_file, cert_file, key_file;
    std::string cpu_manager_state = "/var/lib/kubelet/cpu_manager_state";
  };
  struct Report {
    bool enable = true;
    std::chrono::seconds interval{0};  ///< 0: the NodeMetric's own
    bool create = true;
    bool topology = true;
    bool high_condition = true;  ///< the Node condition that says "HIGH for long"
    std::chrono::seconds high_condition_after{300};
  };
  struct Qos {
    std::chrono::milliseconds interval{1000};  ///< between two evaluations
    std::chrono::milliseconds fast_poll{100};  ///< class counters, while near a threshold
    OnShutdown on_shutdown = OnShutdown::kRestore;
    policy::QosConfig policy;
  };
  struct Store {
    std::string folder = "/var/lib/koordlet";
    std::uint64_t state_map_size = store::LmdbEnv::Options{}.map_size;
    MetricCache::Config metrics;  ///< its folder follows from `folder`: metric_cache_config()
  };

  /// A peak of the node that is forecast above a threshold becomes a condition of the Node.
  struct PeakWarning {
    bool enabled = false;
    int percent = 0;  ///< of the node's CPUs and memory; 0: where HIGH begins
    std::chrono::seconds after{300};
  };
  /// Values of containers as they start; the switches are qos.policy.hooks.
  struct Hooks {
    bool nri = true;
    runtime::NriOptions connection;
  };

  kernel::HostRoots host;
  States states;
  Api api;
  Kubelet kubelet;
  Report report;
  MetricAdvisor::Config collect;
  InterferenceWatch::Config interference;
  Qos qos;
  ResourceExecutor::Config executor;
  bool unit_properties = true;    ///< systemd is told what the files of its units hold
  std::string run_root = "/run";  ///< the host's: where systemd's sockets are
  Store store;
  Hooks hooks;
  PredictServer::Config predict;  ///< pod_usage_valid follows: predict_config()
  PeakWarning warning;
  FlightRecorder::Config recorder;  ///< its folder follows from store.folder: recorder_config()
  StatusApi::Config status;
  log::Options log;
};

/// Folder of the state environment (journal) and of the metric store, below store.folder.
store::LmdbEnv::Options state_env_options(const Config& config);
MetricCache::Config metric_cache_config(const Config& config);
FlightRecorder::Config recorder_config(const Config& config);
/// How long a pod's sample counts follows from the collect interval.
PredictServer::Config predict_config(const Config& config);

/// A good configuration and where each value came from.
struct LoadedConfig {
  Config config;
  std::string file;  ///< the TOML file that was read; empty: none
  /// Every key in the order of config/koordlet.toml; source "built-in", "toml" or "command line".
  std::vector<StatusView::Config> values;
};

/// One refused input.
struct ConfigFault {
  std::string file;  ///< empty: the command line
  int line = 0;      ///< 0: no line (the file as a whole)
  std::string key, value, expected;
};
/// "FILE:LINE: section.key: value: expected ..."
std::string to_string(const ConfigFault& fault);

/// `loaded` holds the good values even when there are faults; only `run` must refuse to start then.
struct ConfigReading {
  LoadedConfig loaded;
  std::vector<ConfigFault> faults;  ///< all of them, in the order of the file
  bool ok() const { return faults.empty(); }
};

/// Key and value as text: --set and the flags that stand for a key. The last one of a key wins.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Precedence command line > TOML > built-in. `file` empty: built-in values and overrides only.
ConfigReading load_config(const std::string& file, const Overrides& overrides);
/// The same for text in memory; `name` stands for the file in faults.
ConfigReading load_config_text(const std::string& text,
                               const std::string& name,
                               const Overrides& overrides);

/// Text of config/koordlet.toml: every key with its description, range and default.
std::string default_toml();
/// The same keys as the table of docs/tune.md.
std::string settings_markdown();

}  // namespace koordlet::app
