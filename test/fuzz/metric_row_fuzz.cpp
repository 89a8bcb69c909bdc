#include <string>
#include <vector>

#include "fuzz.hpp"
#include "store/metric_row.hpp"

namespace {

using namespace koordlet::fuzz;
using namespace koordlet::store;

void check_foreign(std::string_view bytes) {
  const auto row = RowReader::open(bytes);
  if (!row) return;
  require(row->size() <= bytes.size(), "an entry takes a byte at least");
  std::vector<RowEntry> intact, some;
  const bool whole = row->read_intact(intact);
  const auto all = row->all();
  require(all.has_value() == whole, "a whole row can be read whole");
  require(!whole || intact.size() == row->size(), "a whole row has all its entries");
  static_cast<void>(row->read_ids(10, 1000, some));
  for (const auto& entry : some)
    require(entry.id >= 10 && entry.id <= 1000, "of the ids asked for");
  std::size_t hint = 1000;
  static_cast<void>(row->find(7, hint));
  for (const auto& entry : intact) static_cast<void>(row->find(entry.id, hint));
}

void round_trip(Choices from) {
  std::vector<RowEntry> entries;
  std::uint64_t id = 0;
  const auto count = from.byte();
  for (int i = 0; i < count; ++i) {
    id += 1 + (from.flag() ? from.number(3) : 0);
    if (id > UINT32_MAX) break;
    const auto value = from.flag() ? from.number() : from.byte();
    entries.push_back({static_cast<std::uint32_t>(id), static_cast<std::int64_t>(value)});
  }
  std::string bytes{"old"};
  encode_row(entries, bytes);
  require(bytes.size() <= max_row_bytes(entries.size()), "a row is bounded");
  const auto row = RowReader::open(bytes);
  require(row.has_value() && row->size() == entries.size(), "an own row can be read");
  std::size_t hint = 0;
  for (const auto& entry : entries) {
    const auto found = row->find(entry.id, hint);
    require(!found.damaged && found.value == entry.value, "an entry comes back");
    const auto other = row->find(entry.id - 1, hint);
    require(!other.damaged, "an own row is whole");
  }
  require(!row->find(UINT32_MAX).value || id == UINT32_MAX, "what is not there is not found");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = text_of(data, size);
  check_foreign(bytes);
  round_trip(Choices{bytes});
  return 0;
}
