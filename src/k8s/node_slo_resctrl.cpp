#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

ResctrlClass decode_class(const Fields& strategy, const char* name, const ResctrlClass& last) {
  const auto group = strategy.object(name);
  if (group.refused) return last;
  if (!group.value) return {};
  const auto section = group.value->object("resctrlQOS");
  if (section.refused) return last;
  if (!section.value) return {};
  const Fields& f = *section.value;
  ResctrlClass out;
  out.enable = f.boolean("enable").or_last(last.enable);
  out.start_percent = f.int_or_last("catRangeStartPercent", 0, 100, last.start_percent);
  out.end_percent = f.int_or_last("catRangeEndPercent", 0, 100, last.end_percent);
  out.mba_percent = f.int_or_last("mbaPercent", 0, 100, last.mba_percent);
  if (out.mba_percent == 0) out.mba_percent.reset();  // the original takes 0 for "not said"
  return out;
}

CpuQosClass decode_cpu_class(const Fields& strategy, const char* name, const CpuQosClass& last) {
  const auto group = strategy.object(name);
  if (group.refused) return last;
  if (!group.value) return {};
  const auto section = group.value->object("cpuQOS");
  if (section.refused) return last;
  if (!section.value) return {};
  const Fields& f = *section.value;
  CpuQosClass out;
  out.enable = f.boolean("enable").or_last(last.enable);
  out.group_identity = f.int_or_last("groupIdentity", -1, 2, last.group_identity);
  const auto idle = f.integer("schedIdle", 0, 1);
  if (idle.refused) {
    out.sched_idle = last.sched_idle;
  } else if (idle.value) {
    out.sched_idle = *idle.value == 1;
  }
  return out;
}

std::optional<bool> decode_cpu_policy(const Fields& strategy, const std::optional<bool>& last) {
  const auto policies = strategy.object("policies");
  if (policies.refused) return last;
  if (!policies.value) return std::nullopt;
  const auto text = policies.value->text("cpuPolicy");
  if (text.refused) return last;
  if (!text.value || text.value->empty()) return std::nullopt;
  if (*text.value == "coreSched") return true;
  if (*text.value == "groupIdentity") return false;
  policies.value->refuse("cpuPolicy", json::value(*text.value), "groupIdentity or coreSched");
  return last;
}

}  // namespace

ResctrlStrategy decode_resctrl(const Fields& strategy, const ResctrlStrategy& last) {
  return {decode_class(strategy, "lsrClass", last.lsr),
          decode_class(strategy, "lsClass", last.ls),
          decode_class(strategy, "beClass", last.be)};
}

CpuQosStrategy decode_cpu_qos(const Fields& strategy, const CpuQosStrategy& last) {
  return {decode_cpu_class(strategy, "lsrClass", last.lsr),
          decode_cpu_class(strategy, "lsClass", last.ls),
          decode_cpu_class(strategy, "beClass", last.be),
          decode_cpu_policy(strategy, last.core_sched)};
}

}  // namespace koordlet::k8s
