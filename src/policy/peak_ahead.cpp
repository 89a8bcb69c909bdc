#include "policy/peak_ahead.hpp"

#include <utility>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

bool reaches(const SeriesPrediction& series, double capacity, int percent) {
  return capacity > 0 && series.forecast && !series.forecast->cold &&
         series.forecast->peak * 100 >= capacity * percent;
}

std::string line(const char* what, const SeriesPrediction& series, double capacity, int percent) {
  return fmt::format("a {} peak of {:.0f} % is forecast, threshold {} %",
                     what,
                     series.forecast->peak * 100 / capacity,
                     percent);
}

}  // namespace

std::string peak_ahead(const Prediction& node, const PeakLimits& limits) {
  const double cores = static_cast<double>(limits.cpu.v) / 1000;
  const auto bytes = static_cast<double>(limits.memory.v);
  std::string out;
  if (reaches(node.cpu, cores, limits.percent)) out = line("CPU", node.cpu, cores, limits.percent);
  if (reaches(node.memory, bytes, limits.percent)) {
    if (!out.empty()) out += "; ";
    out += line("memory", node.memory, bytes, limits.percent);
  }
  return out;
}

PeakWatch watch_peak(PeakWatch watch,
                     const std::string& ahead,
                     MonoTime now,
                     std::chrono::seconds after) {
  const bool warned = !watch.warning.empty();
  watch.watch = watch_high(watch.watch, !ahead.empty(), now, after);
  const bool lasting = watch.lasting().value_or(false);
  if (!lasting) watch.warning.clear();
  if (lasting && !ahead.empty()) watch.warning = ahead;
  watch.changed = warned == watch.warning.empty();
  return watch;
}

}  // namespace koordlet::policy
