#include <algorithm>

#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "kernel/resctrl_control.hpp"

/// What the caps do: their effect, those that do not bite, and who starves under them.
namespace koordlet::app {
namespace {

/// At up to 30 us each: about a millisecond.
constexpr int kMostTaskReads = 32;

policy::CapView cap_view(const QosManager::Status& s) {
  policy::CapView out;
  out.level = s.pressure.level;
  out.factor_permille = s.pressure.factor_permille;
  const auto take = [&out](MilliCpu cap) {
    out.class_cap = std::min(out.class_cap.value_or(cap), cap);
  };
  if (s.pressure.root_cap.v > 0) take(s.pressure.root_cap);
  if (s.suppress.quota_us) take(MilliCpu{*s.suppress.quota_us / 100});
  if (s.suppress.cpuset) take(MilliCpu{std::int64_t{s.suppress.cpuset->count()} * 1000});
  return out;
}

std::string name_of(const NodeState& state, const std::string& uid) {
  const auto* pod = find_pod(state, uid);
  return pod != nullptr ? full_name(*pod) : uid;
}

}  // namespace

void Daemon::watch_caps(const Snapshot& snapshot) {
  const auto& status = qos_->status();
  if (!status.ready) return;
  const bool in_force = !status.effective.off && !config_.executor.dry_run && !paused_;
  if (const auto e = policy::observe_effect(snapshot, cap_view(status), in_force, caps_.effects)) {
    note_effect(*e);
  }
  static const DesiredTable kNothing;
  // Judged by whole seconds: between them nothing new is known of it.
  if (snapshot.may_relax) find_ineffective(snapshot, in_force ? qos_->desired() : kNothing);
  note_starvation();
}

void Daemon::note_effect(const policy::CapEffect& e) {
  AuditEvent event;
  event.at = clock_.now();
  event.kind = AuditKind::kEffect;
  event.after = to_string(*e.verdict);
  event.reason = e.trigger;
  event.detail = e.why;
  audit_.add(std::move(event));
  log::info("effect", fmt::format("{}: {} ({})", e.trigger, to_string(*e.verdict), e.why));
}

/// Evidence is gathered only for a cap that use exceeds.
policy::CapFacts Daemon::cap_facts(const CgroupKey& key) const {
  policy::CapFacts out;
  if (const auto wish = qos_->desired().find(key); wish != qos_->desired().end()) {
    out.wanted = to_string(wish->second.value);
  }
  if (const auto held = executor_->find(key)) {
    out.held = true;
    out.kernel = held->kernel;
    out.contested = held->contested;
    if (held->last) {
      out.last = held->last->kind;
      out.error = held->last->error;
    }
  }
  if (const auto burst = cgroups_->read({key.path, CgroupFile::kCpuBurst})) {
    if (const auto* us = std::get_if<Number>(&*burst)) out.burst_us = us->v;
  }
  int left = kMostTaskReads;
  out.has_tasks = has_tasks(key.path, 3, left);
  return out;
}

/// nullopt: not readable, or more cgroups than the loop has time for (`left` counts down).
std::optional<bool> Daemon::has_tasks(const CgroupPath& path, int depth, int& left) const {
  if (left-- <= 0) return std::nullopt;
  const auto own = kernel::read_cgroup_tasks(config_.host, version_, path);
  if (own && !own->empty()) return true;
  std::optional<bool> out = own ? std::optional{false} : std::nullopt;
  if (depth == 0) return out;
  const auto children = cgroups_->children(path);
  if (!children) return out;
  for (const auto& name : *children) {
    if (left <= 0) return std::nullopt;
    const auto below = has_tasks(path.child(name), depth - 1, left);
    if (below.value_or(false)) return true;
    if (!below) out.reset();
  }
  return out;
}

void Daemon::find_ineffective(const Snapshot& snapshot, const DesiredTable& desired) {
  std::map<CgroupKey, policy::CapFault> now;
  for (auto& over : policy::observe_caps(snapshot, desired, caps_.tracks)) {
    const auto known = caps_.ineffective.find(over.key);
    // The cause is looked for once and again when the cap or the sample changed.
    const bool same = known != caps_.ineffective.end() && known->second.over.used == over.used &&
                      known->second.over.since == over.since;
    auto finding = same ? known->second.finding : policy::find_cause(cap_facts(over.key));
    const bool news =
        known == caps_.ineffective.end() || known->second.finding.cause != finding.cause;
    const auto key = over.key;
    const auto& fault =
        now.emplace(key, policy::CapFault{std::move(over), std::move(finding)}).first->second;
    if (news) note_ineffective(*snapshot.state, fault);
  }
  for (const auto& [key, fault] : caps_.ineffective) {
    if (!now.contains(key)) log::info("caps", fmt::format("{}: bites again", to_string(key)));
  }
  caps_.ineffective = std::move(now);
}

void Daemon::note_ineffective(const NodeState& state, const policy::CapFault& f) {
  const auto& over = f.over;
  AuditEvent event;
  event.at = clock_.now();
  event.kind = AuditKind::kIneffective;
  event.key = over.key;
  event.pod = over.uid;
  event.after = to_string(f.finding.cause);
  event.reason = fmt::format("use {}m stays above the cap of {}m", over.used.v, over.cap.v);
  event.detail = f.finding.detail;
  log::warn("caps",
            fmt::format("{}: cap does not bite: {}: {}: {}",
                        over.uid.empty() ? "BE root" : "pod " + name_of(state, over.uid),
                        event.reason,
                        to_string(f.finding.cause),
                        f.finding.detail));
  audit_.add(std::move(event));
}

/// Once for each pod that begins or ends to starve.
void Daemon::note_starvation() {
  const auto& s = qos_->status().starvation;
  const std::set<std::string> now{s.starving.begin(), s.starving.end()};
  const auto state = states_->state();
  const auto note = [&](const std::string& uid, bool begins) {
    AuditEvent event;
    event.at = clock_.now();
    event.kind = AuditKind::kStarvation;
    event.pod = uid;
    event.after = begins ? "starving" : "over";
    event.reason = begins ? s.why : "it gets its share again, wants less, or has ended";
    const auto text =
        fmt::format("pod {}: {}: {}", name_of(*state, uid), event.after, event.reason);
    begins ? log::warn("starvation", text) : log::info("starvation", text);
    audit_.add(std::move(event));
  };
  for (const auto& uid : now) {
    if (!caps_.starving.contains(uid)) note(uid, true);
  }
  for (const auto& uid : caps_.starving) {
    if (!now.contains(uid)) note(uid, false);
  }
  caps_.starving = now;
}

void Daemon::add_caps(StatusView& v) const {
  auto& q = v.qos;
  if (caps_.effects.open) q.effects.push_back(*caps_.effects.open);
  q.effects.insert(q.effects.end(), caps_.effects.done.begin(), caps_.effects.done.end());
  for (const auto& [key, fault] : caps_.ineffective) q.ineffective.push_back(fault);
  q.starvation = qos_->status().starvation;
}

}  // namespace koordlet::app
