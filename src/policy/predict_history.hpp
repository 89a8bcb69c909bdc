#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "policy/predict_histogram.hpp"

namespace koordlet::policy {

/// What became of one observation.
enum class Observed {
  kTaken,
  kRefused,    ///< below 0 or no number, or a time before 1970
  kLate,       ///< older than the newest by less than a slot: ignored
  kRestarted,  ///< the clock went back, or a day is missing: all before it is forgotten
};

/// The peaks of the last day in slots of equal length, and of the last week in days. A slot in
/// which nothing was seen is unknown, never zero.
class PeakHistory {
 public:
  static constexpr int kMostSlots = 288;  ///< of a day: a slot is 5 minutes or longer
  static constexpr int kDays = 7;

  /// `slot`: 300 s to 3600 s, a divisor of a day.
  explicit PeakHistory(std::chrono::seconds slot);

  /// What observe() would make of it.
  Observed judge(PredictTime at, double value) const;
  Observed observe(PredictTime at, double value);
  /// It would open a new slot.
  bool ends_slot(PredictTime at) const { return started() && at / slot_ > s_.newest; }

  std::chrono::seconds slot() const { return slot_; }
  int slots_per_day() const { return per_day_; }
  bool started() const { return s_.newest >= 0; }
  std::int64_t newest() const {
    return s_.newest;
  }  ///< number of the open slot since 1970; -1 none
  PredictTime last_at() const { return PredictTime{s_.last_at_s}; }
  /// Peak of the slot `ago` slots before the open one (0: the open one); nullopt unknown.
  std::optional<double> peak(int ago) const;
  /// Largest known peak of the slots from..to ago (from <= to); nullopt: none known.
  std::optional<double> peak(int from, int to) const;
  int known(int from, int to) const;  ///< how many of them are known
  /// Largest of the last week's daily peaks, each day fading by `fade`.
  std::optional<double> fading_peak(double fade) const;

  // What a checkpoint keeps.
  struct Saved {
    std::int64_t newest = -1, last_at_s = 0;
    std::array<float, kMostSlots>
        slots{};                      ///< by slot number modulo the slots of a day; -1 unknown
    std::array<float, kDays> days{};  ///< by day modulo 7; -1 unknown
    std::int64_t day = -1;            ///< of the newest entry
  };
  const Saved& save() const { return s_; }
  /// False, and no change: numbers that observe() cannot have left.
  bool load(const Saved& saved);
  void clear();

 private:
  void advance(std::int64_t slot);

  std::chrono::seconds slot_;
  int per_day_;
  Saved s_;
};

}  // namespace koordlet::policy
