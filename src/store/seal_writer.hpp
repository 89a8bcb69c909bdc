#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/seal_format.hpp"
#include "store/seal_log.hpp"

namespace koordlet::store {

/// One seal in the making: its series by rising id, over several steps.
class SealWriter {
 public:
  /// `times`: ms, rising, not empty.
  explicit SealWriter(std::vector<std::int64_t> times)
      : times_{std::move(times)}, patterns_{times_.size()} {}
  const std::vector<std::int64_t>& times() const { return times_; }
  StoredTime begin() const { return StoredTime{times_.front()}; }
  StoredTime end() const { return StoredTime{times_.back()}; }
  SealInfo info() const { return {begin(), end(), times_.size(), series_, samples_}; }

  void add(std::uint32_t id, std::span<const std::uint32_t> rows, std::string_view block) {
    groups_.add(id, patterns_.add(rows), block);
    ++series_;
    samples_ += rows.size();
  }
  struct Parts {
    std::vector<GroupBuilder::Group> groups;
    std::string head;  ///< empty until the end
    std::uint64_t bytes = 0;
  };
  /// What is complete by now; with `last` the rest and the head.
  Parts take(bool last) {
    Parts out;
    if (last) groups_.finish();
    out.groups = groups_.take();
    if (last) encode_seal_head(times_, patterns_, series_, samples_, out.head);
    for (const auto& g : out.groups) out.bytes += g.bytes.size();
    out.bytes += out.head.size();
    return out;
  }

 private:
  std::vector<std::int64_t> times_;
  PatternTable patterns_;
  GroupBuilder groups_;
  std::uint64_t series_ = 0, samples_ = 0;
};

}  // namespace koordlet::store
