#include "policy/arbiter.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

/// True when `a` grants a smaller share of CPU time than `b`; periods may differ.
bool grants_less(const CpuMax& a, const CpuMax& b) {
  if (!a.quota.bound() || !b.quota.bound()) return a.quota < b.quota;
  return Wide{a.quota.bound()->count()} * b.period.count() <
         Wide{b.quota.bound()->count()} * a.period.count();
}

CgroupValue stricter_cpu_max(const CpuMax& a, const CpuMax& b) {
  if (grants_less(a, b)) return a;
  if (grants_less(b, a)) return b;
  return a.period <= b.period ? a : b;  // same share: any choice that ignores the order
}

CgroupValue stricter_cpuset(const CpuSet& a, const CpuSet& b) {
  CpuSet both = a & b;
  if (!both.empty()) return both;
  return b.count() < a.count() ? b : a;
}

CgroupValue stricter_number(CgroupFile file, Number a, Number b) {
  switch (file) {
    case CgroupFile::kCpuIdle:
    case CgroupFile::kMemoryOomGroup:
      return std::max(a, b);
    case CgroupFile::kResctrlL3:
    case CgroupFile::kResctrlL3Code:
    case CgroupFile::kResctrlL3Data: {
      // Ways that both allow; a mask must not be empty.
      const Number both{a.v & b.v};
      return both.v != 0 ? both : std::min(a, b);
    }
    default:
      return std::min(a, b);
  }
}

CgroupValue stricter_io_max(const IoMax& a, const IoMax& b) {
  return IoMax{stricter(a.read_bytes, b.read_bytes),
               stricter(a.write_bytes, b.write_bytes),
               stricter(a.read_ops, b.read_ops),
               stricter(a.write_ops, b.write_ops)};
}

bool comes_before(const Proposal* a, const Proposal* b) {
  if (const auto c = a->key <=> b->key; c != 0) return c < 0;
  if (a->plugin != b->plugin) return a->plugin < b->plugin;
  if (a->role != b->role) return a->role < b->role;
  if (a->reason != b->reason) return a->reason < b->reason;
  return to_string(a->value) < to_string(b->value);
}

using Group = std::vector<const Proposal*>;

/// All proposals of one file, in comes_before order, become one wish.
Desired decide_file(const Group& group) {
  if (group.size() == 1) {  // nearly every pod, each tick
    const Proposal& only = *group.front();
    Desired out;
    out.value = stricter_value(only.key.file, only.value, only.value);
    out.role = only.role;
    out.plugin = only.plugin;
    out.reason = only.reason;
    out.steady = only.steady;
    return out;
  }
  const bool boosted = std::any_of(
      group.begin(), group.end(), [](const Proposal* p) { return p->role == Role::kBoost; });
  Group counting;
  for (const Proposal* p : group) {
    if (p->role == Role::kCap) counting.push_back(p);
  }
  for (const Proposal* p : group) {
    if (p->role == (boosted ? Role::kBoost : Role::kBase)) counting.push_back(p);
  }
  CgroupValue value = counting.front()->value;
  for (const Proposal* p : counting) {
    // CPUs that no cap allows are no way around the cap.
    const bool outside = p->key.file == CgroupFile::kCpuset && p->role != Role::kCap &&
                         counting.front()->role == Role::kCap &&
                         (std::get<CpuSet>(value) & std::get<CpuSet>(p->value)).empty();
    if (!outside) value = stricter_value(p->key.file, value, p->value);
  }

  Desired out;
  const auto winner = std::find_if(
      counting.begin(), counting.end(), [&value](const Proposal* p) { return p->value == value; });
  if (winner != counting.end()) {
    out.role = (*winner)->role;
    out.plugin = (*winner)->plugin;
    out.reason = (*winner)->reason;
  } else {  // an intersection that nobody proposed as such
    out.role = counting.front()->role;
    std::set<std::string> names;
    for (const Proposal* p : counting) names.insert(p->plugin);
    for (const auto& name : names) out.plugin += (out.plugin.empty() ? "" : "+") + name;
    for (const Proposal* p : counting) {
      out.reason += fmt::format(
          "{}{} ({})", out.reason.empty() ? "common to " : " and ", to_string(p->value), p->reason);
    }
  }
  for (const Proposal* p : group) {
    if (winner == counting.end() || p != *winner) out.losers.push_back(*p);
  }
  out.value = std::move(value);
  return out;
}

/// v1: the kernel refuses a child whose quota is above its parent's. Keys are sorted, so a parent
/// is settled before its children.
void bound_by_parent(DesiredTable& table) {
  std::unordered_map<std::string_view, const Desired*> bounded;  // by path; views into the table
  for (auto& [key, wish] : table) {
    if (key.file != CgroupFile::kCpuMax) continue;
    const auto& own = std::get<CpuMax>(wish.value);
    if (own.quota.is_unlimited()) continue;
    std::string_view up = key.path.str();
    for (auto slash = up.rfind('/'); slash != up.npos; slash = up.rfind('/')) {
      up = up.substr(0, slash);
      const auto parent = bounded.find(up);
      if (parent == bounded.end()) continue;
      const auto& bound = std::get<CpuMax>(parent->second->value);
      if (grants_less(bound, own)) {
        wish.losers.push_back({key, wish.value, wish.role, wish.plugin, wish.reason});
        wish.reason = fmt::format("{}; not above its parent's {} ({})",
                                  wish.reason,
                                  to_string(parent->second->value),
                                  parent->second->plugin);
        wish.value = bound;
      }
      break;
    }
    bounded.emplace(key.path.str(), &wish);
  }
}

/// An entry that a single proposal made in the tick before, and makes again.
bool is_same_wish(const Desired& old, const Proposal& p) {
  return old.losers.empty() && old.role == p.role && old.plugin == p.plugin &&
         old.reason == p.reason && old.value == p.value && old.steady == p.steady;
}

/// An entry that was made anew, and the one that it follows.
struct Renewed {
  Desired* wish;
  const Desired* before;
};

}  // namespace

CgroupValue stricter_value(CgroupFile file, const CgroupValue& a, const CgroupValue& b) {
  if (!holds_type_of(file, a) || !holds_type_of(file, b)) {
    throw std::invalid_argument{fmt::format("{}: value of another file's type", to_string(file))};
  }
  switch (traits_of(file).value) {
    case ValueKind::kCpuMax:
      return stricter_cpu_max(std::get<CpuMax>(a), std::get<CpuMax>(b));
    case ValueKind::kCpuSet:
      return stricter_cpuset(std::get<CpuSet>(a), std::get<CpuSet>(b));
    case ValueKind::kBytes:
      return stricter(std::get<MemoryBound>(a), std::get<MemoryBound>(b));
    case ValueKind::kNumber:
      return stricter_number(file, std::get<Number>(a), std::get<Number>(b));
    case ValueKind::kIoMax:
      return stricter_io_max(std::get<IoMax>(a), std::get<IoMax>(b));
    case ValueKind::kLine:  // no order among them: any choice that ignores who came first
      return std::get<Line>(a).v <= std::get<Line>(b).v ? a : b;
  }
  return a;
}

DesiredTable arbitrate(const std::vector<Proposal>& proposals,
                       const std::vector<const Proposal*>& steady,
                       DesiredTable previous,
                       CgroupVersion version,
                       const CgroupPath& be_root,
                       MonoTime now) {
  Group changing, sorted;
  changing.reserve(proposals.size());
  for (const auto& p : proposals) changing.push_back(&p);
  std::sort(changing.begin(), changing.end(), comes_before);
  sorted.reserve(changing.size() + steady.size());
  std::merge(changing.begin(),
             changing.end(),
             steady.begin(),
             steady.end(),
             std::back_inserter(sorted),
             comes_before);

  DesiredTable table;
  Group group;
  std::vector<Renewed> renewed;
  auto old = previous.begin();  // both tables are sorted: one walk finds what stayed
  for (auto first = sorted.begin(); first != sorted.end();) {
    const CgroupKey& key = (*first)->key;
    const auto last =
        std::find_if(first + 1, sorted.end(), [&key](const Proposal* p) { return p->key != key; });
    while (old != previous.end() && old->first < key) ++old;
    const bool known = old != previous.end() && old->first == key;
    // A quota on v1 may be bounded by its parent's of this very tick.
    const bool binds = version == CgroupVersion::kV1 && key.file == CgroupFile::kCpuMax;
    if (known && !binds && last - first == 1 && is_same_wish(old->second, **first)) {
      const auto taken = old++;
      table.insert(table.end(), previous.extract(taken));
    } else {
      group.assign(first, last);
      Desired wish = decide_file(group);
      wish.order = key.path == be_root ? 0 : key.path.depth();
      wish.since = now;
      const auto at = table.emplace_hint(table.end(), key, std::move(wish));
      if (known) renewed.push_back({&at->second, &old->second});
    }
    first = last;
  }
  if (version == CgroupVersion::kV1) bound_by_parent(table);
  for (const auto& [wish, before] : renewed) {
    if (wish->value == before->value) wish->since = before->since;
  }
  return table;
}

DesiredTable arbitrate(const std::vector<Proposal>& proposals,
                       DesiredTable previous,
                       CgroupVersion version,
                       const CgroupPath& be_root,
                       MonoTime now) {
  return arbitrate(proposals, {}, std::move(previous), version, be_root, now);
}

}  // namespace koordlet::policy
