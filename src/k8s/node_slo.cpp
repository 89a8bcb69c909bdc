#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/cgroup.hpp"
#include "base/parse.hpp"
#include "k8s/fields.hpp"
#include "k8s/manifest.hpp"
#include "k8s/metadata.hpp"
#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

std::optional<SuppressPolicy> suppress_policy(const Fields& fields,
                                              const std::optional<SuppressPolicy>& last) {
  const auto text = fields.text("cpuSuppressPolicy");
  if (text.refused) return last;
  if (!text.value || text.value->empty()) return std::nullopt;
  if (*text.value == "cpuset") return SuppressPolicy::kCpuset;
  if (*text.value == "cfsQuota") return SuppressPolicy::kCfsQuota;
  if (*text.value == "podQuota") return SuppressPolicy::kPodQuota;
  fields.refuse("cpuSuppressPolicy", json::value(*text.value), "cpuset, cfsQuota or podQuota");
  return last;
}

std::optional<ThresholdStrategy> decode_threshold(const Fields& spec,
                                                  const std::optional<ThresholdStrategy>& last) {
  const auto section = spec.object("resourceUsedThresholdWithBE");
  if (section.refused) return last;
  if (!section.value) return std::nullopt;
  const Fields& f = *section.value;
  const ThresholdStrategy old = last.value_or(ThresholdStrategy{});
  ThresholdStrategy out;
  out.enable = f.boolean("enable").or_last(old.enable);
  out.cpu_suppress_threshold_percent =
      f.int_or_last("cpuSuppressThresholdPercent", 0, 100, old.cpu_suppress_threshold_percent);
  out.cpu_suppress_min_percent =
      f.int_or_last("cpuSuppressMinPercent", 0, 100, old.cpu_suppress_min_percent);
  out.cpu_suppress_policy = suppress_policy(f, old.cpu_suppress_policy);
  out.memory_evict_threshold_percent =
      f.int_or_last("memoryEvictThresholdPercent", 0, 100, old.memory_evict_threshold_percent);
  out.memory_evict_lower_percent =
      f.int_or_last("memoryEvictLowerPercent", 0, 100, old.memory_evict_lower_percent);
  out.evict = decode_evict_thresholds(f, old.evict);
  return out;
}

/// The wire form of the Go type is extensions.Object.<key>; a key right below extensions is what
/// people write by hand. The first that is there wins.
Read<Fields> find_pressure(const Fields& spec) {
  const auto extensions = spec.object("extensions");
  if (!extensions.value) return {std::nullopt, extensions.refused};
  const auto inner = extensions.value->object("Object");
  if (inner.value && inner.value->find("qosPressure") != nullptr) {
    return inner.value->object("qosPressure");
  }
  return extensions.value->object("qosPressure");
}

std::optional<PressureStrategy> decode_pressure(const Fields& spec,
                                                const std::optional<PressureStrategy>& last) {
  const auto section = find_pressure(spec);
  if (section.refused) return last;
  if (!section.value) return std::nullopt;
  const Fields& f = *section.value;
  const PressureStrategy old = last.value_or(PressureStrategy{});
  const auto any =
      [](const Fields& fields, std::string_view key, const std::optional<int>& before) {
        constexpr auto kLow = std::numeric_limits<int>::min();
        constexpr auto kHigh = std::numeric_limits<int>::max();
        return fields.int_or_last(key, kLow, kHigh, before);
      };
  PressureStrategy out;
  out.enable = f.boolean("enable").or_last(old.enable);
  out.mid_percent = any(f, "midPercent", old.mid_percent);
  out.high_percent = any(f, "highPercent", old.high_percent);
  out.exit_margin_percent = any(f, "exitMarginPercent", old.exit_margin_percent);
  out.relax_hold_samples = any(f, "relaxHoldSamples", old.relax_hold_samples);
  out.relax_step_permille = any(f, "relaxStepPermille", old.relax_step_permille);
  out.relax_guard = f.boolean("relaxGuard").or_last(old.relax_guard);
  out.raise_by_psi = f.boolean("raiseByPsi").or_last(old.raise_by_psi);
  out.raise_by_interference = f.boolean("raiseByInterference").or_last(old.raise_by_interference);
  out.psi_mid_percent = any(f, "psiMidPercent", old.psi_mid_percent);
  out.psi_high_percent = any(f, "psiHighPercent", old.psi_high_percent);
  out.degree_mid = any(f, "degreeMid", old.degree_mid);
  out.degree_high = any(f, "degreeHigh", old.degree_high);
  out.raise_min_be_percent = any(f, "raiseMinBePercent", old.raise_min_be_percent);
  out.min_quota_us = any(f, "minQuotaUs", old.min_quota_us);
  out.burst_gate_percent = any(f, "burstGatePercent", old.burst_gate_percent);
  out.default_request_milli = any(f, "defaultRequestMilli", old.default_request_milli);
  const auto factors = f.object("factorPermille");
  if (factors.refused) {
    out.factor_none_permille = old.factor_none_permille;
    out.factor_mid_permille = old.factor_mid_permille;
    out.factor_high_permille = old.factor_high_permille;
  } else if (factors.value) {
    out.factor_none_permille = any(*factors.value, "none", old.factor_none_permille);
    out.factor_mid_permille = any(*factors.value, "mid", old.factor_mid_permille);
    out.factor_high_permille = any(*factors.value, "high", old.factor_high_permille);
  }
  return out;
}

std::string_view without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

/// A part of a cgroup path; slashes at its ends are dropped, absent is empty.
std::optional<std::string> path_part(const Fields& fields, std::string_view key) {
  const auto text = fields.text(key);
  if (text.refused) return std::nullopt;
  const auto path = CgroupPath::parse(without_slashes(text.value ? *text.value : ""));
  if (path) return path->str();
  fields.refuse(key, json::value(*text.value), "a relative cgroup path");
  return std::nullopt;
}

bool decode_cgroup_path(const Fields& fields, HostApplication& app) {
  constexpr std::array<std::string_view, 4> kBases{
      "CgroupRoot", "Kubepods", "KubepodsBurstable", "KubepodsBesteffort"};
  const auto base = fields.text("base");
  const auto parent = path_part(fields, "parentDir");
  const auto relative = path_part(fields, "relativePath");
  if (base.refused || !parent || !relative) return false;
  app.base = base.value && !base.value->empty() ? *base.value : std::string{kBases[0]};
  if (std::find(kBases.begin(), kBases.end(), app.base) == kBases.end()) {
    fields.refuse("base",
                  json::value(app.base),
                  "CgroupRoot, Kubepods, KubepodsBurstable or KubepodsBesteffort");
    return false;
  }
  if (parent->empty() && relative->empty()) {
    // The base itself holds the whole machine or all pods: that is no application.
    fields.refuse("relativePath", "absent: expected a directory below the base");
    return false;
  }
  app.parent_dir = *parent;
  app.relative_path = *relative;
  return true;
}

std::optional<HostApplication> decode_host_application(const Fields& fields) {
  HostApplication app;
  const auto name = fields.text("name");
  if (name.refused) return std::nullopt;
  const auto component = CgroupPath::parse(name.value.value_or(""));
  if (!component || component->depth() != 1) {
    fields.refuse(
        "name", json::value(name.value.value_or("")), "a cgroup name of [A-Za-z0-9_.:@-]");
    return std::nullopt;
  }
  app.name = *name.value;
  const auto qos = fields.text("qos");
  if (qos.refused) return std::nullopt;
  const auto label = qos.value.value_or("");
  const auto known = parse_qos_class(label);
  if (known == QosClass::kNone && !label.empty()) {
    fields.refuse("qos", json::value(label), "LSE, LSR, LS, BE or SYSTEM");
    return std::nullopt;
  }
  app.qos = known == QosClass::kSystem ? "" : label;
  const auto priority = fields.text("priority");
  if (priority.refused) return std::nullopt;
  app.priority = priority.value.value_or("");
  const auto path = fields.object("cgroupPath");
  if (path.refused) return std::nullopt;
  if (path.value && !decode_cgroup_path(*path.value, app)) return std::nullopt;
  return app;
}

/// A refused application keeps its last good form, found by its name; a refused list keeps the
/// list.
std::vector<HostApplication> decode_host_applications(const Fields& spec,
                                                      const std::vector<HostApplication>& last) {
  const auto* present = spec.find("hostApplications");
  const auto* list = spec.array("hostApplications");
  if (list == nullptr) return present != nullptr ? last : std::vector<HostApplication>{};
  std::vector<HostApplication> out;
  const auto has = [&out](std::string_view name) {
    return std::any_of(out.begin(), out.end(), [&](const auto& a) { return a.name == name; });
  };
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto at = fmt::format("hostApplications[{}]", i);
    const json::value& item = (*list)[i];
    if (!item.is_object()) {
      spec.refuse(at, item, "an object");
      continue;
    }
    const Fields fields{item.get_object(), spec.path(at), spec.refusals()};
    auto app = decode_host_application(fields);
    if (!app) {
      const auto* name = item.get_object().if_contains("name");
      const auto before = std::find_if(last.begin(), last.end(), [name](const HostApplication& a) {
        return name != nullptr && name->is_string() &&
               a.name == std::string_view{name->get_string()};
      });
      if (before != last.end() && !has(before->name)) out.push_back(*before);
    } else if (has(app->name)) {
      fields.refuse("name", json::value(app->name), "a name of its own");
    } else {
      out.push_back(std::move(*app));
    }
  }
  return out;
}

void decode_levers(const Fields& spec, const NodeSlo& old, NodeSlo& out) {
  const auto strategy = spec.object("resourceQOSStrategy");
  if (strategy.refused) {
    out.resctrl = old.resctrl;
    out.cpu_qos = old.cpu_qos;
    out.blkio = old.blkio;
  } else if (strategy.value) {
    out.resctrl = decode_resctrl(*strategy.value, old.resctrl);
    out.cpu_qos = decode_cpu_qos(*strategy.value, old.cpu_qos);
    out.blkio = decode_blkio(*strategy.value, old.blkio);
  }
}

}  // namespace

Result<NodeSloResult> decode_node_slo(const json::value& object, const NodeSlo* last) {
  auto found = find_metadata(object, "nodeslo");
  if (!found) return found.error();
  NodeSloResult out;
  out.name = found->name;
  Refusals refusals{fmt::format("nodeslo {}", out.name)};
  const Fields root{object.get_object(), "", refusals};
  const NodeSlo none;
  const NodeSlo& old = last != nullptr ? *last : none;
  const auto spec = root.object("spec");
  if (spec.refused) {
    out.slo = old;
  } else if (spec.value) {
    out.slo.threshold = decode_threshold(*spec.value, old.threshold);
    out.slo.pressure = decode_pressure(*spec.value, old.pressure);
    out.slo.system = decode_system(*spec.value, old.system);
    decode_levers(*spec.value, old, out.slo);
    out.slo.burst = decode_burst(*spec.value, old.burst);
    out.slo.memory_qos = decode_memory_qos(*spec.value, old.memory_qos);
    out.slo.host_applications = decode_host_applications(*spec.value, old.host_applications);
  }
  out.faults = refusals.take();
  return out;
}

}  // namespace koordlet::k8s
