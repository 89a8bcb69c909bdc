#include "modules/resource_executor/plan.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace koordlet::executor {
namespace {

enum class Direction { kNone, kGrow, kShrink, kMove };

Direction cpuset_direction(CgroupVersion version, const CpuSet& from, const CpuSet& to) {
  // v2: an empty list means "whatever the parent has", the widest of all.
  if (version == CgroupVersion::kV2) {
    if (from.empty()) return Direction::kShrink;
    if (to.empty()) return Direction::kGrow;
  }
  if (to.is_subset_of(from)) return Direction::kShrink;
  return from.is_subset_of(to) ? Direction::kGrow : Direction::kMove;
}

Direction direction(CgroupVersion version, const ChangeRef& change) {
  if (*change.current == *change.desired) return Direction::kNone;
  switch (change.key->file) {
    case CgroupFile::kCpuMax:
      if (version == CgroupVersion::kV2) return Direction::kGrow;  // no rule: all in one pass
      return compare_bandwidth(std::get<CpuMax>(*change.desired),
                               std::get<CpuMax>(*change.current)) < 0
                 ? Direction::kShrink
                 : Direction::kGrow;
    case CgroupFile::kCpuset:
      return cpuset_direction(
          version, std::get<CpuSet>(*change.current), std::get<CpuSet>(*change.desired));
    case CgroupFile::kMemoryMin:
    case CgroupFile::kMemoryLow:
    case CgroupFile::kMemoryHigh:
    case CgroupFile::kMemoryMax:
      return std::get<MemoryBound>(*change.desired) < std::get<MemoryBound>(*change.current)
                 ? Direction::kShrink
                 : Direction::kGrow;
    default:
      return Direction::kGrow;  // parent and child do not bind each other
  }
}

/// Within one cgroup: bandwidth first (it protects most), and the weight outside of idle, where the
/// kernel refuses it: idle 0 before the weight, idle 1 after it.
int file_rank(const ChangeRef& change) {
  constexpr int kWeightRank = 10;
  switch (change.key->file) {
    case CgroupFile::kCpuMax:
      return 0;
    case CgroupFile::kCpuWeight:
      return kWeightRank;
    case CgroupFile::kCpuIdle:
      return std::get<Number>(*change.desired).v == 0 ? kWeightRank - 1 : kWeightRank + 1;
    default:
      return 1 + static_cast<int>(change.key->file);
  }
}

/// v1 bandwidth: which shrinks may lead the batch, so that the cap of a class bites before those of
/// its pods. A parent may when no changed descendant holds more now than the parent will have.
std::vector<bool> leading_shrinks(const std::vector<ChangeRef>& changes,
                                  const std::vector<Direction>& directions) {
  std::vector<bool> leads(changes.size(), false);
  std::unordered_map<std::string_view, std::size_t> shrinking;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].key->file == CgroupFile::kCpuMax && directions[i] == Direction::kShrink) {
      shrinking.emplace(changes[i].key->path.str(), i);
    }
  }
  if (shrinking.empty()) return leads;
  std::vector<bool> bound(changes.size(), false);
  for (const auto& child : changes) {
    if (child.key->file != CgroupFile::kCpuMax) continue;
    const auto& current = std::get<CpuMax>(*child.current);
    std::string_view path = child.key->path.str();
    for (auto slash = path.rfind('/'); slash != std::string_view::npos; slash = path.rfind('/')) {
      path = path.substr(0, slash);
      const auto parent = shrinking.find(path);
      if (parent == shrinking.end()) continue;
      leads[parent->second] = true;
      // An unlimited child follows its parent and never stands in the way.
      const auto& target = std::get<CpuMax>(*changes[parent->second].desired);
      if (!current.quota.is_unlimited() && compare_bandwidth(current, target) > 0) {
        bound[parent->second] = true;
      }
    }
  }
  for (std::size_t i = 0; i < leads.size(); ++i) leads[i] = leads[i] && !bound[i];
  return leads;
}

struct Placed {
  Step step;
  bool by_order = false;  ///< v2 bandwidth: `order` decides before the depth
  bool first = false;     ///< ahead of its pass: a burst that sinks, since no quota may be below it
  int depth = 0;
  int rank = 0;
};

auto sort_key(const Placed& p, const ChangeRef& change) {
  const int first = p.by_order ? change.order : p.depth;
  const int second = p.by_order ? p.depth : change.order;
  // Bandwidth of v2 leads the pass; pass 2 runs from the leaves up.
  return std::make_tuple(p.step.pass,
                         !p.first,
                         !p.by_order,
                         p.step.pass == 2 ? -first : first,
                         second,
                         std::string_view{change.key->path.str()},
                         p.rank,
                         std::string_view{change.key->item});
}

}  // namespace

int compare_bandwidth(const CpuMax& a, const CpuMax& b) {
  const auto& qa = a.quota.bound();
  const auto& qb = b.quota.bound();
  if (!qa || !qb) return static_cast<int>(!qa) - static_cast<int>(!qb);
  const auto left = static_cast<__int128>(qa->count()) * b.period.count();
  const auto right = static_cast<__int128>(qb->count()) * a.period.count();
  return left < right ? -1 : static_cast<int>(left > right);
}

std::vector<Step> plan_steps(CgroupVersion version, const std::vector<ChangeRef>& changes) {
  std::vector<Direction> directions;
  directions.reserve(changes.size());
  for (const auto& c : changes) directions.push_back(direction(version, c));
  std::vector<bool> leads(changes.size(), false);
  if (version == CgroupVersion::kV1) leads = leading_shrinks(changes, directions);

  std::vector<Placed> placed;
  placed.reserve(changes.size());
  for (std::uint32_t i = 0; i < changes.size(); ++i) {
    const auto& change = changes[i];
    const bool bandwidth = change.key->file == CgroupFile::kCpuMax;
    Placed p;
    p.step.change = i;
    p.by_order = bandwidth && version == CgroupVersion::kV2;
    p.first = change.key->file == CgroupFile::kCpuBurst &&
              std::get<Number>(*change.desired) < std::get<Number>(*change.current);
    p.depth = change.key->path.depth();
    p.rank = file_rank(change);
    switch (directions[i]) {
      case Direction::kNone:
        continue;
      case Direction::kGrow:
        break;
      case Direction::kShrink:
        p.step.pass = leads[i] ? 1 : 2;
        break;
      case Direction::kMove:
        p.step.merged = true;
        placed.push_back(p);
        p.step.merged = false;
        p.step.pass = 2;
        break;
    }
    placed.push_back(p);
  }
  std::sort(placed.begin(), placed.end(), [&](const Placed& a, const Placed& b) {
    return sort_key(a, changes[a.step.change]) < sort_key(b, changes[b.step.change]);
  });
  std::vector<Step> out;
  out.reserve(placed.size());
  for (const auto& p : placed) out.push_back(p.step);
  return out;
}

CgroupValue step_value(const Step& step, const ChangeRef& change) {
  if (!step.merged) return *change.desired;
  return std::get<CpuSet>(*change.current) | std::get<CpuSet>(*change.desired);
}

bool shrink_depends_on_children(CgroupVersion version, CgroupFile file) {
  if (file == CgroupFile::kCpuset) return true;  // v2 before 5.17 as well
  return file == CgroupFile::kCpuMax && version == CgroupVersion::kV1;
}

}  // namespace koordlet::executor

namespace koordlet {

std::vector<PlannedWrite> plan_writes(CgroupVersion version, std::vector<Change> changes) {
  std::vector<executor::ChangeRef> refs;
  refs.reserve(changes.size());
  for (const auto& c : changes) refs.push_back({&c.key, &c.current, &c.desired, c.order});
  std::vector<PlannedWrite> out;
  for (const auto& step : executor::plan_steps(version, refs)) {
    const auto& change = refs[step.change];
    out.push_back({*change.key, executor::step_value(step, change), step.pass});
  }
  return out;
}

}  // namespace koordlet
