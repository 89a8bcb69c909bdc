#include "modules/predict_server/model.hpp"

#include <algorithm>

namespace koordlet::predict {
namespace {

// What prodReclaimable goes by (reference metrics 5.5).
constexpr double kCpuShare = 0.95, kMemoryShare = 0.98;
// The least amount of memory that matters: a page cache's noise is more.
constexpr double kMemoryResolution = 1 << 20;

policy::SeriesPrediction show_series(const policy::Forecaster& f, double share) {
  policy::SeriesPrediction out;
  out.forecast = f.forecast();
  out.line = f.line();
  out.score = f.score();
  if (!f.histogram().empty()) out.usual = f.histogram().percentile(share);
  if (f.history().started()) out.learned = f.history().last_at() - f.state().since;
  return out;
}

std::string_view class_name(PriorityClass c) {
  switch (c) {
    case PriorityClass::kProd:
      return "prod";
    case PriorityClass::kMid:
      return "mid";
    case PriorityClass::kBatch:
      return "batch";
    case PriorityClass::kFree:
      return "free";
    case PriorityClass::kNone:
      break;
  }
  return "none";
}

}  // namespace

std::string class_key(PriorityClass c) { return std::string{kClassPrefix}.append(class_name(c)); }

std::string pod_key(std::string_view uid) { return std::string{kPodPrefix}.append(uid); }

std::string_view pod_of(std::string_view key) {
  return key.starts_with(kPodPrefix) ? key.substr(kPodPrefix.size()) : std::string_view{};
}

bool is_key(std::string_view key) {
  if (key == kNodeKey || key == kSystemKey || !pod_of(key).empty()) return true;
  return std::any_of(std::begin(kClasses), std::end(kClasses), [&](PriorityClass c) {
    return key == class_key(c);
  });
}

policy::ForecastConfig cpu_config(std::chrono::seconds window) {
  policy::ForecastConfig out;
  out.horizon = window;
  return out;
}

policy::ForecastConfig memory_config(std::chrono::seconds window) {
  policy::ForecastConfig out;
  out.horizon = window;
  out.resolution = kMemoryResolution;
  out.buckets = policy::kMemoryBuckets;
  out.half_life = std::chrono::hours{24};
  return out;
}

std::size_t Model::bytes() const {
  return sizeof *this - sizeof cpu - sizeof memory + cpu.bytes() + memory.bytes();
}

bool Model::feed(policy::PredictTime at,
                 const std::optional<double>& cores,
                 const std::optional<double>& memory_bytes) {
  bool restarted = false;
  const auto take = [&](policy::Forecaster& f, const std::optional<double>& value) {
    if (!value) return;
    const auto seen = f.observe(at, *value);
    restarted |= seen == policy::Observed::kRestarted;
    changed |= seen == policy::Observed::kTaken || seen == policy::Observed::kRestarted;
  };
  take(cpu, cores);
  take(memory, memory_bytes);
  return restarted;
}

void Model::show() {
  shown.at = updated;
  shown.cpu = show_series(cpu, kCpuShare);
  shown.memory = show_series(memory, kMemoryShare);
  shown.bytes = bytes();
}

}  // namespace koordlet::predict
