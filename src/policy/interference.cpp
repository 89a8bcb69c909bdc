#include "policy/interference.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace koordlet::policy {
namespace {

constexpr double kMemoryWeight = 0.8, kIoWeight = 0.6;  // in the degree: reference metrics 8.2
constexpr double kCpiWeight = 0.7, kLlcWeight = 0.3;    // in M
constexpr double kUnconfirmed = 49;  // M stays below the decision until the CPI is confirmed

double millis(std::chrono::nanoseconds t) {
  return std::chrono::duration<double, std::milli>(t).count();
}

bool sane(double v) { return std::isfinite(v) && v >= 0; }

bool sane(const std::optional<StallShare>& s) {
  return s && sane(s->some_percent) && (!s->full_percent || sane(*s->full_percent));
}

/// Run-queue score; nullopt: no source, or too few dispatches to say anything.
std::optional<double> run_queue_score(const InterferenceWindow& w, const InterferenceConfig& c) {
  if (!w.wait || !w.dispatches || w.wait->count() < 0) return std::nullopt;
  if (*w.dispatches < c.min_dispatches) return std::nullopt;
  std::optional<double> out;
  if (w.run && w.run->count() > 0) {
    out = c.wait_ratio(static_cast<double>(w.wait->count()) / static_cast<double>(w.run->count()));
  }
  if (w.wait_p95 && w.wait_p95->count() >= 0)
    out = std::max(out.value_or(0), c.wait_p95_ms(millis(*w.wait_p95)));
  return out;
}

/// A pod's own threads compete in "some"; "full" means it waits while others run.
double cpu_stall_score(const StallShare& s, const InterferenceConfig& c) {
  const double some = c.cpu_some_percent(s.some_percent);
  if (!s.full_percent) return some;
  return std::max(c.cpu_full_percent(*s.full_percent), 0.5 * some);
}

double stall_score(const StallShare& s, const Ramp& some, const Ramp& full) {
  return std::max(some(s.some_percent), s.full_percent ? full(*s.full_percent) : 0.0);
}

struct Micro {
  double score = 0;  ///< M before the confirmation
  std::optional<double> worst_z;
};

/// The container that is hurt most counts. nullopt: none that ran enough has a mature baseline.
std::optional<Micro> micro_score(const InterferenceWindow& w,
                                 const BaselineTable& baselines,
                                 const std::string& owner,
                                 const std::string& model,
                                 const InterferenceConfig& c) {
  std::optional<Micro> out;
  for (const auto& sample : w.micro) {
    if (sample.used < c.min_micro_use || !sane(sample.cpi) || sample.cpi == 0) continue;
    const auto at = baselines.find({owner, sample.container, model});
    if (at == baselines.end()) continue;
    const auto z = at->second.cpi.z(sample.cpi, c.mature_samples);
    if (!z) continue;
    const double cpi = c.cpi_z(*z);
    double score = cpi;
    if (sample.llc_miss_ratio && sane(*sample.llc_miss_ratio)) {
      const auto llc_z = at->second.llc.z(*sample.llc_miss_ratio, c.mature_samples);
      // Without a baseline of its own the cache says nothing.
      if (llc_z) score = kCpiWeight * cpi + kLlcWeight * std::min(c.llc_z(*llc_z), cpi);
    }
    if (!out) out.emplace();
    out->score = std::max(out->score, score);
    out->worst_z = std::max(out->worst_z.value_or(*z), *z);
  }
  return out;
}

bool is_confirmed(const std::deque<bool>& outliers, const InterferenceConfig& c) {
  return std::count(outliers.begin(), outliers.end(), true) >= c.enter_windows;
}

double combine(double cpu, double micro, double memory, double io) {
  const double free = (1 - cpu / 100) * (1 - micro / 100) * (1 - kMemoryWeight * memory / 100) *
                      (1 - kIoWeight * io / 100);
  return 100 * (1 - free);
}

int rounded(double v) { return static_cast<int>(std::floor(std::clamp(v, 0.0, 100.0) + 0.5)); }

/// 0 without best-effort load, 1 from be_share_full of the node on; nullopt: not known.
std::optional<double> be_load(const InterferenceWindow& w, const InterferenceConfig& c) {
  if (!w.be_used || w.node_capacity.v <= 0 || c.be_share_full.v <= 0) return std::nullopt;
  const double full = static_cast<double>(w.node_capacity.v) * c.be_share_full.v / 1000.0;
  return std::clamp(static_cast<double>(w.be_used->v) / full, 0.0, 1.0);
}

/// The part of the waits that passed behind best effort; nullopt: the source does not say, or
/// nothing was waited for.
std::optional<double> behind_share(const InterferenceWindow& w) {
  if (!w.behind_best_effort || !w.wait || w.wait->count() <= 0) return std::nullopt;
  return std::clamp(
      static_cast<double>(w.behind_best_effort->count()) / static_cast<double>(w.wait->count()),
      0.0,
      1.0);
}

/// D x BE load; where it is known behind whom the pod waited, the CPU component counts by that
/// share first, so the result is never above D x load.
std::optional<int> be_degree(const InterferenceWindow& w,
                             const InterferenceDegree& d,
                             bool queue_decides,
                             const InterferenceConfig& c) {
  const auto load = be_load(w, c);
  if (!load) return std::nullopt;
  double cpu = d.cpu;
  if (const auto share = behind_share(w); share && queue_decides) cpu *= *share;
  return rounded(combine(cpu, d.micro, d.memory, d.io) * *load);
}

}  // namespace

double Ramp::operator()(double x) const {
  if (!std::isfinite(x)) return 0;
  if (hi <= lo) return x > lo ? 100 : 0;
  return 100 * std::clamp((x - lo) / (hi - lo), 0.0, 1.0);
}

InterferenceDegree degree_of(const InterferenceWindow& w,
                             const BaselineTable& baselines,
                             const std::string& owner_uid,
                             const std::string& cpu_model,
                             const std::deque<bool>& outliers,
                             const InterferenceConfig& c) {
  InterferenceDegree out;
  bool any = false;
  const auto missing = [&](const char* name) { out.missing.emplace_back(name); };

  const auto queue = run_queue_score(w, c);
  std::optional<double> stall;
  if (sane(w.cpu)) stall = cpu_stall_score(*w.cpu, c);
  if (!queue) missing("run queue");
  if (!stall) missing("cpu psi");
  if (!w.throttled) missing("throttling");
  const double own = w.throttled ? std::clamp(w.throttled->v / 1000.0, 0.0, 1.0) : 0.0;
  out.cpu = std::max(queue.value_or(0), stall.value_or(0)) * (1 - own);
  any = queue || stall;

  const auto micro = micro_score(w, baselines, owner_uid, cpu_model, c);
  out.micro_confirmed = is_confirmed(outliers, c);
  if (micro) {
    out.micro = out.micro_confirmed ? micro->score : std::min(micro->score, kUnconfirmed);
    any = true;
  } else {
    missing(w.micro.empty() ? "cpi" : "cpi baseline");
  }
  if (sane(w.memory)) {
    out.memory = stall_score(*w.memory, c.memory_some_percent, c.memory_full_percent);
    any = true;
  } else {
    missing("memory psi");
  }
  if (sane(w.io)) {
    out.io = stall_score(*w.io, c.io_some_percent, c.io_full_percent);
    any = true;
  } else {
    missing("io psi");
  }
  if (!any) return out;
  const std::array<std::pair<double, InterferenceComponent>, 4> parts{
      {{out.cpu, InterferenceComponent::kCpu},
       {out.micro, InterferenceComponent::kMicro},
       {kMemoryWeight * out.memory, InterferenceComponent::kMemory},
       {kIoWeight * out.io, InterferenceComponent::kIo}}};
  out.top = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
              return a.first < b.first;
            })->second;
  out.degree = rounded(combine(out.cpu, out.micro, out.memory, out.io));
  out.be_degree = be_degree(w, out, queue && *queue >= stall.value_or(0), c);
  return out;
}

NodeInterference worst_of(const std::vector<PodInterference>& pods, MonoTime at) {
  NodeInterference out;
  out.at = at;
  for (const auto& p : pods) {
    out.interfered = out.interfered || p.interfered;
    if (p.degree.be_degree)
      out.be_degree = std::max(out.be_degree.value_or(0), *p.degree.be_degree);
    if (!p.degree.degree || (out.degree && *p.degree.degree <= *out.degree)) continue;
    out.degree = p.degree.degree;
    out.pod_uid = p.uid;
    out.top = p.degree.top;
  }
  return out;
}

}  // namespace koordlet::policy
