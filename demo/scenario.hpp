#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "koordlet_process.hpp"
#include "load.hpp"
#include "options.hpp"
#include "show.hpp"
#include "tree.hpp"

namespace koordlet::demo {

/// One step of the LS load from low to high and what the best-effort cap in the kernel file did.
struct Step {
  double at_s = 0;
  bool at_floor = false;  ///< BE had nothing left to lose: no cut can be seen
  std::optional<double>
      reaction_ms;  ///< until the kernel file shows a cut; nullopt: none came before the next step
  std::optional<double> cap_cores;  ///< in the kernel file when the step had settled
  std::optional<double>
      formula_cores;  ///< capacity x high % - LS use - system use, from the use measured then
};

/// The whole demo: the tree, the load, the phases, the checks.
class Scenario {
 public:
  explicit Scenario(Options options);
  ~Scenario();
  /// Returns the exit code.
  int run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  Result<void> set_up();
  void phase(const std::string& name, int seconds_long);
  void with_koordlet();
  void step_up(Time until);
  void tick(const std::string& phase, const std::string& note);
  std::optional<double> be_cap_cores();
  std::optional<double> formula_cores() const;
  bool check_restored(const std::map<std::string, std::string>& before);
  int summary(bool restored, std::optional<int> exit_code);

  Options options_;
  int cpus_ = 1;
  int node_cpu_milli_ = 0;
  CgroupVersion version_ = CgroupVersion::kV1;
  kernel::HostRoots roots_;
  std::optional<DemoTree> tree_;
  std::optional<kernel::CgroupFs> cgroups_;
  LoadControl& control_;
  std::vector<pid_t> loads_;
  std::unique_ptr<KoordletProcess> koordlet_;
  Time start_;
  Latency::Counts last_counts_{};
  std::map<std::string, std::int64_t> p99_by_phase_;
  std::vector<Step> steps_;
  int relax_writes_ = 0;
  bool colour_ = false;
  bool koordlet_started_ = false;
};

}  // namespace koordlet::demo
