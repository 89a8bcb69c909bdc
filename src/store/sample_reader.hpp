#pragma once

#include <cstdint>
#include <vector>

#include "store/metric_row.hpp"
#include "store/row_log.hpp"
#include "store/seal_log.hpp"

namespace koordlet::store {

/// One series and a window, both ends included; the samples go to `samples`, in order of time.
struct WantedSamples {
  std::uint32_t id = 0;
  StoredTime from{0}, to{0};
  std::vector<TimedValue> samples;
  std::size_t group = 0;  ///< where the last row had it
  bool covers(StoredTime at) const { return from <= at && at <= to; }
};

/// Reads samples of some series in one pass over the seals and then over the rows behind them. All
/// references outlive it.
class SampleReader {
 public:
  SampleReader(RowLog& rows, SealLog& seals) : rows_{rows}, seals_{seals} {}
  /// `wanted` by rising id, no repeats. `sealed_until`: rows up to it are dead. What cannot be read
  /// is skipped and counted.
  Result<void> read(std::vector<WantedSamples>& wanted, StoredTime sealed_until);
  std::uint64_t damaged() const { return damaged_; }
  /// A row or a block that another reader found damaged.
  void count_damaged(std::uint64_t n = 1) { damaged_ += n; }
  /// The newest sample of a series in a seal.
  std::optional<TimedValue> last_in(SealView& seal, std::uint32_t id);

 private:
  Result<void> read_seals(std::vector<WantedSamples>& wanted, StoredTime from, StoredTime to);
  Result<void> read_rows(std::vector<WantedSamples>& wanted, StoredTime from, StoredTime to);
  bool decode(SealView& seal, const GroupReader::Entry& entry);
  void take(WantedSamples& wanted);
  void look_up(const RowReader& row, StoredTime at, std::vector<WantedSamples>& wanted);

  RowLog& rows_;
  SealLog& seals_;
  std::uint64_t damaged_ = 0;
  // Of the seal or row in hand; kept for their memory.
  std::vector<std::uint32_t> ids_, pattern_rows_;
  std::vector<std::int64_t> times_, values_;
  std::vector<RowEntry> entries_;
};

}  // namespace koordlet::store
