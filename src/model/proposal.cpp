#include "model/proposal.hpp"

namespace koordlet {

std::string_view to_string(Role r) {
  switch (r) {
    case Role::kBase:
      return "base";
    case Role::kBoost:
      return "boost";
    case Role::kCap:
      return "cap";
  }
  return "?";
}

std::string_view to_string(OutcomeKind k) {
  switch (k) {
    case OutcomeKind::kUnchanged:
      return "unchanged";
    case OutcomeKind::kWritten:
      return "written";
    case OutcomeKind::kGone:
      return "gone";
    case OutcomeKind::kRefused:
      return "refused";
    case OutcomeKind::kUnsupported:
      return "unsupported";
    case OutcomeKind::kPending:
      return "pending";
    case OutcomeKind::kDryRun:
      return "dry-run";
  }
  return "?";
}

}  // namespace koordlet
