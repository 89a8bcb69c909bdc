#include "store/seal_format.hpp"

#include <algorithm>

#include "store/bits.hpp"
#include "store/sample_block.hpp"

namespace koordlet::store {
namespace {

constexpr std::size_t kPage = 4096, kPageHeader = 16;
// The largest value of which two share a leaf: (page - header) / 2, less 2 for its place in the
// page's table, 8 for its header and 12 for its key.
constexpr std::size_t kHalfLeaf = (kPage - kPageHeader) / 2 - 2 - 8 - 12;
constexpr std::size_t kMaxGroup = 64 << 10;
constexpr std::size_t kAllowedWaste = 33;  // a share: 3 % of the group

std::size_t waste_of(std::size_t bytes) { return (kPage - (bytes + kPageHeader) % kPage) % kPage; }

std::size_t bitmap_bytes(std::size_t rows) { return (rows + 7) / 8; }

}  // namespace

std::uint32_t PatternTable::add(std::span<const std::uint32_t> rows) {
  if (rows.size() == rows_) return 0;
  scratch_.assign(bitmap_bytes(rows_), '\0');
  for (const auto r : rows) scratch_[r / 8] = static_cast<char>(scratch_[r / 8] | 1 << r % 8);
  const auto [it, fresh] =
      numbers_.emplace(scratch_, static_cast<std::uint32_t>(bitmaps_.size() + 1));
  if (fresh) bitmaps_.push_back(&it->first);
  return it->second;
}

void encode_seal_head(std::span<const std::int64_t> times,
                      const PatternTable& patterns,
                      std::uint64_t series,
                      std::uint64_t samples,
                      std::string& out) {
  out.clear();
  put_varint(out, times.size());
  put_varint(out, series);
  put_varint(out, samples);
  put_varint(out, patterns.bitmaps_.size());
  for (const auto* bitmap : patterns.bitmaps_) out += *bitmap;
  append_block(times, out);
}

std::optional<SealHead> SealHead::open(std::string_view bytes) {
  SealHead head;
  std::uint64_t rows = 0;
  if (!get_varint(bytes, rows) || rows == 0 || rows > kMaxBlock) return std::nullopt;
  if (!get_varint(bytes, head.series_) || !get_varint(bytes, head.samples_)) return std::nullopt;
  if (!get_varint(bytes, head.patterns_)) return std::nullopt;
  head.rows_ = static_cast<std::size_t>(rows);
  if (head.patterns_ > bytes.size() / bitmap_bytes(head.rows_)) return std::nullopt;
  const auto size = static_cast<std::size_t>(head.patterns_) * bitmap_bytes(head.rows_);
  head.bitmaps_ = bytes.substr(0, size);
  head.times_ = bytes.substr(size);
  return head;
}

bool SealHead::times(std::vector<std::int64_t>& out) const {
  out.clear();
  auto bytes = times_;
  if (!read_block(bytes, rows_, out)) return false;
  return out.front() >= 0 &&
         std::adjacent_find(out.begin(), out.end(), std::greater_equal<>{}) == out.end();
}

bool SealHead::rows_of(std::uint64_t pattern, std::vector<std::uint32_t>& out) const {
  out.clear();
  if (pattern > patterns_) return false;
  if (pattern == 0) {
    out.resize(rows_);
    for (std::size_t i = 0; i < rows_; ++i) out[i] = static_cast<std::uint32_t>(i);
    return true;
  }
  const auto size = bitmap_bytes(rows_);
  const auto bitmap = bitmaps_.substr(static_cast<std::size_t>(pattern - 1) * size, size);
  for (std::size_t byte = 0; byte < size; ++byte) {
    for (unsigned bits = static_cast<unsigned char>(bitmap[byte]); bits != 0; bits &= bits - 1) {
      const auto row = byte * 8 + static_cast<unsigned>(std::countr_zero(bits));
      if (row >= rows_) return false;
      out.push_back(static_cast<std::uint32_t>(row));
    }
  }
  return true;
}

// A bound: the table takes at most 5 + 5 + 3 bytes a series, mostly 3.
std::size_t GroupBuilder::size_with(std::size_t block_bytes) const {
  return 6 + (entries_.size() + 1) * 4 + blocks_.size() + block_bytes;
}

void GroupBuilder::add(std::uint32_t id, std::uint32_t pattern, std::string_view block) {
  if (!entries_.empty()) {
    const auto now = size_with(0) - 4, then = size_with(block.size());
    const bool fills_pages = now > kHalfLeaf && waste_of(now) < now / kAllowedWaste &&
                             (now + kPageHeader - 1) / kPage != (then + kPageHeader - 1) / kPage;
    if (fills_pages || then > kMaxGroup) close(entries_.size());
  }
  entries_.push_back({id, pattern, block.size()});
  blocks_ += block;
}

// Moves the first entries to a group of their own.
void GroupBuilder::close(std::size_t entries) {
  std::string table;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const auto& e = entries_[i];
    if (i > 0) put_varint(table, e.id - entries_[i - 1].id - 1);
    put_varint(table, e.pattern);
    put_varint(table, e.bytes);
    bytes += e.bytes;
  }
  Group group{entries_.front().id, {}};
  group.bytes.reserve(table.size() + bytes + 6);
  put_varint(group.bytes, entries);
  put_varint(group.bytes, table.size());
  group.bytes += table;
  group.bytes.append(blocks_, 0, bytes);
  done_.push_back(std::move(group));
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(entries));
  blocks_.erase(0, bytes);
}

void GroupBuilder::finish() {
  while (!entries_.empty()) {
    const auto all = size_with(0) - 4;
    if (all <= kHalfLeaf || waste_of(all) < all / kAllowedWaste) {
      close(entries_.size());
      return;
    }
    std::size_t count = 0, bytes = 6;
    while (count < entries_.size() && bytes + 4 + entries_[count].bytes <= kHalfLeaf) {
      bytes += 4 + entries_[count++].bytes;
    }
    close(std::max<std::size_t>(count, 1));
  }
}

std::vector<GroupBuilder::Group> GroupBuilder::take() { return std::exchange(done_, {}); }

std::optional<GroupReader> GroupReader::open(std::string_view bytes, std::uint32_t first) {
  GroupReader out;
  std::uint64_t table = 0;
  if (!get_varint(bytes, out.left_) || !get_varint(bytes, table)) return std::nullopt;
  if (table > bytes.size() || out.left_ > table) return std::nullopt;
  out.table_ = bytes.substr(0, static_cast<std::size_t>(table));
  out.blocks_ = bytes.substr(static_cast<std::size_t>(table));
  out.id_ = first;
  return out;
}

std::optional<GroupReader::Entry> GroupReader::next() {
  if (left_ == 0 || damaged_) return std::nullopt;
  std::uint64_t gap = 0, size = 0;
  Entry e;
  damaged_ = (!first_ && !get_varint(table_, gap)) || !get_varint(table_, e.pattern) ||
             !get_varint(table_, size) || size > blocks_.size() || gap > UINT32_MAX;
  if (damaged_) return std::nullopt;
  if (!first_) id_ += gap + 1;
  damaged_ = id_ >= UINT32_MAX;
  if (damaged_) return std::nullopt;
  first_ = false;
  --left_;
  e.id = static_cast<std::uint32_t>(id_);
  e.block = blocks_.substr(0, static_cast<std::size_t>(size));
  blocks_.remove_prefix(e.block.size());
  return e;
}

}  // namespace koordlet::store
