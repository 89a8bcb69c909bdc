#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/rollup_block.hpp"
#include "store/seal_job.hpp"
#include "store/seal_log.hpp"

namespace koordlet::store {

/// Turns the seals of one finished hour of stored time into roll-ups of its minutes, some series at
/// a time. All references outlive it.
class Roller {
 public:
  static constexpr StoredTime kSpan = std::chrono::hours{1};
  /// Of one step: 1.2 ms of CPU time when there is a sample a second.
  static constexpr std::uint64_t kSamplesPerStep = 32 << 10;
  static constexpr std::uint64_t kSeriesPerStep = 256;

  Roller(LmdbEnv& env, SealLog& raw, SealLog& minutes)
      : raw_{raw}, minutes_{minutes}, job_{env, minutes, "rollups"} {}
  /// Everything before is rolled up; 0: nothing is.
  StoredTime rolled_until() const;
  bool active() const { return job_.active(); }
  /// `unsealed_from`: every sample before it is sealed.
  bool due(StoredTime unsealed_from) const;
  Result<void> step(std::uint32_t ids);
  Result<void> abandon();
  std::uint64_t damaged_seals() const { return damaged_; }

 private:
  std::optional<StoredTime> next_hour() const;
  Result<void> begin(std::uint32_t ids);
  Result<void> read_columns(std::uint32_t from, std::uint32_t to);
  void add_series(SealView& seal, const GroupReader::Entry& entry, std::vector<MinuteRollup>& to);
  void write_columns(std::uint32_t from);

  SealLog& raw_;
  SealLog& minutes_;
  SealJob job_;
  StoredTime hour_{0};
  std::uint64_t damaged_ = 0;
  std::vector<std::vector<MinuteRollup>> columns_;
  // Of the seal in hand; kept for their memory.
  std::vector<std::uint32_t> minute_rows_;  // of each row of the seal: the row in the roll-ups
  std::vector<std::int64_t> times_, values_;
  std::vector<std::uint32_t> rows_;
  std::string block_;
};

}  // namespace koordlet::store
