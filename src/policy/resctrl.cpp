#include "policy/resctrl.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "policy/hands_off.hpp"

namespace koordlet::policy {
namespace {

constexpr const char* kOwnGroup = "node.koordinator.sh/resctrl";  // the pod has a group of its own

struct Class {
  const char* group;
  const ResctrlConfig::Class* config;
};

std::array<Class, 3> classes(const ResctrlConfig& config) {
  return {Class{kResctrlBe, &config.be},
          Class{kResctrlLs, &config.ls},
          Class{kResctrlLsr, &config.lsr}};
}

class Writer {
 public:
  Writer(const ResctrlState& machine, Decision<Resctrl::State>& out)
      : machine_{machine}, out_{out} {}

  void write(const Class& c) {
    ways(c);
    memory(c);
  }

 private:
  void ways(const Class& c) {
    if (machine_.l3_ids.empty()) return;
    const auto& cfg = *c.config;
    const auto mask =
        way_mask(machine_.cbm_mask, machine_.min_cbm_bits, cfg.start_percent, cfg.end_percent);
    if (!mask) {
      out_.state.faults.push_back(
          fmt::format("{}: ways {}-{} % of mask {:x}: expected a range "
                      "within 0 to 100 of a mask without gaps",
                      c.group,
                      cfg.start_percent,
                      cfg.end_percent,
                      machine_.cbm_mask));
      return;
    }
    const auto reason = fmt::format("{}: ways {}-{} % of {:x} = {:x}",
                                    c.group,
                                    cfg.start_percent,
                                    cfg.end_percent,
                                    machine_.cbm_mask,
                                    *mask);
    const auto value = static_cast<std::int64_t>(*mask);
    for (const int id : machine_.l3_ids) {
      if (machine_.cdp) {
        propose(c, CgroupFile::kResctrlL3Code, id, value, reason);
        propose(c, CgroupFile::kResctrlL3Data, id, value, reason);
      } else {
        propose(c, CgroupFile::kResctrlL3, id, value, reason);
      }
    }
  }

  void memory(const Class& c) {
    if (machine_.mb_ids.empty()) return;
    const int percent = c.config->mba_percent;
    const auto value = bandwidth(machine_, percent);
    if (!value) {
      // Nothing is lost while all bandwidth is wished: that is what a new group has.
      if (percent != 100) {
        out_.state.faults.push_back(fmt::format(
            "{}: memory bandwidth {} %: expected a machine that counts in percent or 1/8 GB/s",
            c.group,
            percent));
      }
      return;
    }
    const auto reason = fmt::format("{}: memory bandwidth {} % = {}", c.group, percent, *value);
    for (const int id : machine_.mb_ids) {
      propose(c, CgroupFile::kResctrlMb, id, *value, reason);
    }
  }

  void propose(
      const Class& c, CgroupFile file, int domain, std::int64_t value, const std::string& reason) {
    Proposal p;
    p.key = {CgroupPath{}.child(c.group), file, std::to_string(domain)};
    p.value = Number{value};
    p.role = Role::kCap;
    p.plugin = Resctrl::kName;
    p.reason = reason;
    out_.proposals.push_back(std::move(p));
    ++out_.state.settings;
  }

  const ResctrlState& machine_;
  Decision<Resctrl::State>& out_;
};

const char* group_of(QosClass qos) {
  switch (qos) {
    case QosClass::kLse:
    case QosClass::kLsr:
      return kResctrlLsr;
    case QosClass::kLs:
      return kResctrlLs;
    case QosClass::kBe:
      return kResctrlBe;
    case QosClass::kNone:
    case QosClass::kSystem:
      break;
  }
  return nullptr;
}

}  // namespace

std::optional<std::uint64_t> way_mask(std::uint64_t cbm, int min_bits, int start, int end) {
  const int ways = std::bit_width(cbm);
  const bool whole = cbm != 0 && ways < 64 && cbm == (std::uint64_t{1} << ways) - 1;
  if (!whole || start < 0 || start >= end || end > 100) return std::nullopt;
  const auto rounded_up = [ways](int percent) { return (ways * percent + 99) / 100; };
  const int least = std::clamp(min_bits, 1, ways);
  int low = rounded_up(start);
  int high = std::max(rounded_up(end), low + least);
  if (high > ways) {
    high = ways;
    low = std::min(low, ways - least);
  }
  return (std::uint64_t{1} << high) - (std::uint64_t{1} << low);
}

std::optional<std::int64_t> bandwidth(const ResctrlState& state, int percent) {
  if (percent < 1 || percent > 100 || state.megabytes) return std::nullopt;
  if (state.amd) {
    // 160 x 1/8 GB/s = 20 GB/s: 80 % of 25 GB/s, the original's measure; 2048 is "no limit".
    return percent == 100 ? 2048 : std::max(160 * percent / 100, 1);
  }
  const int step = std::max(state.bandwidth_gran, 1);
  const int up = (percent + step - 1) / step * step;
  return std::min(std::max(up, state.min_bandwidth), 100);
}

Decision<Resctrl::State> Resctrl::decide(const Snapshot& snap,
                                         const EffectiveConfig& config,
                                         State /*state*/) {
  Decision<State> out{};
  if (!snap.resctrl) return out;
  Writer writer{*snap.resctrl, out};
  for (const auto& c : classes(config.resctrl)) {
    if (c.config->enable && snap.resctrl->groups.contains(c.group)) writer.write(c);
  }
  return out;
}

std::string resctrl_group(const Pod& pod, const ResctrlConfig& config) {
  const char* name = group_of(qos_with_default(pod));
  if (name == nullptr || pod.annotations.contains(kOwnGroup)) return {};
  for (const auto& c : classes(config)) {
    if (c.config->enable && std::string_view{c.group} == name) return name;
  }
  return {};
}

ResctrlWish resctrl_wish(const NodeState& state,
                         const ResctrlConfig& config,
                         const std::vector<std::string>& hands_off_namespaces) {
  ResctrlWish out;
  for (const auto& c : classes(config)) {
    if (c.config->enable) out.groups[c.group];
  }
  if (out.groups.empty()) return out;
  for (const auto& pod : state.pods) {
    if (!is_active(*pod) || hands_off(*pod, hands_off_namespaces)) continue;
    const auto group = out.groups.find(resctrl_group(*pod, config));
    if (group != out.groups.end() && !pod->cgroup.is_root()) group->second.push_back(pod->cgroup);
  }
  for (auto& [name, paths] : out.groups) std::sort(paths.begin(), paths.end());
  return out;
}

}  // namespace koordlet::policy
