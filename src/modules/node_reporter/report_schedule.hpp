#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "model/node_metric.hpp"

namespace koordlet {

/// The configured interval, else the spec's when the object states one, else 60 s; 10 s at least.
std::chrono::seconds report_interval(std::optional<std::chrono::seconds> configured,
                                     const NodeMetricSpec* spec);

/// When reports are due. Regular ones keep absolute deadlines one interval apart, however long a
/// report takes; missed ones are skipped. Urgent ones come in between and move nothing.
class ReportSchedule {
 public:
  static constexpr std::chrono::seconds kUrgentGap{10};  ///< between two urgent ones

  /// The first report is due one interval from now.
  void start(MonoTime now, std::chrono::seconds interval);
  /// Applies at once: the next is due one new interval after the last.
  void set_interval(std::chrono::seconds interval) { interval_ = interval; }
  std::chrono::seconds interval() const { return interval_; }
  void ask_urgent() { urgent_ = true; }
  /// Nothing is due before `t`: the server asked for it.
  void hold_until(MonoTime t) { hold_ = t; }

  /// True: a report is due and counts as made. A regular one that falls into a hold is skipped, an
  /// urgent one waits for its end.
  bool take(MonoTime now);
  MonoTime next() const;  ///< when take() has something to do
  MonoTime held_until() const { return hold_; }

 private:
  std::optional<MonoTime> urgent_due() const;

  MonoTime last_{};  ///< deadline of the last regular report, or the start
  std::chrono::seconds interval_{60};
  bool urgent_ = false;
  std::optional<MonoTime> last_urgent_;
  MonoTime hold_{};
};

}  // namespace koordlet
