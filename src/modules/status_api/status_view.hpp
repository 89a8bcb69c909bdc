#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/clock.hpp"
#include "model/node_state.hpp"
#include "model/proposal.hpp"
#include "model/snapshot.hpp"

namespace koordlet {

/// Everything the REST API shows, as model values: filled by the daemon, so that status_api sees no
/// other module.
struct StatusView {
  struct HeldFile {
    CgroupKey key;
    std::string file;  ///< absolute path of the control file
    std::string raw;   ///< kernel content, canonical
    std::string original, value, plugin, reason;
    MonoTime since;
    std::uint64_t foreign_writes = 0;
    bool contested = false;
    std::optional<Outcome> last;
    std::vector<Proposal> losers;
  };
  struct Capability {
    std::string name;  ///< "cgroup", "psi", ...
    bool available = false;
    std::string detail;  ///< value, or why not
    std::string advice;  ///< what to do; empty when available
  };
  struct InputAge {
    std::string name;                              ///< "node", "pods", "nodeslo", "signals"
    std::optional<std::chrono::milliseconds> age;  ///< nullopt: never seen
    bool stale = false;
  };
  struct Config {
    std::string key;  ///< "qos.pressure.mid_percent"
    std::string value;
    std::string source;  ///< "built-in", "toml", "command line", "nodeslo"
  };
  struct Qos {
    bool off = false;
    bool dry_run = false;
    std::string profile;
    std::string level;  ///< "NONE", "MID", "HIGH"
    MonoTime level_since;
    int use_permyriad = 0;
    int factor_permille = 1000;
    int below_exit = 0;
    std::optional<std::int64_t> be_root_cap_milli;
    std::optional<std::int64_t> suppress_budget_milli;
    std::optional<std::string> suppress_cpuset;
    int hold_seconds = 0;
    std::vector<std::string> uncapped;
    std::string stale;
    std::uint64_t ticks = 0, level_changes = 0;
  };

  MonoTime now;
  WallTime wall;
  std::string version, node_name, boot_id;
  bool ready = false;
  std::vector<std::string> not_ready;  ///< why not
  std::chrono::milliseconds uptime{0};
  CgroupVersion cgroup_version{};
  std::optional<CgroupDriver> driver;
  std::shared_ptr<const NodeState> state;
  std::optional<NodeSignals> signals;
  std::map<std::string, PodUsage> pods;
  Qos qos;
  std::vector<HeldFile> held;
  std::vector<InputAge> ages;
  std::vector<Capability> capabilities;
  std::vector<Config> config;
  std::vector<std::string> faults;       ///< refused inputs, one line each
  std::map<std::string, double> gauges;  ///< name (without koordlet_) -> value
  std::map<std::string, double> counters;
  std::map<std::string, std::chrono::microseconds> stages;  ///< stage -> last duration
};

}  // namespace koordlet
