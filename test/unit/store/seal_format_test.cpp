#include "store/seal_format.hpp"

#include <random>

#include <doctest/doctest.h>

#include "store/rollup_block.hpp"

using namespace koordlet::store;

namespace {

using Rows = std::vector<std::uint32_t>;
constexpr std::size_t kOnePage = 4096 - 16;

std::vector<GroupBuilder::Group> groups_of(const std::vector<std::size_t>& sizes) {
  GroupBuilder builder;
  std::vector<GroupBuilder::Group> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    builder.add(static_cast<std::uint32_t>(3 * i),
                static_cast<std::uint32_t>(i % 2),
                std::string(sizes[i], static_cast<char>('a' + i % 26)));
  }
  builder.finish();
  return builder.take();
}

// Bytes of the pages that LMDB gives these values: two or more up to 2018 share a leaf.
std::size_t paged(const std::vector<GroupBuilder::Group>& groups) {
  std::size_t out = 0;
  for (const auto& g : groups) {
    out +=
        g.bytes.size() <= 2018 ? g.bytes.size() + 22 : (g.bytes.size() + 16 + 4095) / 4096 * 4096;
  }
  return out;
}

}  // namespace

TEST_SUITE("store/seal_format") {
  TEST_CASE("a head tells its times, its numbers and the rows of each pattern") {
    const std::vector<std::int64_t> times{1'700'000'000'000, 1'700'000'001'000, 1'700'000'002'003};
    PatternTable patterns{3};
    CHECK(patterns.add(Rows{0, 1, 2}) == 0);
    CHECK(patterns.add(Rows{1}) == 1);
    CHECK(patterns.add(Rows{0, 2}) == 2);
    CHECK(patterns.add(Rows{1}) == 1);
    std::string bytes;
    encode_seal_head(times, patterns, 7, 17, bytes);
    const auto head = SealHead::open(bytes);
    REQUIRE(head.has_value());
    CHECK(head->rows() == 3);
    CHECK(head->series() == 7);
    CHECK(head->samples() == 17);
    std::vector<std::int64_t> got;
    REQUIRE(head->times(got));
    CHECK(got == times);
    Rows rows;
    REQUIRE(head->rows_of(0, rows));
    CHECK(rows == Rows{0, 1, 2});
    REQUIRE(head->rows_of(2, rows));
    CHECK(rows == Rows{0, 2});
    CHECK_FALSE(head->rows_of(3, rows));
  }
  TEST_CASE("times that do not rise, and heads cut off, are damage") {
    std::string bytes;
    std::vector<std::int64_t> out;
    encode_seal_head(std::vector<std::int64_t>{5, 5}, PatternTable{2}, 0, 0, bytes);
    CHECK_FALSE(SealHead::open(bytes)->times(out));
    encode_seal_head(std::vector<std::int64_t>{-1, 5}, PatternTable{2}, 0, 0, bytes);
    CHECK_FALSE(SealHead::open(bytes)->times(out));
    PatternTable patterns{9};
    patterns.add(Rows{1, 8});
    encode_seal_head(
        std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 60'000}, patterns, 1, 2, bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto head = SealHead::open(std::string_view{bytes}.substr(0, size));
      if (head) CHECK_FALSE(head->times(out));
    }
  }
  TEST_CASE("groups give every block back, by rising id") {
    std::mt19937 random{1};
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 700; ++i) sizes.push_back(i % 50 == 0 ? 5000 : random() % 300);
    std::size_t next = 0;
    for (const auto& g : groups_of(sizes)) {
      CHECK(g.first == 3 * next);
      auto reader = GroupReader::open(g.bytes, g.first);
      REQUIRE(reader.has_value());
      while (const auto e = reader->next()) {
        REQUIRE(next < sizes.size());
        CHECK(e->id == 3 * next);
        CHECK(e->pattern == next % 2);
        CHECK(e->block == std::string(sizes[next], static_cast<char>('a' + next % 26)));
        ++next;
      }
      CHECK_FALSE(reader->damaged());
    }
    CHECK(next == sizes.size());
  }
  TEST_CASE("pages are filled: small, middle and large blocks waste less than a tenth") {
    for (const std::size_t size : {17U, 130U, 700U, 1400U}) {
      CAPTURE(size);
      const auto groups = groups_of(std::vector<std::size_t>(60'000 / size, size));
      CHECK(static_cast<double>(paged(groups)) <
            1.1 * 60'000 * static_cast<double>(size + 3) / static_cast<double>(size));
    }
    CHECK(groups_of({100, 100}).size() == 1);
    for (const auto& g : groups_of(std::vector<std::size_t>(240, 14))) {
      CHECK(g.bytes.size() <= kOnePage);
    }
  }
  TEST_CASE("a damaged group ends the walk, whatever its bytes say") {
    const auto whole = groups_of({30, 40, 50}).front().bytes;
    std::mt19937 random{2};
    int damaged = 0;
    for (int round = 0; round < 5000; ++round) {
      auto bytes = whole.substr(0, random() % (whole.size() + 1));
      for (int i = 0; i < 3 && !bytes.empty(); ++i) {
        bytes[random() % std::min<std::size_t>(bytes.size(), 14)] = static_cast<char>(random());
      }
      auto reader = GroupReader::open(bytes, 0);
      while (reader && reader->next()) {
      }
      damaged += !reader || reader->damaged() ? 1 : 0;
    }
    CHECK(damaged > 4000);
  }
  TEST_CASE("roll-ups: minutes of one sample are that sample") {
    std::vector<MinuteRollup> minutes(60);
    for (std::size_t i = 0; i < minutes.size(); ++i) {
      minutes[i].moments.add({StoredTime{0}, static_cast<std::int64_t>(500 + i % 16)});
    }
    std::string block;
    append_rollups(minutes, block);
    CHECK(block.size() == 1 + 1 + 2 + 30);  // shape, width, base, 60 times 4 bits
    auto reader = RollupReader::open(block, 60);
    REQUIRE(reader.has_value());
    CHECK(reader->single());
    CHECK(reader->moments(17).last == 501);
    CHECK(reader->moments(17).sum == 501);
    CHECK(reader->moments(17).count == 1);
  }
  TEST_CASE("roll-ups: counts, edges, sums and sketches come back, to the ends of 64 bits") {
    std::mt19937_64 random{3};
    for (int round = 0; round < 200; ++round) {
      std::vector<MinuteRollup> minutes(1 + random() % 60);
      for (auto& m : minutes) {
        const auto samples = 1 + random() % 5;
        for (std::uint64_t s = 0; s < samples; ++s) {
          const auto v = static_cast<std::int64_t>(random()) >> (round % 64);
          m.moments.add({StoredTime{0}, v});
          m.values.push_back(v);
        }
      }
      std::string block;
      append_rollups(minutes, block);
      auto reader = RollupReader::open(block, minutes.size());
      REQUIRE(reader.has_value());
      QuantileSketch all, want;
      for (std::size_t i = 0; i < minutes.size(); ++i) {
        const auto& m = minutes[i].moments;
        const auto got = reader->moments(i);
        CHECK(got.count == m.count);
        CHECK(got.min == m.min);
        CHECK(got.max == m.max);
        CHECK(got.last == m.last);
        CHECK((got.sum == m.sum));
        const bool wanted = i % 2 == 0;
        REQUIRE(reader->add_next_sketch(i, wanted, all));
        for (const auto v : minutes[i].values) {
          if (wanted) want.add(v);
        }
      }
      CHECK(all.count() == want.count());
      for (const double q : {0.1, 0.5, 0.9}) CHECK(all.quantile(q) == want.quantile(q));
      for (std::size_t size = 0; size < block.size(); size += 7) {
        auto cut = RollupReader::open(std::string_view{block}.substr(0, size), minutes.size());
        for (std::size_t i = 0; cut && i < minutes.size(); ++i) {
          if (!cut->add_next_sketch(i, true, all)) break;
        }
      }
    }
  }
}
