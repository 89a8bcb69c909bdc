#include "store/seal_job.hpp"

#include <algorithm>

namespace koordlet::store {

void SealJob::begin(std::vector<std::int64_t> times,
                    std::uint32_t ids,
                    std::uint64_t samples,
                    const Pace& pace) {
  writer_.emplace(std::move(times));
  next_id_ = 0;
  end_id_ = ids;
  const auto share = pace.samples * ids / std::max<std::uint64_t>(samples, 1);
  ids_per_step_ = static_cast<std::uint32_t>(std::clamp(share, pace.least, pace.most));
}

Result<void> SealJob::step(const Fill& fill) {
  const auto from = next_id_;
  const auto to = from + std::min(ids_per_step_, end_id_ - from);
  auto r = fill(from, to);
  if (r) r = put(to, from == end_id_);
  if (r) return r;
  const auto error = r.error();
  if (auto undone = abandon(); !undone) return undone;
  return error;
}

Result<void> SealJob::put(std::uint32_t to, bool last) {
  const auto parts = writer_->take(last);
  if (!room_.has(parts.bytes)) return lmdb_error(MDB_MAP_FULL, name_ + ": append");
  if (auto r = log_.put(writer_->end(), parts.groups, parts.head); !r) return r;
  next_id_ = to;
  if (!last) return {};
  log_.finished(writer_->info());
  writer_.reset();
  return {};
}

Result<void> SealJob::abandon() {
  if (!writer_) return {};
  writer_.reset();
  return log_.drop_unfinished();
}

}  // namespace koordlet::store
