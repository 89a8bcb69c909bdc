#include "store/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>

#include "store/bits.hpp"
#include "store/window.hpp"

namespace koordlet::store {
namespace {

constexpr double kGamma = (1 + QuantileSketch::kAccuracy) / (1 - QuantileSketch::kAccuracy);
const double kLogGamma = std::log(kGamma);

}  // namespace

// Bin i of the paper holds gamma^(i-1) < v <= gamma^i; whole numbers start at i = 0 (v = 1),
// here 1.
std::int32_t QuantileSketch::bin_of(std::int64_t value) {
  if (value == 0) return 0;
  const double size = std::abs(static_cast<double>(value));
  const auto bin = static_cast<std::int32_t>(std::ceil(std::log(size) / kLogGamma)) + 1;
  return value > 0 ? bin : -bin;
}

double QuantileSketch::value_of(std::int32_t bin) {
  if (bin == 0) return 0;
  const double size = 2 * std::pow(kGamma, std::abs(bin) - 1) / (kGamma + 1);
  return bin > 0 ? size : -size;
}

void QuantileSketch::add(std::int64_t value, std::uint64_t times) { add_bin(bin_of(value), times); }

void QuantileSketch::add_bin(std::int32_t bin, std::uint64_t times) {
  if (times == 0) return;
  count_ += times;
  if (counts_.empty()) {
    first_ = bin;
  } else if (bin < first_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - bin), 0);
    first_ = bin;
  }
  const auto at = static_cast<std::size_t>(bin - first_);
  if (at >= counts_.size()) counts_.resize(at + 1, 0);
  counts_[at] += times;
}

void QuantileSketch::merge(const QuantileSketch& other) {
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    add_bin(other.first_ + static_cast<std::int32_t>(i), other.counts_[i]);
  }
}

double QuantileSketch::quantile(double q) const {
  const std::uint64_t rank = rank_index(count_, q);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen > rank) return value_of(first_ + static_cast<std::int32_t>(i));
  }
  return 0;
}

std::size_t QuantileSketch::bins() const {
  return static_cast<std::size_t>(
      std::count_if(counts_.begin(), counts_.end(), [](std::uint64_t n) { return n > 0; }));
}

// Number of bins, first bin, then for each bin: distance to the one before (bits 1 and up) and
// whether a count follows (bit 0; none: 1).
void QuantileSketch::append_to(std::string& out) const {
  put_varint(out, bins());
  std::int32_t before = 0;
  bool first = true;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const auto bin = first_ + static_cast<std::int32_t>(i);
    const auto step = first ? zigzag(bin) : static_cast<std::uint64_t>(bin - before - 1);
    put_varint(out, step << 1 | (counts_[i] > 1 ? 1U : 0U));
    if (counts_[i] > 1) put_varint(out, counts_[i]);
    before = bin;
    first = false;
  }
}

bool QuantileSketch::merge_from(std::string_view& bytes) {
  std::uint64_t bins = 0;
  if (!get_varint(bytes, bins) || bins > kMaxBins) return false;
  std::int64_t bin = 0;
  for (std::uint64_t i = 0; i < bins; ++i) {
    std::uint64_t step = 0, times = 1;
    if (!get_varint(bytes, step)) return false;
    if ((step & 1) != 0 && !get_varint(bytes, times)) return false;
    step >>= 1;
    if (step > 2 * kHighestBin || times == 0 || times > UINT32_MAX) return false;
    bin = i == 0 ? unzigzag(step) : bin + static_cast<std::int64_t>(step) + 1;
    if (bin < -kHighestBin || bin > kHighestBin) return false;
    add_bin(static_cast<std::int32_t>(bin), times);
  }
  return true;
}

bool QuantileSketch::skip(std::string_view& bytes) {
  std::uint64_t bins = 0, v = 0;
  if (!get_varint(bytes, bins) || bins > kMaxBins) return false;
  for (std::uint64_t i = 0; i < bins; ++i) {
    if (!get_varint(bytes, v)) return false;
    if ((v & 1) != 0 && !get_varint(bytes, v)) return false;
  }
  return true;
}

}  // namespace koordlet::store
