#include <algorithm>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "store/rollup_block.hpp"

namespace {

using namespace koordlet::fuzz;
using namespace koordlet::store;

void check_foreign(std::string_view block, std::size_t minutes) {
  auto reader = RollupReader::open(block, minutes);
  if (!reader) return;
  for (std::size_t i = 0; i < minutes; ++i) {
    const auto m = reader->moments(i);
    require(m.count >= 1, "a minute has a sample");
    require(m.min <= m.last && m.last <= m.max, "the last one lies between the borders");
    const auto mean = m.mean();
    require(mean >= static_cast<double>(m.min) && mean <= static_cast<double>(m.max),
            "so does the mean");
  }
  QuantileSketch sketch;
  for (std::size_t i = 0; i < minutes; ++i)
    if (!reader->add_next_sketch(i, i % 2 == 0, sketch)) return;
  if (sketch.count() > 0) static_cast<void>(sketch.quantile(0.5));
}

void round_trip(Choices from) {
  std::vector<MinuteRollup> minutes(1 + from.byte() % 8);
  std::uint32_t row = 0;
  for (auto& minute : minutes) {
    minute.row = row++;
    for (int i = 1 + from.byte() % 3; i > 0; --i) {
      const auto v = static_cast<std::int64_t>(from.flag() ? from.number() : from.number(2));
      minute.values.push_back(v);
      minute.moments.add(TimedValue{{}, v});
    }
  }
  std::string block;
  append_rollups(minutes, block);
  auto reader = RollupReader::open(block, minutes.size());
  require(reader.has_value(), "an own block can be read");
  for (std::size_t i = 0; i < minutes.size(); ++i) {
    const auto &was = minutes[i].moments, is = reader->moments(i);
    require(is.count == was.count && is.min == was.min && is.max == was.max &&
                is.last == was.last && is.sum == was.sum,
            "a minute comes back");
    QuantileSketch sketch;
    require(reader->add_next_sketch(i, true, sketch), "its sketch can be read");
    require(sketch.count() == was.count, "its sketch has all values");
  }
}

}  // namespace

/// One byte: how many minutes the block is said to hold. The rest is a block, and numbers.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices from{text_of(data, size)};
  const std::size_t minutes = from.byte();
  check_foreign(from.rest(), minutes);
  round_trip(from);
  return 0;
}
