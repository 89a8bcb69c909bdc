#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/map_room.hpp"
#include "store/seal_log.hpp"
#include "store/seal_writer.hpp"

namespace koordlet::store {

/// A seal in the making, some series a step, into one log. A seal that is not finished is not there
/// for readers. All references outlive it.
class SealJob {
 public:
  /// `name`: of the log, for errors.
  SealJob(LmdbEnv& env, SealLog& log, std::string name)
      : room_{env}, log_{log}, name_{std::move(name)} {}
  bool active() const { return writer_.has_value(); }
  SealWriter& writer() { return *writer_; }

  /// How much one step takes: series that have about so many samples together, but `least` to
  /// `most` series.
  struct Pace {
    std::uint64_t samples, least, most;
  };
  /// `times` as for SealWriter; `ids`: the end of the ids in use, `samples`: of all of them.
  void begin(std::vector<std::int64_t> times,
             std::uint32_t ids,
             std::uint64_t samples,
             const Pace& pace);
  /// `fill` adds the series with from <= id < to to writer(). The step after the last series
  /// (from == to: nothing to add) finishes the seal. After an error it is given up; MDB_MAP_FULL:
  /// there is no room.
  using Fill = std::function<Result<void>(std::uint32_t from, std::uint32_t to)>;
  Result<void> step(const Fill& fill);
  Result<void> abandon();

 private:
  Result<void> put(std::uint32_t to, bool last);

  MapRoom room_;
  SealLog& log_;
  std::string name_;
  std::optional<SealWriter> writer_;
  std::uint32_t next_id_ = 0, end_id_ = 0, ids_per_step_ = 0;
};

}  // namespace koordlet::store
