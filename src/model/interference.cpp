#include "model/interference.hpp"

namespace koordlet {

std::string_view to_string(InterferenceComponent c) {
  switch (c) {
    case InterferenceComponent::kCpu:
      return "cpu";
    case InterferenceComponent::kMicro:
      return "micro";
    case InterferenceComponent::kMemory:
      return "memory";
    case InterferenceComponent::kIo:
      break;
  }
  return "io";
}

std::string_view to_string(InterferenceLevel l) {
  switch (l) {
    case InterferenceLevel::kNone:
      return "none";
    case InterferenceLevel::kMid:
      return "mid";
    case InterferenceLevel::kHigh:
      break;
  }
  return "high";
}

}  // namespace koordlet
