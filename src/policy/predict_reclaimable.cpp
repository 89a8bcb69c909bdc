#include "policy/predict_reclaimable.hpp"

#include <algorithm>
#include <set>

namespace koordlet::policy {
namespace {

std::int64_t widened(std::int64_t v, int margin_percent) {
  return static_cast<std::int64_t>(static_cast<__int128>(v) * (100 + margin_percent) / 100);
}

PeakAmount widened(PeakAmount a, int percent) {
  return {{widened(a.cpu.v, percent)}, {widened(a.memory.v, percent)}};
}

PeakAmount operator+(PeakAmount a, PeakAmount b) { return {a.cpu + b.cpu, a.memory + b.memory}; }

PeakAmount smaller(PeakAmount a, PeakAmount b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

PeakAmount larger(PeakAmount a, PeakAmount b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}

/// a - b, 0 at least.
PeakAmount left(PeakAmount a, PeakAmount b) {
  return {std::max(a.cpu - b.cpu, MilliCpu{}), std::max(a.memory - b.memory, Bytes{})};
}

Reclaimable by_pods(const ReclaimableInput& input) {
  PeakAmount used, reclaimable, unpredicted;
  Reclaimable out;
  for (const auto& pod : input.pods) {
    if (pod.cold) {
      unpredicted = unpredicted + pod.request;
    } else if (pod.ended) {
      continue;
    } else if (!pod.peak) {
      unpredicted = unpredicted + pod.request;
      out.unpredicted.push_back(pod.uid);
    } else {
      const PeakAmount peak = widened(*pod.peak, input.margin_percent);
      used = used + peak;
      reclaimable = reclaimable + left(pod.request, peak);
    }
  }
  out.reclaimable = smaller(left(input.allocatable, used), reclaimable);
  out.peak = used + unpredicted;
  return out;
}

}  // namespace

std::optional<Reclaimable> prod_reclaimable(const ReclaimableInput& input) {
  if (!input.system || !input.prod || !input.none) return std::nullopt;
  Reclaimable out = by_pods(input);
  PeakAmount requests;
  for (const auto& pod : input.pods)
    if (!pod.ended) requests = requests + pod.request;
  const PeakAmount used = widened(*input.system + *input.prod + *input.none, input.margin_percent);
  const PeakAmount by_class = smaller(left(input.allocatable, used), left(requests, used));
  out.reclaimable = smaller(out.reclaimable, by_class);
  out.peak = larger(out.peak, used);
  return out;
}

PeakAmount pod_request(const Pod& pod) {
  PeakAmount sum, init;
  for (const auto& c : pod.containers) {
    const PeakAmount one{c.requests.cpu.value_or(MilliCpu{}), c.requests.memory.value_or(Bytes{})};
    if (c.init) {
      init = larger(init, one);
    } else {
      sum = sum + one;
    }
  }
  // The sandbox's own share comes on top of either.
  return larger(sum, init) +
         PeakAmount{pod.overhead.cpu.value_or(MilliCpu{}), pod.overhead.memory.value_or(Bytes{})};
}

bool is_reclaimable_class(const Pod& pod) {
  const auto p = priority_class_with_default(pod);
  return p == PriorityClass::kProd || p == PriorityClass::kNone;
}

}  // namespace koordlet::policy
