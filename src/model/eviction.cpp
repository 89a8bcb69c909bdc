#include "model/eviction.hpp"

#include <algorithm>
#include <limits>

namespace koordlet {

std::string_view to_string(EvictResource r) {
  switch (r) {
    case EvictResource::kMemoryUsed:
      return "memory-used";
    case EvictResource::kCpuUsed:
      return "cpu-used";
    case EvictResource::kBatchCpu:
      return "batch-cpu";
    case EvictResource::kMidCpu:
      return "mid-cpu";
    case EvictResource::kCpu:
      return "cpu";
    case EvictResource::kBatchMemory:
      return "batch-memory";
    case EvictResource::kMidMemory:
      return "mid-memory";
    case EvictResource::kMemory:
      return "memory";
  }
  return "?";
}

bool is_memory(EvictResource r) {
  return r == EvictResource::kMemoryUsed || r == EvictResource::kBatchMemory ||
         r == EvictResource::kMidMemory || r == EvictResource::kMemory;
}

bool EvictAmounts::none() const {
  return std::all_of(v_.begin(), v_.end(), [](std::int64_t v) { return v == 0; });
}

EvictAmounts& EvictAmounts::operator+=(const EvictAmounts& other) {
  for (std::size_t i = 0; i < v_.size(); ++i) {
    const auto room = std::numeric_limits<std::int64_t>::max() - v_[i];
    v_[i] += std::min(other.v_[i], room);
  }
  return *this;
}

std::string_view to_string(EvictionResult r) {
  switch (r) {
    case EvictionResult::kAccepted:
      return "accepted";
    case EvictionResult::kRefused:
      return "refused";
    case EvictionResult::kGone:
      return "gone";
    case EvictionResult::kNotSame:
      return "not-same";
    case EvictionResult::kForbidden:
      return "forbidden";
    case EvictionResult::kFailed:
      return "failed";
    case EvictionResult::kUnreachable:
      return "unreachable";
    case EvictionResult::kDropped:
      return "dropped";
    case EvictionResult::kDryRun:
      return "dry-run";
  }
  return "?";
}

}  // namespace koordlet
