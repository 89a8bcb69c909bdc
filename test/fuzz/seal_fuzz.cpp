#include <string>
#include <vector>

#include "fuzz.hpp"
#include "store/seal_format.hpp"

namespace {

using namespace koordlet::fuzz;
using namespace koordlet::store;

void check_head(std::string_view bytes) {
  const auto head = SealHead::open(bytes);
  if (!head) return;
  std::vector<std::int64_t> times;
  if (head->times(times)) {
    require(times.size() == head->rows(), "each row has a time");
    for (std::size_t i = 1; i < times.size(); ++i)
      require(times[i - 1] < times[i], "times are rising");
  }
  std::vector<std::uint32_t> rows;
  for (std::uint64_t pattern = 0; pattern < 20; ++pattern) {
    if (!head->rows_of(pattern, rows)) continue;
    require(rows.size() <= head->rows(), "a pattern has rows of the seal");
    for (std::size_t i = 1; i < rows.size(); ++i) require(rows[i - 1] < rows[i], "rows are rising");
  }
}

void check_group(std::string_view bytes, std::uint32_t first) {
  auto group = GroupReader::open(bytes, first);
  if (!group) return;
  std::uint64_t before = 0;
  std::size_t blocks = 0;
  for (std::size_t n = 0;; ++n) {
    const auto entry = group->next();
    if (!entry) break;
    require(n == 0 ? entry->id == first : entry->id > before, "ids are rising");
    before = entry->id;
    blocks += entry->block.size();
    require(n <= bytes.size(), "a series takes a byte at least");
  }
  require(blocks <= bytes.size(), "blocks lie inside the group");
}

void round_trip(Choices from) {
  GroupBuilder builder;
  struct Put {
    std::uint32_t id, pattern;
    std::string block;
  };
  std::vector<Put> all;
  std::uint32_t id = 0;
  for (int i = from.byte() % 40; i > 0; --i) {
    id += 1 + from.byte();
    const auto pattern = from.byte();
    std::string block{from.piece()};
    if (from.flag()) block.resize(block.size() * 20 + 1, 'x');
    all.push_back({id, pattern, block});
    builder.add(id, pattern, block);
  }
  builder.finish();
  std::size_t at = 0;
  for (const auto& group : builder.take()) {
    auto reader = GroupReader::open(group.bytes, group.first);
    require(reader.has_value(), "an own group can be read");
    while (const auto entry = reader->next()) {
      require(at < all.size(), "no series is made up");
      const auto& put = all[at++];
      require(entry->id == put.id && entry->pattern == put.pattern && entry->block == put.block,
              "a series comes back");
    }
    require(!reader->damaged(), "an own group is whole");
  }
  require(at == all.size(), "no series is lost");
}

}  // namespace

/// Two bytes: the group's first id. The rest is a head, a group, and series.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices from{text_of(data, size)};
  const auto first = static_cast<std::uint32_t>(from.number(2));
  check_head(from.rest());
  check_group(from.rest(), first);
  round_trip(from);
  return 0;
}
