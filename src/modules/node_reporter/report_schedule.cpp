#include "modules/node_reporter/report_schedule.hpp"

#include <algorithm>

namespace koordlet {

using std::chrono::seconds;

seconds report_interval(std::optional<seconds> configured, const NodeMetricSpec* spec) {
  constexpr seconds kLeast{10};
  constexpr seconds kDefault{60};
  if (configured) return std::max(*configured, kLeast);
  if (spec != nullptr && spec->interval_given) return std::max(spec->report_interval, kLeast);
  return kDefault;
}

void ReportSchedule::start(MonoTime now, seconds interval) {
  last_ = now;
  interval_ = interval;
}

std::optional<MonoTime> ReportSchedule::urgent_due() const {
  if (!urgent_) return std::nullopt;
  return std::max(hold_, last_urgent_ ? *last_urgent_ + kUrgentGap : MonoTime{});
}

bool ReportSchedule::take(MonoTime now) {
  const auto passed = now < last_ ? 0 : (now - last_) / interval_;
  last_ += passed * interval_;
  const auto urgent = urgent_due();
  if (urgent && now >= *urgent) {
    urgent_ = false;
    last_urgent_ = now;
    return true;
  }
  return passed > 0 && now >= hold_;
}

MonoTime ReportSchedule::next() const {
  const auto regular = last_ + interval_;
  const auto urgent = urgent_due();
  return urgent ? std::min(regular, *urgent) : regular;
}

}  // namespace koordlet
