#include "modules/status_api/level_text.hpp"

#include <fmt/format.h>

namespace koordlet::status_api {

namespace {

std::string relax(const char* to, int enter_percent, const StatusView::Qos& qos) {
  const auto& p = qos.effective.pressure;
  return fmt::format("relaxes to {} when node use < {} % for {} samples ({} of {} so far)",
                     to,
                     enter_percent - p.exit_margin_percent,
                     p.relax_hold_samples,
                     qos.below_exit,
                     p.relax_hold_samples);
}

void add_factor_ramp(const StatusView::Qos& qos, std::vector<std::string>& out) {
  const auto& p = qos.effective.pressure;
  const int ceiling = qos.level == "HIGH"  ? p.factor_high_permille
                      : qos.level == "MID" ? p.factor_mid_permille
                                           : p.factor_none_permille;
  if (qos.factor_permille >= ceiling) return;
  out.push_back(fmt::format(
      "factor {} permille rises by at most {} a sample up to {}{}",
      qos.factor_permille,
      p.relax_step_permille,
      ceiling,
      p.relax_guard ? ", as long as the next level is not predicted to be reached" : ""));
}

}  // namespace

std::vector<std::string> next_level_changes(const StatusView& view) {
  const auto& qos = view.qos;
  const auto& p = qos.effective.pressure;
  if (qos.off || qos.effective.off) {
    return {
        "nothing: the policy is off; NodeSLO enable=true, or without_nodeslo = \"local\", turns "
        "it on"};
  }
  if (!p.enable) return {"nothing: the pressure levels are disabled (qos.pressure.enable)"};
  std::vector<std::string> out;
  if (!qos.raised_by.empty()) {
    out.push_back(fmt::format(
        "raised above {} (what the node's use says) by {}", qos.level_by_use, qos.raised_by));
  }
  if (qos.level == "HIGH") {
    out.push_back(relax("MID", p.high_percent, qos));
  } else if (qos.level == "MID") {
    out.push_back(fmt::format("rises to HIGH at node use >= {} %", p.high_percent));
    out.push_back(relax("NONE", p.mid_percent, qos));
  } else {
    out.push_back(fmt::format(
        "rises to MID at node use >= {} %, to HIGH at >= {} %", p.mid_percent, p.high_percent));
  }
  add_factor_ramp(qos, out);
  if (qos.hold_until && *qos.hold_until > view.now) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*qos.hold_until - view.now).count();
    out.push_back(fmt::format(
        "nothing relaxes for another {} s: the last step back up was followed by an escalation",
        left));
  }
  if (!qos.stale.empty()) {
    out.push_back(fmt::format("nothing relaxes while inputs are stale: {}", qos.stale));
  }
  return out;
}

std::optional<int> node_use_permyriad(const StatusView& view) {
  const bool known = view.signals && view.qos.ticks > 0 && view.state && view.state->node &&
                     view.state->node->cpu_capacity.v > 0;
  if (!known) return std::nullopt;
  return view.qos.use_permyriad;
}

}  // namespace koordlet::status_api
