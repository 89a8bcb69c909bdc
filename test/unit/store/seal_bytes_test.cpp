#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "store/rollup_block.hpp"
#include "store/seal_format.hpp"
#include "store/seal_key.hpp"

using namespace koordlet::store;

namespace {

using Rows = std::vector<std::uint32_t>;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    for (const unsigned nibble : {static_cast<unsigned char>(c) / 16U, c & 15U}) {
      out += "0123456789ABCDEF"[nibble];
    }
  }
  return out;
}

MinuteRollup minute(std::uint32_t row, const std::vector<std::int64_t>& values) {
  MinuteRollup out;
  out.row = row;
  out.values = values;
  for (const auto v : values) out.moments.add(TimedValue{StoredTime{0}, v});
  return out;
}

std::string block_of(const std::vector<MinuteRollup>& minutes) {
  std::string out;
  append_rollups(minutes, out);
  return out;
}

std::string head_of(const std::vector<std::int64_t>& times, const std::vector<Rows>& patterns) {
  PatternTable table{times.size()};
  for (const auto& p : patterns) table.add(p);
  std::string out;
  encode_seal_head(times, table, 2, 5, out);
  return out;
}

}  // namespace

TEST_SUITE("store/seal_bytes") {
  TEST_CASE("docs example: keys are time and first series, big endian; the head is last") {
    const auto key = encode_seal_key({StoredTime{0x0102}, 7});
    CHECK(hex({key.data(), key.size()}) == "000000000000010200000007");
    const auto head = encode_seal_key({StoredTime{0x0102}, kHeadId});
    CHECK(hex({head.data(), head.size()}) == "0000000000000102FFFFFFFF");
    const auto back = decode_seal_key({key.data(), key.size()});
    REQUIRE(back.has_value());
    CHECK(back->at == StoredTime{0x0102});
    CHECK(back->id == 7);
    CHECK_FALSE(decode_seal_key("short").has_value());
  }

  TEST_CASE("docs example: the head of three rows, one pattern of the first and the last") {
    const auto bytes = head_of({1000, 2000, 3000}, {{0, 2}});
    CHECK(hex(bytes) == "030205010580D00FD00F");
    const auto head = SealHead::open(bytes);
    REQUIRE(head.has_value());
    CHECK(head->rows() == 3);
    CHECK(head->series() == 2);
    CHECK(head->samples() == 5);
    std::vector<std::int64_t> times;
    REQUIRE(head->times(times));
    CHECK(times == std::vector<std::int64_t>{1000, 2000, 3000});
    Rows rows;
    REQUIRE(head->rows_of(0, rows));
    CHECK(rows == Rows{0, 1, 2});
    REQUIRE(head->rows_of(1, rows));
    CHECK(rows == Rows{0, 2});
    CHECK_FALSE(head->rows_of(2, rows));
  }

  TEST_CASE("docs example: a group of two series") {
    GroupBuilder builder;
    builder.add(7, 0, {"\x00\x0A", 2});
    builder.add(9, 1, "\x02\x14\xD8");
    builder.finish();
    const auto groups = builder.take();
    REQUIRE(groups.size() == 1);
    CHECK(groups[0].first == 7);
    CHECK(hex(groups[0].bytes) == "02050002010103000A0214D8");
  }

  TEST_CASE("docs example: minutes of one sample, and one of several") {
    CHECK(hex(block_of({minute(0, {5}), minute(1, {5}), minute(2, {5})})) == "00000A");
    CHECK(hex(block_of({minute(0, {1, 0, 2, 1})})) == "010000000800040002000200000300010246");
  }

  TEST_CASE("series share a pattern, all rows need none") {
    PatternTable table{20};
    Rows all(20);
    for (std::uint32_t i = 0; i < 20; ++i) all[i] = i;
    CHECK(table.add(all) == 0);
    CHECK(table.add(Rows{1, 19}) == 1);
    CHECK(table.add(Rows{2}) == 2);
    CHECK(table.add(Rows{1, 19}) == 1);
    CHECK(table.size() == 2);
  }

  TEST_CASE("times that do not rise, no rows and a bit behind the last row are damage") {
    std::vector<std::int64_t> times;
    for (const auto& bad : {std::vector<std::int64_t>{5, 5}, {6, 5}, {-1, 5}}) {
      const auto bytes = head_of(bad, {});
      const auto head = SealHead::open(bytes);
      REQUIRE(head.has_value());
      CHECK_FALSE(head->times(times));
    }
    CHECK_FALSE(SealHead::open(std::string(5, '\0')).has_value());
    auto bytes = head_of({1, 2, 3}, {{0}});
    bytes[4] = '\x08';  // row 3 of three
    Rows rows;
    CHECK_FALSE(SealHead::open(bytes)->rows_of(1, rows));
  }

  TEST_CASE("groups of any sizes hold every series once, in order") {
    std::mt19937 random{3};
    for (int round = 0; round < 100; ++round) {
      GroupBuilder builder;
      std::vector<std::pair<std::uint32_t, std::string>> want, got;
      std::uint32_t id = random() % 10;
      const auto most = std::size_t{1} << random() % 15;
      for (auto n = random() % 200; n > 0; --n) {
        want.emplace_back(id, std::string(random() % most, static_cast<char>('a' + n % 26)));
        builder.add(id, id % 5, want.back().second);
        id += 1 + (random() % 4 == 0 ? random() % 100'000 : 0);
      }
      builder.finish();
      for (const auto& g : builder.take()) {
        auto reader = GroupReader::open(g.bytes, g.first);
        REQUIRE(reader.has_value());
        while (const auto e = reader->next()) {
          CHECK(e->pattern == e->id % 5);
          got.emplace_back(e->id, e->block);
        }
        CHECK_FALSE(reader->damaged());
      }
      CHECK(got == want);
    }
  }

  TEST_CASE("cut and flipped heads and groups are refused or say something else") {
    const auto head = head_of({1000, 2500, 3000, 9000}, {{0, 2}, {1, 2, 3}});
    GroupBuilder builder;
    for (std::uint32_t id = 3; id < 9; ++id) builder.add(id, id % 3, std::string(id, 'x'));
    builder.finish();
    const auto group = builder.take().front().bytes;
    const auto try_both = [](const std::string& bytes) {
      std::vector<std::int64_t> times;
      Rows rows;
      if (const auto h = SealHead::open(bytes)) {
        if (h->times(times)) CHECK(times.size() == h->rows());
        for (std::uint64_t p : {0ULL, 1ULL, 2ULL, 3ULL, ~0ULL}) {
          if (h->rows_of(p, rows)) CHECK((rows.empty() || rows.back() < h->rows()));
        }
      }
      auto reader = GroupReader::open(bytes, 3);
      while (reader && reader->next()) {
      }
    };
    for (const auto& whole : {head, group}) {
      for (std::size_t at = 0; at < whole.size(); ++at) {
        try_both(whole.substr(0, at));
        for (int flip = 0; flip < 256; ++flip) {
          auto bytes = whole;
          bytes[at] = static_cast<char>(flip);
          try_both(bytes);
        }
      }
    }
  }
}

TEST_SUITE("store/rollup_block") {
  TEST_CASE("a roll-up of one sample is that sample") {
    for (const std::int64_t v : {std::int64_t{0},
                                 std::int64_t{-3},
                                 std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()}) {
      for (const bool beside_others : {false, true}) {
        std::vector<MinuteRollup> minutes{minute(0, {v})};
        if (beside_others) minutes.push_back(minute(1, {1, 2}));
        const auto bytes = block_of(minutes);
        auto reader = RollupReader::open(bytes, minutes.size());
        REQUIRE(reader.has_value());
        const auto m = reader->moments(0);
        CHECK(m.count == 1);
        CHECK(m.min == v);
        CHECK(m.max == v);
        CHECK(m.last == v);
        CHECK(m.mean() == static_cast<double>(v));
      }
    }
  }

  TEST_CASE("moments come back exactly, also of sums beyond 64 bits") {
    constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
    constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::vector<std::int64_t>> of{
        {1, 2, 4}, {-1, -2, -4}, {kLow, kLow, kHigh}, {kHigh, kHigh, kHigh}, {kLow, kHigh}, {7}};
    std::vector<MinuteRollup> minutes;
    for (const auto& v : of) minutes.push_back(minute(0, v));
    const auto bytes = block_of(minutes);
    auto reader = RollupReader::open(bytes, minutes.size());
    REQUIRE(reader.has_value());
    for (std::size_t i = 0; i < minutes.size(); ++i) {
      CAPTURE(i);
      const auto want = minutes[i].moments, got = reader->moments(i);
      CHECK(got.count == want.count);
      CHECK(got.min == want.min);
      CHECK(got.max == want.max);
      CHECK(got.last == want.last);
      CHECK((got.sum == want.sum));
      QuantileSketch sketch;
      REQUIRE(reader->add_next_sketch(i, true, sketch));
      CHECK(sketch.count() == want.count);
    }
  }

  TEST_CASE("moments that no samples have are damage: a maximum below the minimum") {
    // As the example in docs, but max - min = -1, rest = 9 and last beyond the maximum.
    const std::vector<std::string> bad{
        {"\x01\0\0\0\x08\0\x01\0\x02\0\x02\0\0\x03\0\x01\x02\x46", 18},
        {"\x01\0\0\0\x08\0\x04\0\x02\0\x02\0\x12\x03\0\x01\x02\x46", 18},
        {"\x01\0\0\0\x08\0\x04\0\x0A\0\x02\0\0\x03\0\x01\x02\x46", 18}};
    for (const auto& b : bad) CHECK_FALSE(RollupReader::open(b, 1).has_value());
  }

  TEST_CASE("cut and flipped blocks are refused or keep the order of their values") {
    const auto whole = block_of(
        {minute(0, {5, 9, 7}), minute(1, {3}), minute(2, {-100, 1'000'000}), minute(3, {4, 4})});
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int flip = -1; flip < 256; ++flip) {
        auto bytes = whole;
        if (flip < 0) bytes.resize(at);
        if (flip >= 0) bytes[at] = static_cast<char>(flip);
        auto reader = RollupReader::open(bytes, 4);
        QuantileSketch sketch;
        for (std::size_t i = 0; reader && i < 4; ++i) {
          const auto m = reader->moments(i);
          CHECK(m.min <= m.max);
          if (!reader->add_next_sketch(i, i % 2 == 0, sketch)) break;
        }
      }
    }
  }
}
