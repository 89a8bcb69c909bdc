#include "app/config_table.hpp"

namespace koordlet::app {
namespace {

/// The three percents of one class.
template <class Access>
void add_share(std::vector<Setting>& out,
               const std::string& name,
               Access share,
               const std::string& built_in) {
  const auto min = [share](auto& c) -> auto& { return share(c).min_percent; };
  const auto low = [share](auto& c) -> auto& { return share(c).low_percent; };
  const auto high = [share](auto& c) -> auto& { return share(c).throttling_percent; };
  const std::string key = "qos.memory_qos." + name;
  out.push_back(optional_number(
      key + "_min_percent", min, 0, 100, "memory.min as a share of the request; " + built_in));
  out.push_back(
      optional_number(key + "_low_percent", low, 0, 100, "memory.low as a share of the request"));
  out.push_back(optional_number(key + "_throttling_percent",
                                high,
                                0,
                                100,
                                "memory.high on the way from request to limit; 0: no bound"));
}

void add_soften(std::vector<Setting>& out) {
#define KOORDLET_SOFTEN(member) KOORDLET_AT(qos.policy.memory_soften.member)
  out.push_back(choice<std::optional<bool>>(
      "qos.memory_soften.enable",
      KOORDLET_SOFTEN(enable),
      {{"auto", std::nullopt}, {"yes", true}, {"no", false}},
      "squeeze BE by memory.high before anything is evicted (v2); auto: where memory_evict is on"));
  out.push_back(number("qos.memory_soften.start_points",
                       KOORDLET_SOFTEN(start_points),
                       1,
                       50,
                       "starts so many percent points under memory_evict.threshold_percent"));
  out.push_back(number("qos.memory_soften.lift_points",
                       KOORDLET_SOFTEN(lift_points),
                       2,
                       60,
                       "lifted so many points under it; more than start_points"));
  out.push_back(number("qos.memory_soften.step_percent",
                       KOORDLET_SOFTEN(step_percent),
                       1,
                       50,
                       "most of BE's use that one step takes"));
  out.push_back(duration("qos.memory_soften.step",
                         KOORDLET_SOFTEN(step_seconds),
                         kSecond,
                         kMinute,
                         "between two steps"));
  out.push_back(duration("qos.memory_soften.patience",
                         KOORDLET_SOFTEN(patience_seconds),
                         kSecond,
                         10 * kMinute,
                         "how long over the threshold eviction waits for it"));
  out.push_back(number("qos.memory_soften.over_points",
                       KOORDLET_SOFTEN(over_points),
                       1,
                       50,
                       "so many points over the threshold eviction does not wait"));
  out.push_back(size("qos.memory_soften.reclaim",
                     KOORDLET_SOFTEN(reclaim.v),
                     0,
                     64 * kMiB,
                     "most that one memory.reclaim takes, when a step's limit did not bring BE "
                     "down (Linux 5.19); 0: never"));
#undef KOORDLET_SOFTEN
}

}  // namespace

void add_memory(std::vector<Setting>& out) {
#define KOORDLET_MEMORY(member) KOORDLET_AT(qos.policy.memory_qos.member)
  out.push_back(choice<std::optional<bool>>(
      "qos.memory_qos.enable",
      KOORDLET_MEMORY(enable),
      {{"auto", std::nullopt}, {"yes", true}, {"no", false}},
      "auto: without a NodeSLO in profile pressure; a class that the NodeSLO switches goes by it"));
  add_share(out, "lsr", KOORDLET_MEMORY(lsr_share), "\"none\": 100, low 100 without a NodeSLO");
  add_share(out, "ls", KOORDLET_MEMORY(ls_share), "\"none\": untouched, low 50 without a NodeSLO");
  add_share(
      out, "be", KOORDLET_MEMORY(be_share), "\"none\": untouched, throttling 80 without a NodeSLO");
  out.push_back(number("qos.memory_qos.min_bound_percent",
                       KOORDLET_MEMORY(min_bound_percent),
                       0,
                       100,
                       "most of MemTotal that memory.min of all pods may sum to; the rest becomes "
                       "memory.low"));
  out.push_back(boolean("qos.memory_qos.annotations",
                        KOORDLET_MEMORY(annotations),
                        "obey koordinator.sh/memoryQOS of pods, within the values of their class"));
#undef KOORDLET_MEMORY
  add_soften(out);
}

}  // namespace koordlet::app
