#include <algorithm>
#include <array>
#include <cmath>

#include "policy/interference.hpp"
#include "policy/interference_micro.hpp"

namespace koordlet::policy {
namespace {

constexpr double kMemoryWeight = 0.8, kIoWeight = 0.6;  // in the degree: reference metrics 8.2
constexpr double kUnconfirmed = 49;  // M stays below the decision until the CPI is confirmed

double millis(std::chrono::nanoseconds t) {
  return std::chrono::duration<double, std::milli>(t).count();
}

bool is_share(double percent) { return std::isfinite(percent) && percent >= 0; }

/// nullopt: not offered, or no share that PSI can have given.
const StallShare* usable(const std::optional<StallShare>& s) {
  if (!s || !is_share(s->some_percent)) return nullptr;
  return !s->full_percent || is_share(*s->full_percent) ? &*s : nullptr;
}

/// Enough was dispatched to judge the waits by, and the wait is known.
bool is_queue_known(const InterferenceWindow& w, const InterferenceConfig& c) {
  return w.wait && w.wait->count() >= 0 && w.dispatches && *w.dispatches >= c.min_dispatches;
}

/// S_rq; nullopt: no source, or too few dispatches to say anything.
std::optional<double> run_queue_score(const InterferenceWindow& w, const InterferenceConfig& c) {
  if (!is_queue_known(w, c)) return std::nullopt;
  std::optional<double> out;
  if (w.run && w.run->count() > 0)
    out = c.wait_ratio(static_cast<double>(w.wait->count()) / static_cast<double>(w.run->count()));
  if (w.wait_p95 && w.wait_p95->count() >= 0)
    out = std::max(out.value_or(0), c.wait_p95_ms(millis(*w.wait_p95)));
  return out;
}

/// S_psi. A pod's own threads compete in "some"; "full" means it waits while others run.
double cpu_stall_score(const StallShare& s, const InterferenceConfig& c) {
  const double some = c.cpu_some_percent(s.some_percent);
  if (!s.full_percent) return some;
  return std::max(c.cpu_full_percent(*s.full_percent), 0.5 * some);
}

double stall_score(const StallShare& s, const Ramp& some, const Ramp& full) {
  return std::max(some(s.some_percent), s.full_percent ? full(*s.full_percent) : 0.0);
}

/// Share of the periods in which the pod's own quota held it back; nullopt: not known.
std::optional<double> throttled_share(const InterferenceWindow& w) {
  if (!w.throttled || w.throttled->v < 0) return std::nullopt;
  return std::min(static_cast<double>(w.throttled->v) / 1000, 1.0);
}

bool is_confirmed(const std::deque<bool>& outliers, const InterferenceConfig& c) {
  const auto size = static_cast<std::ptrdiff_t>(outliers.size());
  const auto newest = std::min(size, static_cast<std::ptrdiff_t>(c.of_windows));
  return std::count(outliers.end() - newest, outliers.end(), true) >= c.enter_windows;
}

/// D before rounding.
double combine(double cpu, double micro, double memory, double io) {
  const double free = (1 - cpu / 100) * (1 - micro / 100) * (1 - kMemoryWeight * memory / 100) *
                      (1 - kIoWeight * io / 100);
  return 100 * (1 - free);
}

/// Half up; what misses a half by the last digits of a double is that half.
int rounded(double v) {
  constexpr double kNoise = 1e-9;
  return static_cast<int>(std::floor(std::clamp(v, 0.0, 100.0) + 0.5 + kNoise));
}

/// f: 0 without best-effort load, 1 from be_share_full of the node on; nullopt: not known.
std::optional<double> be_load(const InterferenceWindow& w, const InterferenceConfig& c) {
  if (!w.be_used || w.be_used->v < 0 || w.node_capacity.v <= 0) return std::nullopt;
  if (c.be_share_full.v <= 0) return w.be_used->v > 0 ? 1.0 : 0.0;
  const double full =
      static_cast<double>(w.node_capacity.v) * static_cast<double>(c.be_share_full.v) / 1000;
  return std::min(static_cast<double>(w.be_used->v) / full, 1.0);
}

/// q: the part of the waits that passed behind best effort; nullopt: the source does not say, or
/// there were too few waits to tell.
std::optional<double> behind_share(const InterferenceWindow& w, const InterferenceConfig& c) {
  if (!is_queue_known(w, c) || w.wait->count() == 0) return std::nullopt;
  if (!w.behind_best_effort || w.behind_best_effort->count() < 0) return std::nullopt;
  return std::min(
      static_cast<double>(w.behind_best_effort->count()) / static_cast<double>(w.wait->count()),
      1.0);
}

std::optional<int> be_degree(const InterferenceWindow& w,
                             const InterferenceDegree& d,
                             const InterferenceConfig& c) {
  const auto load = be_load(w, c);
  if (!load) return std::nullopt;
  if (*load == 0) return 0;
  const double all = combine(d.cpu, d.micro, d.memory, d.io);
  const double without_cpu = combine(0, d.micro, d.memory, d.io);
  const double behind = behind_share(w, c).value_or(*load);
  return rounded(behind * (all - without_cpu) + *load * without_cpu);
}

InterferenceComponent top_of(const InterferenceDegree& d) {
  const std::array<std::pair<double, InterferenceComponent>, 4> parts{
      {{d.cpu, InterferenceComponent::kCpu},
       {d.micro, InterferenceComponent::kMicro},
       {kMemoryWeight * d.memory, InterferenceComponent::kMemory},
       {kIoWeight * d.io, InterferenceComponent::kIo}}};
  return std::max_element(parts.begin(),
                          parts.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

/// Fills C; true when any of its signals is known.
bool add_cpu(InterferenceDegree& out, const InterferenceWindow& w, const InterferenceConfig& c) {
  const auto queue = run_queue_score(w, c);
  std::optional<double> stall;
  if (const auto* s = usable(w.cpu)) stall = cpu_stall_score(*s, c);
  const auto own = throttled_share(w);
  if (!queue) out.missing.emplace_back("run queue");
  if (!stall) out.missing.emplace_back("cpu psi");
  if (!own) out.missing.emplace_back("throttling");
  // Run-queue delay and PSI both include the wait for the pod's own quota.
  out.cpu = std::max(queue.value_or(0), stall.value_or(0)) * (1 - own.value_or(0));
  return queue || stall;
}

/// Fills M; true when some container's CPI could be judged.
bool add_micro(InterferenceDegree& out, const MicroScore& micro) {
  if (!micro.worst_z) out.missing.emplace_back(micro.young ? "cpi baseline" : "cpi");
  if (!micro.llc) out.missing.emplace_back("llc");
  if (!micro.worst_z) return false;
  out.micro = out.micro_confirmed ? micro.score : std::min(micro.score, kUnconfirmed);
  return true;
}

}  // namespace

double Ramp::operator()(double x) const {
  if (std::isnan(x)) return 0;
  if (!(lo < hi)) return x > lo ? 100 : 0;
  return 100 * std::clamp((x - lo) / (hi - lo), 0.0, 1.0);
}

InterferenceDegree degree_of(const InterferenceWindow& window,
                             const BaselineTable& baselines,
                             const std::string& owner_uid,
                             const std::string& cpu_model,
                             const std::deque<bool>& outliers,
                             const InterferenceConfig& c) {
  static const InterferenceWindow kNothing;
  // No time passed: whatever stands there is no measure of it.
  const auto& w = window.length.count() > 0 ? window : kNothing;
  InterferenceDegree out;
  out.micro_confirmed = is_confirmed(outliers, c);
  bool any = add_cpu(out, w, c);
  any |= add_micro(out, micro_score(w.micro, baselines, owner_uid, cpu_model, c));
  if (const auto* s = usable(w.memory)) {
    out.memory = stall_score(*s, c.memory_some_percent, c.memory_full_percent);
    any = true;
  } else {
    out.missing.emplace_back("memory psi");
  }
  if (const auto* s = usable(w.io)) {
    out.io = stall_score(*s, c.io_some_percent, c.io_full_percent);
    any = true;
  } else {
    out.missing.emplace_back("io psi");
  }
  if (!any) return out;
  out.top = top_of(out);
  out.degree = rounded(combine(out.cpu, out.micro, out.memory, out.io));
  out.be_degree = be_degree(w, out, c);
  return out;
}

}  // namespace koordlet::policy
