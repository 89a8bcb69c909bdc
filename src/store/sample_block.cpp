#include "store/sample_block.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "store/bits.hpp"

namespace koordlet::store {
namespace {

using U = std::uint64_t;

// First byte of a run: bit 7 = changes, bits 0-6 = width, plus 65 when a byte with the number of
// dropped zero bits follows. A width of more than 62 bits leaves nothing worth dropping.
constexpr unsigned kChanges = 0x80, kShifted = 65, kWidestShifted = 62;

unsigned width_of(U range) { return static_cast<unsigned>(std::bit_width(range)); }
std::size_t varint_bytes(U v) { return v == 0 ? 1 : (std::bit_width(v) + 6U) / 7U; }
std::size_t packed_bytes(std::size_t count, unsigned width) { return (count * width + 7) / 8; }

// Sign kept: the dropped bits are zero.
std::int64_t dropped(std::int64_t v, unsigned shift) { return v >> shift; }

struct Plan {
  bool changes = false;
  unsigned width = 0;
  std::int64_t first = 0;  // the smallest value; of changes: the first value
  std::int64_t step = 0;   // of changes: the smallest change
  std::size_t bytes = 0;
};

Plan plan_distances(std::span<const std::int64_t> values, unsigned shift) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  Plan p;
  p.first = dropped(*low, shift);
  p.width = width_of(static_cast<U>(dropped(*high, shift)) - static_cast<U>(p.first));
  p.bytes = varint_bytes(zigzag(p.first)) + packed_bytes(values.size(), p.width);
  return p;
}

std::int64_t change(std::span<const std::int64_t> values, std::size_t i, unsigned shift) {
  return static_cast<std::int64_t>(static_cast<U>(dropped(values[i], shift)) -
                                   static_cast<U>(dropped(values[i - 1], shift)));
}

Plan plan_changes(std::span<const std::int64_t> values, unsigned shift) {
  Plan p;
  p.changes = true;
  p.first = dropped(values[0], shift);
  std::int64_t low = change(values, 1, shift), high = low;
  for (std::size_t i = 2; i < values.size(); ++i) {
    const auto c = change(values, i, shift);
    low = std::min(low, c);
    high = std::max(high, c);
  }
  p.step = low;
  p.width = width_of(static_cast<U>(high) - static_cast<U>(low));
  p.bytes = varint_bytes(zigzag(p.first)) + varint_bytes(zigzag(p.step)) +
            packed_bytes(values.size() - 1, p.width);
  return p;
}

Plan cheaper(std::span<const std::int64_t> values, unsigned shift) {
  const auto distances = plan_distances(values, shift);
  if (values.size() < 2 || distances.width == 0) return distances;
  const auto changes = plan_changes(values, shift);
  return changes.bytes < distances.bytes ? changes : distances;
}

// Low bits first; the last byte is filled with zeros.
class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_{out} {}
  void put(U v, unsigned width) {
    word_ |= v << used_;
    if (used_ + width < 64) {
      used_ += width;
      return;
    }
    append(8);
    const unsigned written = 64 - used_;
    word_ = written < 64 ? v >> written : 0;
    used_ = width - written;
  }
  void finish() { append((used_ + 7) / 8); }

 private:
  void append(std::size_t bytes) {
    char text[8];
    std::memcpy(text, &word_, sizeof text);
    out_.append(text, bytes);
  }
  std::string& out_;
  U word_ = 0;
  unsigned used_ = 0;
};

void append_run(std::span<const std::int64_t> values, std::string& out) {
  U all = 0;
  for (const auto v : values) all |= static_cast<U>(v);
  unsigned shift = all == 0 ? 0 : static_cast<unsigned>(std::countr_zero(all));
  auto p = cheaper(values, shift);
  if (shift > 0) {
    const auto plain = cheaper(values, 0);
    if (p.width > kWidestShifted || plain.bytes <= p.bytes + 1) {
      p = plain;
      shift = 0;
    }
  }
  out += static_cast<char>((p.changes ? kChanges : 0U) | (p.width + (shift > 0 ? kShifted : 0U)));
  if (shift > 0) out += static_cast<char>(shift);
  put_varint(out, zigzag(p.first));
  if (p.changes) put_varint(out, zigzag(p.step));
  if (p.width == 0) return;
  BitWriter bits{out};
  for (std::size_t i = p.changes ? 1 : 0; i < values.size(); ++i) {
    const auto v = p.changes ? change(values, i, shift) : dropped(values[i], shift);
    bits.put(static_cast<U>(v) - static_cast<U>(p.changes ? p.step : p.first), p.width);
  }
  bits.finish();
}

// Calls f(bits of number i) for each of `count` numbers of `width` bits. `bytes` holds them all.
template <class F>
void unpack(std::string_view bytes, std::size_t count, unsigned width, F f) {
  const U mask = width == 64 ? ~U{0} : (U{1} << width) - 1;
  std::size_t bit = 0, i = 0;
  // Eight bytes at a time, as long as they are there: enough for 57 bits at any position.
  const auto whole = width <= 57 && bytes.size() >= 8 ? bytes.size() - 8 : 0;
  if (width <= 57 && bytes.size() >= 8) {
    for (; i < count && bit / 8 <= whole; ++i, bit += width) {
      U word = 0;
      std::memcpy(&word, bytes.data() + bit / 8, sizeof word);
      f(word >> bit % 8 & mask);
    }
  }
  for (; i < count; ++i, bit += width) {
    U low = 0;
    const auto at = bit / 8;
    std::memcpy(&low, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    U v = low >> bit % 8;
    if (bit % 8 + width > 64) {
      v |= static_cast<U>(static_cast<unsigned char>(bytes[at + 8])) << (64 - bit % 8);
    }
    f(v & mask);
  }
}

bool read_run(std::string_view& bytes, std::size_t count, std::int64_t* out) {
  if (bytes.empty()) return false;
  const auto head = static_cast<unsigned char>(bytes[0]);
  bytes.remove_prefix(1);
  const bool changes = (head & kChanges) != 0;
  unsigned width = head & 0x7FU, shift = 0;
  if (width >= kShifted) {
    width -= kShifted;
    if (bytes.empty()) return false;
    shift = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    if (shift < 1 || shift > 63) return false;
  }
  U first = 0, step = 0;
  if (!get_varint(bytes, first) || (changes && !get_varint(bytes, step))) return false;
  first = static_cast<U>(unzigzag(first));
  step = static_cast<U>(unzigzag(step));
  const auto packed = changes ? count - 1 : count;
  const auto size = packed_bytes(packed, width);
  if (size > bytes.size()) return false;
  const auto body = bytes.substr(0, size);
  bytes.remove_prefix(size);
  if (!changes) {
    if (width == 0) {
      std::fill_n(out, count, static_cast<std::int64_t>(first << shift));
      return true;
    }
    unpack(body, packed, width, [&](U v) {
      *out++ = static_cast<std::int64_t>((first + v) << shift);
    });
    return true;
  }
  U value = first;
  *out++ = static_cast<std::int64_t>(value << shift);
  const auto next = [&](U v) {
    value += step + v;
    *out++ = static_cast<std::int64_t>(value << shift);
  };
  if (width > 0) {
    unpack(body, packed, width, next);
  } else {
    for (std::size_t i = 0; i < packed; ++i) next(0);
  }
  return true;
}

}  // namespace

void append_block(std::span<const std::int64_t> values, std::string& out) {
  for (std::size_t i = 0; i < values.size(); i += kBlockRun) {
    append_run(values.subspan(i, std::min(kBlockRun, values.size() - i)), out);
  }
}

bool read_block(std::string_view& bytes, std::size_t count, std::vector<std::int64_t>& out) {
  if (count > kMaxBlock) return false;
  const auto before = out.size();
  out.resize(before + count);
  for (std::size_t i = 0; i < count; i += kBlockRun) {
    if (read_run(bytes, std::min(kBlockRun, count - i), out.data() + before + i)) continue;
    out.resize(before);
    return false;
  }
  return true;
}

}  // namespace koordlet::store
