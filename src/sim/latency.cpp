#include "sim/latency.hpp"

#include <algorithm>

namespace koordlet::sim {

double latency_p99_ms(const LatencyModel& model, double demand, double given) {
  if (demand <= 0) return model.base_ms;
  const double missing = std::clamp((demand - given) / demand, 0.0, 1.0);
  return model.base_ms * (1 + model.growth * missing);
}

double slowdown_percent(double demand, double given) {
  if (demand <= 0) return 0;
  const double share = std::clamp(given / demand, 0.001, 1.0);
  return (1 / share - 1) * 100;
}

}  // namespace koordlet::sim
