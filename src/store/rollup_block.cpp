#include "store/rollup_block.hpp"

#include <algorithm>

#include "store/sample_block.hpp"

namespace koordlet::store {
namespace {

using U = std::uint64_t;

enum Shape : char { kSingle = 0, kColumns = 1 };

// Columns are kept as the distance from the minimum; the arithmetic wraps.
std::int64_t above(std::int64_t v, std::int64_t min) {
  return static_cast<std::int64_t>(static_cast<U>(v) - static_cast<U>(min));
}
std::int64_t restored(std::int64_t distance, std::int64_t min) {
  return static_cast<std::int64_t>(static_cast<U>(distance) + static_cast<U>(min));
}

// Whole part of the mean, rounded down, so that the rest is 0 to count - 1.
std::int64_t floor_mean(const Moments& m) {
  const auto n = static_cast<__int128>(m.count);
  const auto q = m.sum / n;
  return static_cast<std::int64_t>(m.sum % n < 0 ? q - 1 : q);
}

// What no samples add up to is damage.
bool is_sound(const Moments& m, std::int64_t rest) {
  const auto n = static_cast<__int128>(m.count);
  return m.min <= m.last && m.last <= m.max && rest >= 0 && rest < n && m.sum >= m.min * n &&
         m.sum <= m.max * n;
}

template <class F>
void append_column(std::span<const MinuteRollup> minutes, F of, std::string& out) {
  std::vector<std::int64_t> column;
  column.reserve(minutes.size());
  for (const auto& m : minutes) column.push_back(of(m.moments));
  append_block(column, out);
}

}  // namespace

void append_rollups(std::span<const MinuteRollup> minutes, std::string& out) {
  const bool single = std::all_of(
      minutes.begin(), minutes.end(), [](const auto& m) { return m.moments.count == 1; });
  out += single ? kSingle : kColumns;
  append_column(
      minutes, [](const Moments& m) { return m.min; }, out);
  if (single) return;
  append_column(
      minutes, [](const Moments& m) { return static_cast<std::int64_t>(m.count); }, out);
  append_column(
      minutes, [](const Moments& m) { return above(m.max, m.min); }, out);
  append_column(
      minutes, [](const Moments& m) { return above(m.last, m.min); }, out);
  append_column(
      minutes, [](const Moments& m) { return above(floor_mean(m), m.min); }, out);
  append_column(
      minutes,
      [](const Moments& m) {
        return static_cast<std::int64_t>(m.sum - static_cast<__int128>(floor_mean(m)) *
                                                     static_cast<__int128>(m.count));
      },
      out);
  for (const auto& m : minutes) {
    if (m.moments.count == 1) continue;  // its value says it all
    QuantileSketch sketch;
    for (const auto v : m.values) sketch.add(v);
    sketch.append_to(out);
  }
}

std::optional<RollupReader> RollupReader::open(std::string_view block, std::size_t minutes) {
  if (block.empty() || minutes == 0) return std::nullopt;
  RollupReader out;
  const char shape = block[0];
  block.remove_prefix(1);
  if (shape != kSingle && shape != kColumns) return std::nullopt;
  out.single_ = shape == kSingle;
  if (!read_block(block, minutes, out.min_)) return std::nullopt;
  if (out.single_) return out;
  for (auto* column : {&out.count_, &out.max_, &out.last_, &out.mean_, &out.rest_}) {
    if (!read_block(block, minutes, *column)) return std::nullopt;
  }
  const auto sound = [](std::int64_t n) { return n >= 1 && n <= UINT32_MAX; };
  if (!std::all_of(out.count_.begin(), out.count_.end(), sound)) return std::nullopt;
  out.sketches_ = block;
  for (std::size_t i = 0; i < minutes; ++i) {
    if (!is_sound(out.moments(i), out.rest_[i])) return std::nullopt;
  }
  return out;
}

Moments RollupReader::moments(std::size_t i) const {
  Moments m;
  m.min = min_[i];
  if (single_) {
    m.count = 1;
    m.max = m.last = m.min;
    m.sum = m.min;
    return m;
  }
  m.count = static_cast<U>(count_[i]);
  m.max = restored(max_[i], m.min);
  m.last = restored(last_[i], m.min);
  m.sum =
      static_cast<__int128>(restored(mean_[i], m.min)) * static_cast<__int128>(m.count) + rest_[i];
  return m;
}

bool RollupReader::add_next_sketch(std::size_t i, bool wanted, QuantileSketch& to) {
  if (single_ || count_[i] == 1) {
    if (wanted) to.add(min_[i]);
    return true;
  }
  return wanted ? to.merge_from(sketches_) : QuantileSketch::skip(sketches_);
}

}  // namespace koordlet::store
