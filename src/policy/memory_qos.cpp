#include "policy/memory_qos.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/memory_values.hpp"

namespace koordlet::policy {
namespace {

/// One pod and what it gets.
struct Entry {
  const Pod* pod;
  MemoryQosStrategy rule;
  MemoryAsk ask;
  MemoryProtection wanted;
};

std::vector<Entry> entries(const Snapshot& snap, const MemoryQosConfig& config) {
  std::vector<Entry> out;
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || pod->cgroup.is_root()) continue;
    auto rule = pod_memory_rule(*pod, config);
    if (!rule) continue;
    Entry e{pod.get(), std::move(*rule), memory_ask(*pod), {}};
    e.wanted = memory_protection(e.ask.request, e.rule);
    out.push_back(std::move(e));
  }
  return out;
}

/// MemTotal as the kernel says, else as the Node object does.
std::optional<Bytes> memory_total(const Snapshot& snap) {
  if (snap.signals && snap.signals->memory_total) return snap.signals->memory_total;
  if (snap.state->node && snap.state->node->memory_capacity.v > 0) {
    return snap.state->node->memory_capacity;
  }
  return std::nullopt;
}

/// Collects proposals of one plugin.
class Writer {
 public:
  explicit Writer(const Snapshot& snap) : snap_{snap} {}

  void bytes(
      const CgroupPath& path, CgroupFile file, MemoryBound value, Role role, std::string why) {
    add(path, file, value, role, std::move(why));
  }
  void number(const CgroupPath& path,
              CgroupFile file,
              const std::optional<int>& value,
              std::string_view why) {
    if (value) add(path, file, Number{*value}, Role::kBase, std::string{why});
  }
  void protection(const CgroupPath& path, const MemoryProtection& p, const std::string& why) {
    if (p.min) bytes(path, CgroupFile::kMemoryMin, MemoryBound{*p.min}, Role::kBase, why);
    if (p.low) bytes(path, CgroupFile::kMemoryLow, MemoryBound{*p.low}, Role::kBase, why);
  }
  /// Files that a class or a pod names one by one.
  void named(const CgroupPath& path, const MemoryQosStrategy& rule, std::string_view why) {
    number(path, CgroupFile::kMemoryOomGroup, rule.oom_kill_group, why);
    if (!snap_.has_memory_vendor) return;
    number(path, CgroupFile::kMemoryWmarkRatio, rule.wmark_ratio, why);
    number(path, CgroupFile::kMemoryWmarkScale, rule.wmark_scale_permill, why);
    number(path, CgroupFile::kMemoryWmarkMinAdj, rule.wmark_min_adj, why);
    priority(path, rule, why);
  }
  void priority(const CgroupPath& path, const MemoryQosStrategy& rule, std::string_view why) {
    if (!snap_.has_memory_vendor) return;
    number(path, CgroupFile::kMemoryPriority, rule.priority, why);
    number(path, CgroupFile::kMemoryUsePriorityOom, rule.priority_enable, why);
  }
  void page_cache(const CgroupPath& path, const PageCacheLimit& limit) {
    if (!snap_.has_page_cache_limit) return;
    const auto flag = [&](CgroupFile file, const std::optional<bool>& value) {
      if (value) number(path, file, *value ? 1 : 0, "page-cache limit of the pod");
    };
    if (limit.size) {
      bytes(path,
            CgroupFile::kPageCacheLimitSize,
            MemoryBound{*limit.size},
            Role::kBase,
            "page-cache limit of the pod");
    }
    flag(CgroupFile::kPageCacheLimitEnable, limit.enable);
    flag(CgroupFile::kPageCacheLimitSync, limit.sync);
  }
  std::vector<Proposal> take() { return std::move(out_); }

 private:
  void add(const CgroupPath& path, CgroupFile file, CgroupValue value, Role role, std::string why) {
    Proposal p;
    p.key = {path, file};
    p.value = std::move(value);
    p.role = role;
    p.plugin = MemoryQos::kName;
    p.reason = std::move(why);
    out_.push_back(std::move(p));
  }
  const Snapshot& snap_;
  std::vector<Proposal> out_;
};

std::string share_text(const MemoryQosStrategy& rule, Bytes request, int permille) {
  std::string out = fmt::format("request {}:", request.v);
  if (rule.min_percent) out += fmt::format(" min {} %", *rule.min_percent);
  if (rule.min_percent && permille < 1000) out += fmt::format(" x {} permille", permille);
  if (rule.low_percent) out += fmt::format(" low {} %", *rule.low_percent);
  return out;
}

void write_container(Writer& out,
                     const Container& c,
                     const Entry& e,
                     const std::optional<Bytes>& allocatable,
                     int permille) {
  const MemoryAsk ask = memory_ask(c, e.pod->qos == QosClass::kBe);
  const auto values = container_memory(ask, e.rule, allocatable, permille);
  out.protection(*c.cgroup, values.protection, share_text(e.rule, ask.request, permille));
  if (values.high) {
    const auto bound = ask.limit     ? fmt::format("limit {}", ask.limit->v)
                       : allocatable ? fmt::format("allocatable {}", allocatable->v)
                                     : std::string{"no limit"};
    out.bytes(*c.cgroup,
              CgroupFile::kMemoryHigh,
              *values.high,
              Role::kCap,
              fmt::format("throttled from {} % between request {} and {}",
                          *e.rule.throttling_percent,
                          ask.request.v,
                          bound));
  }
  out.named(*c.cgroup, e.rule, "as its class or annotation says");
}

/// The three class groups, the kubepods root among them, with what is below each.
struct Groups {
  std::map<CgroupPath, MemoryProtection> sums;  ///< of the pods right below, by group
  std::map<CgroupPath, KubeQos> tiers;          ///< the groups below kubepods
  CgroupPath root;                              ///< kubepods; the root path: not known

  void add_pod(const Pod& pod, const MemoryProtection& p) {
    const CgroupPath group = pod.cgroup.parent();
    if (group.is_root()) return;
    if (pod.kube_qos == KubeQos::kGuaranteed) {
      root = group;
    } else {
      if (group.parent().is_root()) return;
      root = group.parent();
      tiers.emplace(group, pod.kube_qos);
      add(sums[group], p);
    }
    add(sums[root], p);  // the root carries all three classes
  }
};

void write_groups(Writer& out, const Groups& groups, const MemoryQosConfig& config) {
  for (const auto& [path, sum] : groups.sums) {
    out.protection(path, sum, "sum of the pods below it");
  }
  if (groups.root.is_root()) return;
  if (config.lsr.enable) out.priority(groups.root, config.lsr.values, "class LSR");
  for (const auto& [path, tier] : groups.tiers) {
    const bool be = tier == KubeQos::kBestEffort;
    const MemoryClass& of_class = be ? config.be : config.ls;
    if (of_class.enable) out.priority(path, of_class.values, be ? "class BE" : "class LS");
  }
}

void note_available(MemoryQos::Summary& sum,
                    const Snapshot& snap,
                    const std::vector<Entry>& all,
                    int stale_seconds) {
  const NodeSignals* signals = fresh_signals(snap, stale_seconds);
  if (signals == nullptr || !signals->memory_total || !signals->memory_used) return;
  Wide kept = 0;
  for (const auto& e : all) {
    const Bytes min = bounded(e.wanted, sum.min_permille).min.value_or(Bytes{});
    if (min.v == 0) continue;
    const auto usage = snap.pods.find(e.pod->uid);
    const bool known = usage != snap.pods.end() && usage->second.memory &&
                       usage->second.memory_with_cache &&
                       snap.now - usage->second.at <= snap.usage_valid;
    if (!known) {
      ++sum.unmeasured;
      continue;
    }
    kept += protected_cache(*usage->second.memory, *usage->second.memory_with_cache, min).v;
  }
  const Bytes free = *signals->memory_total - *signals->memory_used;
  const auto most = std::max<Wide>(free.v, 0);
  sum.protected_cache = Bytes{
      static_cast<std::int64_t>(std::min<Wide>(kept, std::numeric_limits<std::int64_t>::max()))};
  sum.available = Bytes{static_cast<std::int64_t>(std::max<Wide>(most - kept, 0))};
}

}  // namespace

Decision<MemoryQos::State> MemoryQos::decide(const Snapshot& snap,
                                             const EffectiveConfig& config,
                                             State) {
  Decision<State> out;
  Summary& sum = out.state.summary;
  const MemoryQosConfig& cfg = config.memory_qos;
  sum.on = cfg.any();
  const auto all = sum.on ? entries(snap, cfg) : std::vector<Entry>{};
  const auto total = memory_total(snap);
  if (sum.on && !snap.has_memory_min) {
    sum.why = "this kernel has no memory.min on cgroup v1";
  } else if (sum.on && !total) {
    sum.why = "the node's memory is unknown: no bound for memory.min";
  }
  if (!sum.on || !sum.why.empty()) {
    note_available(sum, snap, {}, config.node_stale_seconds);
    return out;
  }

  MemoryProtection wanted;
  for (const auto& e : all) add(wanted, e.wanted);
  sum.min_wanted = wanted.min.value_or(Bytes{});
  sum.min_permille = bound_permille(sum.min_wanted, *total, cfg.min_bound_percent);
  std::optional<Bytes> allocatable;
  if (snap.state->node) allocatable = snap.state->node->memory_allocatable;

  Writer writer{snap};
  Groups groups;
  MemoryProtection given_sum;
  for (const auto& e : all) {
    const auto given = bounded(e.wanted, sum.min_permille);
    writer.protection(e.pod->cgroup, given, share_text(e.rule, e.ask.request, sum.min_permille));
    writer.named(e.pod->cgroup, e.rule, "as its class or annotation says");
    writer.page_cache(e.pod->cgroup, page_cache_limit(e.rule, e.ask.limit));
    groups.add_pod(*e.pod, given);
    add(given_sum, given);
    for (const auto& c : e.pod->containers) {
      if (!c.running || c.init || !c.cgroup || c.cgroup->is_root()) continue;
      write_container(writer, c, e, allocatable, sum.min_permille);
    }
  }
  sum.min_sum = given_sum.min.value_or(Bytes{});
  sum.low_sum = given_sum.low.value_or(Bytes{});
  sum.pods = static_cast<int>(all.size());
  write_groups(writer, groups, cfg);
  note_available(sum, snap, all, config.node_stale_seconds);
  out.proposals = writer.take();
  return out;
}

}  // namespace koordlet::policy
