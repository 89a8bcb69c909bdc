#include "model/eviction.hpp"

namespace koordlet {

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
