#include "modules/predict_server/impl.hpp"

namespace koordlet {
namespace {

/// As the wire has it: fractions are cut off.
std::optional<policy::PeakAmount> usual_of(const predict::Model& model) {
  const auto& cpu = model.shown.cpu.usual;
  const auto& memory = model.shown.memory.usual;
  if (!cpu || !memory) return std::nullopt;
  return policy::PeakAmount{{static_cast<std::int64_t>(*cpu * 1000)},
                            {static_cast<std::int64_t>(*memory)}};
}

}  // namespace

/// A class that nobody fed for long is not known any more.
const predict::Model* PredictServer::Impl::fresh(std::string_view key, MonoTime now) const {
  const auto at = models.find(key);
  if (at == models.end() || now - at->second.updated > config.expiry) return nullptr;
  return &at->second;
}

std::optional<policy::Reclaimable> PredictServer::reclaimable(
    const NodeState& state, const std::optional<policy::PeakAmount>& allocatable) const {
  const auto& s = *impl_;
  if (!allocatable || state.pods_at == MonoTime{}) return std::nullopt;
  const auto now = s.clock.now();
  const auto usual = [&](std::string_view key) {
    const auto* model = s.fresh(key, now);
    return model != nullptr ? usual_of(*model) : std::nullopt;
  };
  policy::ReclaimableInput input;
  input.allocatable = *allocatable;
  input.margin_percent = s.config.margin_percent;
  input.system = usual(predict::kSystemKey);
  input.prod = usual(predict::class_key(PriorityClass::kProd));
  input.none = usual(predict::class_key(PriorityClass::kNone));
  for (const auto& pod : state.pods) {
    // One that has ended holds nothing; one that is about to end still uses what it used.
    if (!policy::is_reclaimable_class(*pod) || !is_active(*pod)) continue;
    policy::ReclaimablePod& p = input.pods.emplace_back();
    p.uid = pod->uid;
    p.request = policy::pod_request(*pod);
    p.ended = pod->terminating;
    p.cold = true;
    const auto at = s.models.find(predict::pod_key(pod->uid));
    if (at == s.models.end()) continue;
    const auto& shown = at->second.shown;
    p.peak = usual_of(at->second);
    p.cold = shown.cpu.learned < s.config.cold_start || shown.memory.learned < s.config.cold_start;
  }
  return policy::prod_reclaimable(input);
}

}  // namespace koordlet
