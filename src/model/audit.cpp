#include "model/audit.hpp"

namespace koordlet {

std::string_view to_string(AuditKind k) {
  switch (k) {
    case AuditKind::kWritten:
      return "written";
    case AuditKind::kRestored:
      return "restored";
    case AuditKind::kRefused:
      return "refused";
    case AuditKind::kLevel:
      return "level";
    case AuditKind::kEviction:
      return "eviction";
    case AuditKind::kReclaim:
      return "reclaim";
    case AuditKind::kPolicy:
      return "policy";
    case AuditKind::kEffect:
      return "effect";
    case AuditKind::kIneffective:
      return "ineffective";
    case AuditKind::kStarvation:
      return "starvation";
  }
  return "?";
}

void AuditLog::add(AuditEvent event) {
  event.seq = ++last_;
  if (events_.size() >= capacity_) events_.pop_front();
  events_.push_back(std::move(event));
}

std::vector<const AuditEvent*> AuditLog::newest(
    std::size_t most, const std::function<bool(const AuditEvent&)>& wanted) const {
  std::vector<const AuditEvent*> out;
  for (auto e = events_.rbegin(); e != events_.rend() && out.size() < most; ++e) {
    if (wanted(*e)) out.push_back(&*e);
  }
  return out;
}

}  // namespace koordlet
