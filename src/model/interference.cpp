#include "model/interference.hpp"

#include <algorithm>

namespace koordlet {
namespace {

bool lacks(const InterferenceDegree& d, std::string_view signal) {
  return std::find(d.missing.begin(), d.missing.end(), signal) != d.missing.end();
}

}  // namespace

std::optional<double> component_of(const InterferenceDegree& d, InterferenceComponent c) {
  if (!d.degree) return std::nullopt;
  const auto unless = [](bool unknown, double value) {
    return unknown ? std::nullopt : std::optional{value};
  };
  switch (c) {
    case InterferenceComponent::kCpu:
      return unless(lacks(d, "run queue") && lacks(d, "cpu psi"), d.cpu);
    case InterferenceComponent::kMicro:
      return unless(lacks(d, "cpi") || lacks(d, "cpi baseline"), d.micro);
    case InterferenceComponent::kMemory:
      return unless(lacks(d, "memory psi"), d.memory);
    case InterferenceComponent::kIo:
      break;
  }
  return unless(lacks(d, "io psi"), d.io);
}

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
