#include "store/metric_row.hpp"

#include <algorithm>
#include <cstring>

#include "store/bits.hpp"

namespace koordlet::store {
namespace {

constexpr char kFormat = 1;
constexpr std::size_t kHeader = 8;      // format (1), zero (3), number of entries (4)
constexpr std::size_t kTableEntry = 8;  // first id (4), offset of the group in the row (4)
constexpr std::size_t kGroup = 64;      // a lookup decodes at most this many
constexpr std::size_t kMaxEntry = 5 + 10;

std::size_t groups(std::size_t count) { return (count + kGroup - 1) / kGroup; }

std::uint32_t load_u32(const char* from) {
  std::uint32_t v = 0;
  std::memcpy(&v, from, sizeof v);
  return v;
}
void store_u32(char* to, std::uint32_t v) { std::memcpy(to, &v, sizeof v); }

// Walks the entries of one group until `f` returns false. False: damaged.
template <class F>
bool walk(std::string_view bytes, std::uint32_t first, std::size_t entries, F f) {
  std::uint64_t id = first;
  for (std::size_t i = 0; i < entries; ++i) {
    std::uint64_t step = 0, value = 0;
    if (i > 0 && !get_varint(bytes, step)) return false;
    if (!get_varint(bytes, value)) return false;
    id += i > 0 ? step + 1 : 0;
    if (id > UINT32_MAX || step > UINT32_MAX) return false;
    if (!f(RowEntry{static_cast<std::uint32_t>(id), unzigzag(value)})) return true;
  }
  return true;
}

}  // namespace

std::size_t max_row_bytes(std::size_t entries) {
  return kHeader + groups(entries) * kTableEntry + entries * kMaxEntry;
}

void encode_row(const std::vector<RowEntry>& entries, std::string& out) {
  out.resize(max_row_bytes(entries.size()));
  char* const base = out.data();
  std::memset(base, 0, kHeader);
  base[0] = kFormat;
  store_u32(base + 4, static_cast<std::uint32_t>(entries.size()));
  char* to = base + kHeader + groups(entries.size()) * kTableEntry;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i % kGroup == 0) {
      char* const table = base + kHeader + i / kGroup * kTableEntry;
      store_u32(table, entries[i].id);
      store_u32(table + 4, static_cast<std::uint32_t>(to - base));
    } else {
      to = put_varint(to, entries[i].id - entries[i - 1].id - 1);
    }
    to = put_varint(to, zigzag(entries[i].value));
  }
  out.resize(static_cast<std::size_t>(to - base));
}

std::optional<RowReader> RowReader::open(std::string_view row) {
  if (row.size() < kHeader || row[0] != kFormat) return std::nullopt;
  if (row[1] != 0 || row[2] != 0 || row[3] != 0) return std::nullopt;
  const std::size_t count = load_u32(row.data() + 4);
  if (row.size() < kHeader + groups(count) * kTableEntry + count) return std::nullopt;
  return RowReader{row, count};
}

std::uint32_t RowReader::group_first(std::size_t group) const {
  return load_u32(row_.data() + kHeader + group * kTableEntry);
}

std::string_view RowReader::group_bytes(std::size_t group) const {
  const std::size_t from = load_u32(row_.data() + kHeader + group * kTableEntry + 4);
  const std::size_t to = group + 1 < groups(count_)
                             ? load_u32(row_.data() + kHeader + (group + 1) * kTableEntry + 4)
                             : row_.size();
  if (from < kHeader + groups(count_) * kTableEntry || to < from || to > row_.size()) return {};
  return row_.substr(from, to - from);
}

bool RowReader::is_group_of(std::uint32_t id, std::size_t group) const {
  return group < groups(count_) && group_first(group) <= id &&
         (group + 1 == groups(count_) || id < group_first(group + 1));
}

RowReader::Found RowReader::find(std::uint32_t id, std::size_t& hint) const {
  if (!is_group_of(id, hint)) {
    std::size_t low = 0, high = groups(count_);  // past the last group that starts at `id` or below
    while (low < high) {
      const auto middle = (low + high) / 2;
      if (group_first(middle) <= id) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) return {};
    hint = low - 1;
  }
  const auto group = hint;
  const auto entries = std::min(kGroup, count_ - group * kGroup);
  Found found;
  found.damaged = !walk(group_bytes(group), group_first(group), entries, [&](const RowEntry& e) {
    if (e.id == id) found.value = e.value;
    return e.id < id;
  });
  return found;
}

bool RowReader::read_intact(std::vector<RowEntry>& out) const {
  bool whole = true;
  for (std::size_t g = 0; g < groups(count_); ++g) {
    const auto entries = std::min(kGroup, count_ - g * kGroup);
    const auto before = out.size();
    const bool ok = walk(group_bytes(g), group_first(g), entries, [&](const RowEntry& e) {
      out.push_back(e);
      return true;
    });
    if (ok) continue;
    out.resize(before);
    whole = false;
  }
  return whole;
}

bool RowReader::read_ids(std::uint32_t from, std::uint32_t to, std::vector<RowEntry>& out) const {
  // Groups are in order: past those that end before `from`.
  std::size_t low = 0, high = groups(count_);
  while (low < high) {
    const auto middle = (low + high) / 2;
    if (group_first(middle) <= from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool whole = true;
  for (auto g = low == 0 ? 0 : low - 1; g < groups(count_) && group_first(g) <= to; ++g) {
    const auto entries = std::min(kGroup, count_ - g * kGroup);
    const auto before = out.size();
    const bool ok = walk(group_bytes(g), group_first(g), entries, [&](const RowEntry& e) {
      if (e.id >= from && e.id <= to) out.push_back(e);
      return e.id < to;
    });
    if (ok) continue;
    out.resize(before);
    whole = false;
  }
  return whole;
}

std::optional<std::vector<RowEntry>> RowReader::all() const {
  std::vector<RowEntry> out;
  out.reserve(count_);
  if (!read_intact(out)) return std::nullopt;
  return out;
}

}  // namespace koordlet::store
