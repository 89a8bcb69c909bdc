#include "modules/status_api/qos_sections_json.hpp"

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {
namespace {

template <class T>
json::value or_null(const std::optional<T>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

json::value policy_text(BurstPolicy policy) {
  switch (policy) {
    case BurstPolicy::kNone:
      return "none";
    case BurstPolicy::kCpuBurstOnly:
      return "cpuBurstOnly";
    case BurstPolicy::kCfsQuotaBurstOnly:
      return "cfsQuotaBurstOnly";
    case BurstPolicy::kAuto:
      return "auto";
  }
  return nullptr;
}

json::object share(const policy::MemoryClass& of_class) {
  return {{"enable", of_class.enable},
          {"min_percent", or_null(of_class.values.min_percent)},
          {"low_percent", or_null(of_class.values.low_percent)},
          {"throttling_percent", or_null(of_class.values.throttling_percent)}};
}

json::object reclaims(const StatusView& view) {
  const auto& s = view.qos.memory_soften;
  const auto& ends = view.qos.reclaims;
  return {{"supported", s.can_reclaim},
          {"asks", s.reclaims},
          {"asked_bytes", s.reclaim ? json::value(s.reclaim->amount.v) : json::value(nullptr)},
          {"why", s.reclaim ? text_value(s.reclaim->reason, {}) : json::value(nullptr)},
          {"done", ends.done},
          {"part", ends.part},
          {"failed", ends.failed}};
}

}  // namespace

json::object burst_json(const StatusView& view) {
  const auto& cfg = view.qos.effective.burst;
  const auto& s = view.qos.burst;
  return {{"enable", cfg.enable.value_or(false)},
          {"policy", policy_text(cfg.policy)},
          {"burst_percent", or_null(cfg.burst_percent)},
          {"quota_percent", cfg.quota_percent},
          {"period_seconds", cfg.period_seconds},
          {"pool_percent", cfg.pool_percent},
          {"gate_percent", or_null(cfg.gate_percent)},
          {"pool", text_value(policy::to_string(s.pool), {})},
          {"pool_permille", or_null(s.pool_permille)},
          {"gate_open", s.gate_open},
          {"why", text_or_null(s.why)},
          {"bursting", s.bursting},
          {"boosted", s.boosted},
          {"denied", s.denied}};
}

json::object memory_qos_json(const StatusView& view) {
  const auto& cfg = view.qos.effective.memory_qos;
  const auto& s = view.qos.memory_qos;
  return {{"lsr", share(cfg.lsr)},
          {"ls", share(cfg.ls)},
          {"be", share(cfg.be)},
          {"system", share(cfg.system)},
          {"min_bound_percent", cfg.min_bound_percent},
          {"why", text_or_null(s.why)},
          {"pods", s.pods},
          {"min_wanted_bytes", s.min_wanted.v},
          {"min_bytes", s.min_sum.v},
          {"low_bytes", s.low_sum.v},
          {"min_permille", s.min_permille},
          {"protected_cache_bytes", quantity(s.protected_cache)},
          {"available_bytes", quantity(s.available)},
          {"unmeasured", s.unmeasured}};
}

json::object idle_buffer_json(const StatusView& view) {
  const auto& cfg = view.qos.effective.idle_buffer;
  const auto& s = view.qos.idle_buffer;
  return {{"cores", cfg.cores},
          {"hysteresis", cfg.hysteresis},
          {"by", s.by_cpuset ? "cpuset" : "quota"},
          {"why", text_or_null(s.why)},
          {"allowance_milli", quantity(s.allowance)},
          {"cpuset", s.cpuset ? text_value(s.cpuset->to_string(), {}) : nullptr},
          {"idle_milli", quantity(s.idle)},
          {"room_milli", quantity(s.room)},
          {"cuts", s.cuts},
          {"steps", s.steps}};
}

json::object memory_soften_json(const StatusView& view) {
  const auto& s = view.qos.memory_soften;
  return {{"phase", text_value(policy::to_string(s.phase), {})},
          {"why", text_or_null(s.why)},
          {"high_bytes", quantity(s.high)},
          {"floor_bytes", s.floor.v > 0 ? json::value(s.floor.v) : json::value(nullptr)},
          {"steps", s.steps},
          {"eviction_waits", policy::softening_holds(s, view.now)},
          {"reclaim", reclaims(view)}};
}

}  // namespace koordlet::status_api
