#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "policy/evict_rules.hpp"

namespace koordlet::policy {

/// CPU samples of the last seconds as means: a ring of at most kSlots + 1 slots, each with the sums
/// of its samples, so that an hour costs as much as a minute. Means are exact (sums / counts).
class CpuWindow {
 public:
  static constexpr int kSlots = 60;
  struct Sample {
    MonoTime at;
    std::chrono::milliseconds length{0};  ///< of the step that it is the rate of; 0: unknown
    MilliCpu node_used;
    std::optional<BeCpuLoad> be;  ///< all three series, or none
  };
  /// What is older than `window` before this sample is dropped.
  void add(const Sample& sample, std::chrono::seconds window);
  void clear() { slots_.clear(); }

  /// True when the samples together last for a third of the window (reference 4).
  bool covers(std::chrono::seconds window) const;
  bool covers_be(std::chrono::seconds window) const;
  std::chrono::milliseconds covered() const;  ///< by all samples
  std::optional<MilliCpu> node_mean() const;
  std::optional<BeCpuLoad> be_mean() const;
  std::size_t slots() const { return slots_.size(); }
  /// For recordings: names its fields to an archive, which writes or fills them.
  template <class A>
  void describe(A& a) {
    a("slots", slots_);
  }
  friend bool operator==(const CpuWindow&, const CpuWindow&) = default;

 private:
  struct Slot {
    MonoTime from;
    std::int64_t count = 0, be_count = 0;
    std::chrono::milliseconds length{0}, be_length{0};
    std::int64_t node_used = 0;
    BeCpuLoad be;
    template <class A>
    void describe(A& a) {
      a("from", from);
      a("count", count);
      a("be_count", be_count);
      a("length", length);
      a("be_length", be_length);
      a("node_used", node_used);
      a("be_used", be.used);
      a("be_request", be.request);
      a("be_limit", be.limit);
    }
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  std::deque<Slot> slots_;  ///< oldest first
};

}  // namespace koordlet::policy
