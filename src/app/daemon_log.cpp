#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"

namespace koordlet::app {
namespace {

constexpr auto kFastCollect = std::chrono::seconds{10};  // while the level is HIGH

}  // namespace

void Daemon::log_evict_phases() {
  for (const auto plugin : policy::kAllEvictPlugins) {
    const auto& rule = qos_->status().evict.rule(plugin);
    auto& last = last_evict_phases_[static_cast<std::size_t>(plugin)];
    if (rule.phase == last) continue;
    last = rule.phase;
    if (rule.why.empty()) continue;
    log::info(std::string{to_string(plugin)},
              fmt::format("{}: {}", to_string(rule.phase), rule.why));
  }
}

void Daemon::log_evictions(const std::vector<EvictionOutcome>& outcomes) {
  for (const auto& o : outcomes) {
    const auto text = fmt::format("pod {}/{}: {}{}{}: {}",
                                  o.wish.ns,
                                  o.wish.name,
                                  to_string(o.result),
                                  o.detail.empty() ? "" : ": ",
                                  o.detail,
                                  o.wish.reason);
    AuditEvent e;
    e.at = o.at;
    e.kind = AuditKind::kEviction;
    e.pod = o.wish.uid;
    e.after = to_string(o.result);
    e.plugin = o.wish.plugin;
    e.reason = o.wish.reason;
    e.detail = o.detail;
    audit_.add(std::move(e));
    if (o.result == EvictionResult::kAccepted) {
      log::info("evictor", text);
    } else {
      log::warn("evictor", text);
    }
  }
}

void Daemon::log_outcomes(const std::vector<Outcome>& outcomes) {
  std::vector<Outcome> notable;
  std::map<CgroupKey, std::string> refused;
  std::size_t written = 0;
  for (const auto& o : outcomes) {
    if (o.kind == OutcomeKind::kUnchanged) continue;
    if (o.kind == OutcomeKind::kWritten) ++written;
    note_outcome(o, false);
    if (o.kind == OutcomeKind::kRefused) {
      // A refusal that lasts is one line, not one a tick.
      const auto known = refused_.find(o.key);
      if (known == refused_.end() || known->second != o.error) {
        note_outcome(o, true);
        log::warn("executor", fmt::format("{}: {}", to_string(o.key), o.error));
      }
      refused.emplace(o.key, o.error);
    }
    notable.push_back(o);
  }
  refused_ = std::move(refused);
  if (written > 0) log::debug("executor", fmt::format("{} cgroup files written", written));
  // The last batch that did something stays visible until the next one.
  if (!notable.empty()) last_outcomes_ = std::move(notable);
}

/// `news`: a refusal that was not there before.
void Daemon::note_outcome(const Outcome& o, bool news) {
  if (o.kind != OutcomeKind::kWritten && !(news && o.kind == OutcomeKind::kRefused)) return;
  AuditEvent e;
  e.at = clock_.now();
  e.kind = o.kind == OutcomeKind::kRefused ? AuditKind::kRefused
           : o.restored                    ? AuditKind::kRestored
                                           : AuditKind::kWritten;
  e.key = o.key;
  e.before = o.before;
  e.after = o.value;
  e.detail = o.error;
  if (const auto wish = qos_->desired().find(o.key); wish != qos_->desired().end() && !o.restored) {
    e.plugin = wish->second.plugin;
    e.reason = wish->second.reason;
  } else {
    e.reason = "no plugin wants it any more: the original value";
  }
  audit_.add(std::move(e));
}

/// Each refused input once, when it appears.
void Daemon::log_faults(const std::string& subject,
                        const std::vector<std::string>& faults,
                        std::set<std::string>& known) {
  std::set<std::string> now{faults.begin(), faults.end()};
  for (const auto& fault : now) {
    if (!known.contains(fault)) log::warn(subject, fault);
  }
  if (now.empty() && !known.empty()) log::info(subject, "all faults are over");
  known = std::move(now);
}

void Daemon::log_level() {
  if (!qos_->status().ready) return;  // what the level would be of is not known yet
  const auto& p = qos_->status().pressure;
  const bool off = qos_->status().effective.off;
  const std::string level{off ? "off" : policy::to_string(p.level)};
  if (level == last_level_) return;
  AuditEvent event;
  event.at = clock_.now();
  event.kind = off ? AuditKind::kPolicy : AuditKind::kLevel;
  event.before = last_level_;
  event.after = level;
  event.plugin = policy::Pressure::kName;
  event.reason = off ? "off by NodeSLO or configuration"
                     : fmt::format("node use {}.{:02} %, factor {} permille{}{}",
                                   p.use_permyriad / 100,
                                   p.use_permyriad % 100,
                                   p.factor_permille,
                                   p.raise.reason.empty() ? "" : "; ",
                                   p.raise.reason);
  audit_.add(std::move(event));
  if (off) {
    log::info("pressure",
              "off by NodeSLO or configuration: everything gets its original value back");
    last_level_ = level;
    return;
  }
  log::info("pressure",
            fmt::format("level {} -> {}: node use {}.{:02} %, factor {} permille",
                        last_level_.empty() ? "none yet" : last_level_,
                        level,
                        p.use_permyriad / 100,
                        p.use_permyriad % 100,
                        p.factor_permille));
  last_level_ = level;
  if (p.level != policy::Level::kHigh) return;
  collect_within(kFastCollect);
  control_->report_now();
}

/// Once, when the node and its pods are known.
void Daemon::log_first_state() {
  const auto state = states_->state();
  if (state_logged_ || !state->node || state->pods_at == MonoTime{}) return;
  state_logged_ = true;
  log::info("states",
            fmt::format("node {} is known, with {} pods{}",
                        state->node->name,
                        state->pods.size(),
                        state->slo ? " and a NodeSLO" : ""));
}

}  // namespace koordlet::app
