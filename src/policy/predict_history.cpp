#include "policy/predict_history.hpp"

#include <algorithm>
#include <cmath>

namespace koordlet::policy {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr float kUnknown = -1;
constexpr double kMost = 1e18;  // no amount of cores or bytes

bool is_peak(float v) { return v == kUnknown || (std::isfinite(v) && v >= 0); }

void raise(float& slot, double value) { slot = std::max(slot, static_cast<float>(value)); }

}  // namespace

PeakHistory::PeakHistory(std::chrono::seconds slot)
    : slot_{slot}, per_day_{static_cast<int>(kDay / slot.count())} {
  clear();
}

void PeakHistory::clear() {
  s_ = {};
  s_.slots.fill(kUnknown);
  s_.days.fill(kUnknown);
}

void PeakHistory::advance(std::int64_t slot) {
  for (std::int64_t i = s_.newest + 1; i <= slot; ++i)
    s_.slots[static_cast<std::size_t>(i % per_day_)] = kUnknown;
  s_.newest = slot;
  const std::int64_t day = slot * slot_.count() / kDay;
  const std::int64_t from = std::max(s_.day + 1, day - kDays + 1);
  for (std::int64_t d = from; d <= day; ++d)
    s_.days[static_cast<std::size_t>(d % kDays)] = kUnknown;
  s_.day = day;
}

Observed PeakHistory::judge(PredictTime at, double value) const {
  if (!std::isfinite(value) || value < 0 || value > kMost || at.count() < 0)
    return Observed::kRefused;
  if (!started()) return Observed::kTaken;
  const PredictTime last{s_.last_at_s};
  if (at < last) return last - at <= slot_ ? Observed::kLate : Observed::kRestarted;
  return at / slot_ - s_.newest > per_day_ ? Observed::kRestarted : Observed::kTaken;
}

Observed PeakHistory::observe(PredictTime at, double value) {
  const Observed out = judge(at, value);
  if (out == Observed::kRefused || out == Observed::kLate) return out;
  if (out == Observed::kRestarted) clear();
  const std::int64_t slot = at / slot_;
  if (!started()) s_.newest = slot - 1;
  advance(slot);
  s_.last_at_s = at.count();
  raise(s_.slots[static_cast<std::size_t>(slot % per_day_)], value);
  raise(s_.days[static_cast<std::size_t>(s_.day % kDays)], value);
  return out;
}

std::optional<double> PeakHistory::peak(int ago) const { return peak(ago, ago); }

std::optional<double> PeakHistory::peak(int from, int to) const {
  float out = kUnknown;
  to = std::min(to, per_day_ - 1);
  for (int ago = from; ago <= to && ago <= s_.newest; ++ago)
    out = std::max(out, s_.slots[static_cast<std::size_t>((s_.newest - ago) % per_day_)]);
  return out == kUnknown ? std::nullopt : std::optional<double>{out};
}

int PeakHistory::known(int from, int to) const {
  int out = 0;
  to = std::min(to, per_day_ - 1);
  for (int ago = from; ago <= to && ago <= s_.newest; ++ago)
    out += s_.slots[static_cast<std::size_t>((s_.newest - ago) % per_day_)] != kUnknown ? 1 : 0;
  return out;
}

std::optional<double> PeakHistory::fading_peak(double fade) const {
  std::optional<double> out;
  double factor = 1;
  for (std::int64_t d = s_.day; d > s_.day - kDays && d >= 0; --d, factor *= fade) {
    const float v = s_.days[static_cast<std::size_t>(d % kDays)];
    if (v != kUnknown) out = std::max(out.value_or(0), factor * v);
  }
  return out;
}

bool PeakHistory::load(const Saved& saved) {
  const bool sound = std::all_of(saved.slots.begin(), saved.slots.end(), is_peak) &&
                     std::all_of(saved.days.begin(), saved.days.end(), is_peak) &&
                     saved.last_at_s >= 0 && saved.newest == saved.last_at_s / slot_.count() &&
                     saved.day == saved.last_at_s / kDay;
  if (sound) s_ = saved;
  return sound;
}

}  // namespace koordlet::policy
