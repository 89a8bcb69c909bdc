#include <string>
#include <utility>

#include "app/config_table.hpp"

namespace koordlet::app {

void add_pressure(std::vector<Setting>& out) {
  const auto add_number =
      [&out](std::string name, auto at, std::int64_t min, std::int64_t max, std::string about) {
        out.push_back(number("qos.pressure." + name, at, min, max, std::move(about)));
      };
#define KOORDLET_PRESSURE(member) KOORDLET_AT(qos.policy.pressure.member)
  out.push_back(boolean("qos.pressure.enable",
                        KOORDLET_PRESSURE(enable),
                        "cap BE pods by the level of the node's CPU use"));
  add_number("mid_percent",
             KOORDLET_PRESSURE(mid_percent),
             1,
             99,
             "node CPU use that starts level MID; below high_percent");
  add_number("high_percent",
             KOORDLET_PRESSURE(high_percent),
             2,
             100,
             "node CPU use that starts level HIGH");
  add_number("exit_margin_percent",
             KOORDLET_PRESSURE(exit_margin_percent),
             0,
             98,
             "a level is left this many points below its start; below mid_percent");
  add_number("factor_none_permille",
             KOORDLET_PRESSURE(factor_none_permille),
             1,
             1000,
             "BE pod quota = request x factor, at level NONE");
  add_number("factor_mid_permille",
             KOORDLET_PRESSURE(factor_mid_permille),
             1,
             1000,
             "the same at level MID; not above factor_none_permille");
  add_number("factor_high_permille",
             KOORDLET_PRESSURE(factor_high_permille),
             1,
             1000,
             "the same at level HIGH; not above factor_mid_permille");
  add_number("relax_hold_samples",
             KOORDLET_PRESSURE(relax_hold_samples),
             1,
             3600,
             "samples in a row below the exit before a level is left");
  add_number("relax_step_permille",
             KOORDLET_PRESSURE(relax_step_permille),
             1,
             1000,
             "most that the factor rises in one evaluation");
  out.push_back(boolean("qos.pressure.relax_guard",
                        KOORDLET_PRESSURE(relax_guard),
                        "no step up that would, by prediction, start the next level"));
  out.push_back(boolean("qos.pressure.hold_doubling",
                        KOORDLET_PRESSURE(hold_doubling),
                        "a step up that had to be taken back within 3 s doubles the hold"));
  add_number("min_hold_seconds",
             KOORDLET_PRESSURE(min_hold_seconds),
             1,
             3600,
             "first hold after such a step");
  add_number("max_hold_seconds",
             KOORDLET_PRESSURE(max_hold_seconds),
             1,
             86'400,
             "the hold grows no further; not below min_hold_seconds");
  out.push_back(boolean("qos.pressure.raise_by_psi",
                        KOORDLET_PRESSURE(raise_by_psi),
                        "CPU stalls of latency-sensitive pods, less their own throttling, may "
                        "raise the level"));
  out.push_back(boolean("qos.pressure.raise_by_interference",
                        KOORDLET_PRESSURE(raise_by_interference),
                        "interference that best effort causes may raise the level"));
  add_number("psi_mid_percent",
             KOORDLET_PRESSURE(psi_mid_percent),
             1,
             99,
             "share of the time in which all tasks of a pod stall that raises to MID; below "
             "psi_high_percent");
  add_number("psi_high_percent", KOORDLET_PRESSURE(psi_high_percent), 2, 100, "the same for HIGH");
  add_number("degree_mid",
             KOORDLET_PRESSURE(degree_mid),
             1,
             99,
             "interference by best effort, of 100, that raises to MID; below degree_high");
  add_number("degree_high", KOORDLET_PRESSURE(degree_high), 2, 100, "the same for HIGH");
  add_number("raise_min_be_percent",
             KOORDLET_PRESSURE(raise_min_be_percent),
             0,
             100,
             "of the node's CPU: while best effort uses less, it cannot be the cause");
  add_number("min_quota_us",
             KOORDLET_PRESSURE(min_quota_us),
             1000,
             100'000,
             "smallest pod quota in a period of 100 ms; the kernel refuses less than 1000");
  add_number("default_request_milli",
             KOORDLET_PRESSURE(default_request_milli),
             0,
             1'000'000,
             "request taken for a BE pod without one; 0: it shares the cap of the BE root");
#undef KOORDLET_PRESSURE
}

}  // namespace koordlet::app
