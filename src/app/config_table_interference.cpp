#include "app/config_table.hpp"

namespace koordlet::app {
namespace {

/// A member that is a fraction, spelt as a whole number of `per` parts.
template <class Access>
Setting parts(
    std::string key, Access at, double per, std::int64_t min, std::int64_t max, std::string about) {
  Setting s = base(std::move(key), SettingType::kInteger, std::move(about));
  s.min = min;
  s.max = max;
  s.get = [at, per](const Config& c) {
    return SettingValue{static_cast<std::int64_t>(at(c) * per + 0.5)};
  };
  s.set = [at, per](Config& c, const SettingValue& v) {
    at(c) = static_cast<double>(std::get<std::int64_t>(v)) / per;
  };
  return s;
}

void add_collect(std::vector<Setting>& out) {
  out.push_back(with_flag("collect-interval",
                          duration("collect.interval",
                                   KOORDLET_AT(collect.collect_interval),
                                   10 * kSecond,
                                   10 * kMinute,
                                   "between two readings of all pods and containers")));
  out.push_back(
      boolean("collect.bpf_iterator",
              KOORDLET_AT(collect.iterator),
              "cgroup v2: counters of all cgroups in one BPF pass, where the kernel can"));
  out.push_back(text("collect.cri_socket",
                     KOORDLET_AT(collect.cri_socket),
                     TextRule::kSocket,
                     "CRI socket asked for containers whose cgroup cannot be read; empty: none"));
  out.push_back(text("collect.docker_socket",
                     KOORDLET_AT(collect.docker_socket),
                     TextRule::kSocket,
                     "the same for Docker's containers"));
  out.push_back(words("collect.resctrl_groups",
                      KOORDLET_AT(collect.resctrl_groups),
                      TextRule::kGroupNames,
                      "resctrl groups whose cache and bandwidth are read, with commas between"));
}

void add_sources(std::vector<Setting>& out) {
  out.push_back(boolean("interference.enable",
                        KOORDLET_AT(interference.enable),
                        "measure how much each LS pod is hurt by others"));
  out.push_back(duration("interference.ls_interval",
                         KOORDLET_AT(interference.ls_interval),
                         2 * kSecond,
                         kMinute,
                         "length of a window"));
  out.push_back(boolean("interference.bpf",
                        KOORDLET_AT(interference.bpf),
                        "run-queue latency by BPF; else from the schedstat of each thread"));
  out.push_back(boolean("interference.perf",
                        KOORDLET_AT(interference.perf),
                        "CPI and cache misses of LS containers, where there are counters"));
  out.push_back(duration("interference.perf_window",
                         KOORDLET_AT(interference.perf_window),
                         kSecond,
                         kMinute,
                         "counters are open for so long, rounded up to whole windows"));
  out.push_back(duration("interference.perf_interval",
                         KOORDLET_AT(interference.perf_interval),
                         2 * kSecond,
                         kHour,
                         "between two such readings; each window while a pod is interfered"));
  out.push_back(boolean("interference.psi_triggers",
                        KOORDLET_AT(interference.psi_triggers),
                        "PSI triggers of the kernel wake a tick, where it allows them"));
}

/// Both ends of a ramp: below lo it gives 0, from hi on 100.
template <class Access>
void add_ramp(std::vector<Setting>& out,
              const std::string& name,
              Access ramp,
              double per,
              std::int64_t most,
              const std::string& what) {
  const auto lo = [ramp](auto& c) -> auto& { return ramp(c).lo; };
  const auto hi = [ramp](auto& c) -> auto& { return ramp(c).hi; };
  out.push_back(parts("interference." + name + "_lo", lo, per, 0, most, what + ": counts above"));
  out.push_back(parts("interference." + name + "_hi", hi, per, 1, most, what + ": 100 from here"));
}

void add_rules(std::vector<Setting>& out) {
#define KOORDLET_RULE(member) KOORDLET_AT(interference.rules.member)
  add_ramp(out,
           "wait_ratio_permille",
           KOORDLET_RULE(wait_ratio),
           1000,
           10'000,
           "run-queue wait / run time, in thousandths");
  add_ramp(out, "wait_p95_ms", KOORDLET_RULE(wait_p95_ms), 1, 1000, "p95 of the wait");
  add_ramp(out, "cpu_full_percent", KOORDLET_RULE(cpu_full_percent), 1, 100, "PSI cpu full");
  add_ramp(out, "cpu_some_percent", KOORDLET_RULE(cpu_some_percent), 1, 100, "PSI cpu some");
  add_ramp(
      out, "memory_full_percent", KOORDLET_RULE(memory_full_percent), 1, 100, "PSI memory full");
  add_ramp(
      out, "memory_some_percent", KOORDLET_RULE(memory_some_percent), 1, 100, "PSI memory some");
  add_ramp(out, "io_full_percent", KOORDLET_RULE(io_full_percent), 1, 100, "PSI io full");
  add_ramp(out, "io_some_percent", KOORDLET_RULE(io_some_percent), 1, 100, "PSI io some");
  add_ramp(out,
           "cpi_z_tenths",
           KOORDLET_RULE(cpi_z),
           10,
           100,
           "CPI above the usual, in tenths of sigma");
  out.push_back(number("interference.mature_samples",
                       KOORDLET_RULE(mature_samples),
                       2,
                       10'000,
                       "CPI samples before a workload's usual CPI is known"));
  out.push_back(number("interference.enter_degree",
                       KOORDLET_RULE(enter_degree),
                       1,
                       100,
                       "interfered when 3 of the last 5 windows reach it"));
  out.push_back(number("interference.clear_degree",
                       KOORDLET_RULE(clear_degree),
                       1,
                       100,
                       "over when 5 windows in a row stay below it; not above enter_degree"));
#undef KOORDLET_RULE
}

}  // namespace

void add_interference(std::vector<Setting>& out) {
  add_collect(out);
  add_sources(out);
  add_rules(out);
}

}  // namespace koordlet::app
