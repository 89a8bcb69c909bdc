#include "policy/cap_check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

constexpr std::chrono::seconds kRootMean{2};

std::optional<MilliCpu> cap_of(const Desired& wish) {
  const auto* max = std::get_if<CpuMax>(&wish.value);
  if (max == nullptr || wish.role != Role::kCap || !max->quota.bound()) return std::nullopt;
  return MilliCpu{
      static_cast<std::int64_t>(Wide{max->quota.bound()->count()} * 1000 / max->period.count())};
}

/// Feeds one sample; true when the cap is ineffective.
bool feed(CapTracks::Track& track, MonoTime since, MonoTime at, MilliCpu used, MilliCpu cap) {
  if (track.since != since) track = {since, {}, 0, {}};
  if (at == track.sample) return track.over >= kCapSamples;
  // A sample reaches back to the one before it: only then does it lie wholly under the cap.
  const bool counts = at - since >= kCapInForce && track.sample >= since;
  track.sample = at;
  track.used = used;
  track.over = exceeds(used, cap) ? track.over + (counts ? 1 : 0) : 0;
  return track.over >= kCapSamples;
}

/// Mean use of the BE root over at least kRootMean; nullopt: not enough yet.
std::optional<MilliCpu> root_use(const Snapshot& snap, CapTracks& t) {
  if (!snap.may_relax || !snap.signals || !snap.signals->be_used) return std::nullopt;
  if (snap.signals->seq == t.root_seq) return std::nullopt;
  t.root_seq = snap.signals->seq;
  t.root_sum += snap.signals->be_used->v;
  ++t.root_count;
  if (!t.root_from) t.root_from = snap.signals->at;
  if (snap.signals->at - *t.root_from < kRootMean) return std::nullopt;
  const MilliCpu out{t.root_sum / t.root_count};
  t.root_sum = t.root_count = 0;
  t.root_from = snap.signals->at;
  return out;
}

bool says(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

std::string_view to_string(CapCause c) {
  switch (c) {
    case CapCause::kContested:
      return "contested";
    case CapCause::kRights:
      return "rights";
    case CapCause::kInvalid:
      return "invalid";
    case CapCause::kNotWritten:
      return "not_written";
    case CapCause::kOtherHierarchy:
      return "other_hierarchy";
    case CapCause::kWrongPath:
      return "wrong_path";
    case CapCause::kBurst:
      return "burst";
    case CapCause::kUnknown:
      break;
  }
  return "unknown";
}

bool exceeds(MilliCpu used, MilliCpu cap) {
  return Wide{used.v} * 10 > Wide{cap.v} * 11 && used.v - cap.v > 50;
}

std::vector<CapOver> observe_caps(const Snapshot& snap, const DesiredTable& desired, CapTracks& t) {
  std::vector<CapOver> out;
  std::map<CgroupKey, CapTracks::Track> kept;
  const auto judge = [&](const CgroupPath& path,
                         const std::string& uid,
                         MonoTime at,
                         std::optional<MilliCpu> used) {
    const CgroupKey key{path, CgroupFile::kCpuMax};
    const auto wish = desired.find(key);
    const auto cap = wish == desired.end() ? std::nullopt : cap_of(wish->second);
    if (!cap) return;
    auto& track = kept[key];
    if (const auto old = t.tracks.find(key); old != t.tracks.end()) track = old->second;
    const MonoTime since = wish->second.since;
    const bool over = used ? feed(track, since, at, *used, *cap)
                           : track.since == since && track.over >= kCapSamples;
    if (over) out.push_back({key, uid, *cap, track.used, since});
  };
  if (snap.be_root) {
    const auto used = root_use(snap, t);
    judge(snap.be_root->path, "", snap.signals ? snap.signals->at : MonoTime{}, used);
  }
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || !is_best_effort(*pod) || pod->cgroup.is_root()) continue;
    const auto usage = snap.pods.find(pod->uid);
    if (usage == snap.pods.end()) continue;
    judge(pod->cgroup, pod->uid, usage->second.at, usage->second.cpu);
  }
  t.tracks = std::move(kept);
  return out;
}

CapFinding find_cause(const CapFacts& f) {
  if (f.contested) {
    return {CapCause::kContested, fmt::format("another writer keeps '{}' there", f.kernel)};
  }
  if (f.last == OutcomeKind::kRefused || f.last == OutcomeKind::kUnsupported) {
    for (const auto* denied :
         {"Permission denied", "Operation not permitted", "Read-only file system"}) {
      if (says(f.error, denied)) return {CapCause::kRights, f.error};
    }
    if (says(f.error, "Invalid argument")) return {CapCause::kInvalid, f.error};
    if (f.last == OutcomeKind::kUnsupported) return {CapCause::kOtherHierarchy, f.error};
    return {CapCause::kNotWritten, f.error};
  }
  if (f.held && f.kernel.empty()) {
    return {CapCause::kOtherHierarchy, "the file is not readable at this path"};
  }
  if (!f.held || f.kernel != f.wanted) {
    return {CapCause::kNotWritten,
            fmt::format("the file holds '{}', wanted is '{}'{}{}",
                        f.kernel.empty() ? "?" : f.kernel,
                        f.wanted,
                        f.error.empty() ? "" : ": ",
                        f.error)};
  }
  if (f.has_tasks && !*f.has_tasks) {
    return {CapCause::kWrongPath, "no task below this path: its use is counted elsewhere"};
  }
  if (f.burst_us && *f.burst_us > 0) {
    return {CapCause::kBurst, fmt::format("a burst of {} us is allowed above it", *f.burst_us)};
  }
  return {CapCause::kUnknown, "the kernel holds the value, and tasks run below it"};
}

}  // namespace koordlet::policy
