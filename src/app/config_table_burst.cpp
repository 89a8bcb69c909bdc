#include "app/config_table.hpp"

namespace koordlet::app {

void add_burst(std::vector<Setting>& out) {
#define KOORDLET_BURST(member) KOORDLET_AT(qos.policy.burst.member)
  out.push_back(choice<std::optional<bool>>(
      "qos.burst.enable",
      KOORDLET_BURST(enable),
      {{"auto", std::nullopt}, {"yes", true}, {"no", false}},
      "auto: without a NodeSLO in profile pressure; a policy that the NodeSLO names switches it "
      "on"));
  out.push_back(choice<BurstPolicy>("qos.burst.policy",
                                    KOORDLET_BURST(policy),
                                    {{"none", BurstPolicy::kNone},
                                     {"cpuBurstOnly", BurstPolicy::kCpuBurstOnly},
                                     {"cfsQuotaBurstOnly", BurstPolicy::kCfsQuotaBurstOnly},
                                     {"auto", BurstPolicy::kAuto}},
                                    "static burst, quota burst, or both"));
  out.push_back(optional_number("qos.burst.burst_percent",
                                KOORDLET_BURST(burst_percent),
                                0,
                                10'000,
                                "static burst as a share of the limit, never above the quota; "
                                "\"none\": 50, profile koordinator 1000"));
  out.push_back(number("qos.burst.quota_percent",
                       KOORDLET_BURST(quota_percent),
                       100,
                       10'000,
                       "most that the quota of a throttled container grows to"));
  out.push_back(number("qos.burst.period_seconds",
                       KOORDLET_BURST(period_seconds),
                       -1,
                       86'400,
                       "how long the largest boost may last; -1: no budget; not 0"));
  out.push_back(number("qos.burst.pool_percent",
                       KOORDLET_BURST(pool_percent),
                       0,
                       100,
                       "use of the shared CPUs without BE at which boosts are taken back"));
  out.push_back(optional_number("qos.burst.gate_percent",
                                KOORDLET_BURST(gate_percent),
                                1,
                                100,
                                "node CPU use at which bursting stops, until 5 points less; "
                                "\"none\": 60, profile koordinator no gate"));
  out.push_back(boolean(
      "qos.burst.gate_static", KOORDLET_BURST(gate_static), "the gate closes static burst too"));
  out.push_back(duration("qos.burst.shrink_after",
                         KOORDLET_BURST(shrink_seconds),
                         kSecond,
                         24 * kHour,
                         "so long idle and not throttled: a boost shrinks"));
  out.push_back(boolean("qos.burst.annotations",
                        KOORDLET_BURST(annotations),
                        "obey koordinator.sh/cpuBurst of pods, within the next two"));
  out.push_back(number("qos.burst.annotation_max_burst_percent",
                       KOORDLET_BURST(annotation_max_burst_percent),
                       0,
                       10'000,
                       "most that an annotation may ask for, or the node's own if that is more"));
  out.push_back(number("qos.burst.annotation_max_quota_percent",
                       KOORDLET_BURST(annotation_max_quota_percent),
                       100,
                       10'000,
                       "the same for the quota"));
#undef KOORDLET_BURST
}

}  // namespace koordlet::app
