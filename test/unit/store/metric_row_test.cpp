#include "store/metric_row.hpp"

#include <limits>
#include <random>

#include <doctest/doctest.h>

using namespace koordlet::store;

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::string encoded(const std::vector<RowEntry>& entries) {
  std::string out;
  encode_row(entries, out);
  return out;
}

bool same(const std::vector<RowEntry>& a, const std::vector<RowEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.id == y.id && x.value == y.value;
  });
}

std::vector<RowEntry> random_entries(std::mt19937_64& random, std::size_t count) {
  std::vector<RowEntry> out;
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < count; ++i) {
    id += 1 + static_cast<std::uint32_t>(random() % (i % 7 == 0 ? 100'000 : 2));
    out.push_back({id, static_cast<std::int64_t>(random()) >> (random() % 64)});
  }
  return out;
}

}  // namespace

TEST_SUITE("store/metric_row") {
  TEST_CASE("the bytes are those of the page on the format") {
    const std::string want{
        "\x01\0\0\0"            // format 1
        "\x03\0\0\0"            // three entries
        "\x05\0\0\0\x10\0\0\0"  // one group: first id 5, at byte 16
        "\x06"                  // id 5: value 3
        "\x00\x03"              // id 6: value -2
        "\x02\xAC\x02",         // id 9: value 150, two bytes
        22};
    CHECK(encoded({{5, 3}, {6, -2}, {9, 150}}) == want);
  }

  TEST_CASE("a small change of a thousand series costs two bytes or three a sample") {
    std::vector<RowEntry> entries;
    for (std::uint32_t i = 0; i < 1000; ++i) entries.push_back({i, 500});
    CHECK(encoded(entries).size() == 8 + 16 * 8 + 1000 * 2 + 984);
  }

  TEST_CASE("every length and every value comes back, and is found alone") {
    std::mt19937_64 random{1};
    for (const std::size_t count : {1, 2, 63, 64, 65, 127, 128, 129, 1000}) {
      CAPTURE(count);
      auto entries = random_entries(random, count);
      entries.front().value = kMin;
      entries.back().value = count == 1 ? kMin : kMax;
      const auto row = encoded(entries);
      CHECK(row.size() <= max_row_bytes(count));
      const auto reader = RowReader::open(row);
      REQUIRE(reader.has_value());
      CHECK(reader->size() == count);
      REQUIRE(reader->all().has_value());
      CHECK(same(*reader->all(), entries));
      for (const auto& e : entries) {
        const auto found = reader->find(e.id);
        CHECK_FALSE(found.damaged);
        REQUIRE(found.value.has_value());
        CHECK(*found.value == e.value);
      }
    }
  }

  TEST_CASE("a series that is not in the row is not found: before, between and after") {
    std::vector<RowEntry> entries;
    for (std::uint32_t i = 0; i < 200; ++i) entries.push_back({10 + 2 * i, 1});
    const auto row = encoded(entries);
    const auto reader = RowReader::open(row);
    REQUIRE(reader.has_value());
    for (const std::uint32_t id : {0U, 9U, 11U, 137U, 407U, 409U, 0xFFFFFFFFU}) {
      CAPTURE(id);
      CHECK_FALSE(reader->find(id).value.has_value());
      CHECK_FALSE(reader->find(id).damaged);
    }
  }

  TEST_CASE("a hint from another row, right, wrong or absurd, changes no answer") {
    std::mt19937_64 random{5};
    for (int round = 0; round < 200; ++round) {
      const auto row = encoded(random_entries(random, 1 + random() % 400));
      const auto reader = RowReader::open(row);
      REQUIRE(reader.has_value());
      for (int i = 0; i < 20; ++i) {
        const auto id = static_cast<std::uint32_t>(random() % 300'000);
        std::size_t hint = random() % 2 == 0 ? random() % 8 : random();
        CHECK(reader->find(id, hint).value == reader->find(id).value);
        CHECK(reader->find(id, hint).value == reader->find(id).value);
      }
      const auto all = reader->all();
      REQUIRE(all.has_value());
      for (const auto& e : *all) {
        std::size_t hint = random() % 8;
        CHECK(reader->find(e.id, hint).value == e.value);
      }
    }
  }

  TEST_CASE("an empty row and the largest id are legal") {
    const auto empty = encoded({});
    REQUIRE(RowReader::open(empty).has_value());
    CHECK_FALSE(RowReader::open(empty)->find(0).value.has_value());
    const auto top = encoded({{0, 1}, {0xFFFFFFFF, 2}});
    CHECK(RowReader::open(top)->find(0xFFFFFFFF).value == 2);
  }

  TEST_CASE("what is no row of this format is refused") {
    const auto row = encoded({{1, 1}, {2, 2}});
    CHECK_FALSE(RowReader::open("").has_value());
    CHECK_FALSE(RowReader::open(std::string(100, '\0')).has_value());
    CHECK_FALSE(RowReader::open(std::string{"\x02"} + row.substr(1)).has_value());
    CHECK_FALSE(RowReader::open(row.substr(0, 17)).has_value());
    auto many = row;
    many[7] = '\x7F';  // two thousand million entries in 20 bytes
    CHECK_FALSE(RowReader::open(many).has_value());
  }

  TEST_CASE("a cut-off or overlong value is damage, not a value") {
    const auto row = encoded({{1, 1}, {2, 1 << 20}});
    const auto cut = row.substr(0, row.size() - 1);
    REQUIRE(RowReader::open(cut).has_value());
    CHECK(RowReader::open(cut)->find(2).damaged);
    CHECK_FALSE(RowReader::open(cut)->all().has_value());
    const auto overlong = row.substr(0, row.size() - 3) + std::string(11, '\xFF');
    CHECK(RowReader::open(overlong)->find(2).damaged);
  }

  TEST_CASE("random damage never reads outside the row") {
    std::mt19937_64 random{2};
    for (int round = 0; round < 3000; ++round) {
      const auto entries = random_entries(random, 1 + random() % 200);
      auto row = encoded(entries);
      for (int i = 0; i < 4; ++i) row[random() % row.size()] = static_cast<char>(random());
      // Own memory of the exact size: the address sanitizer sees a byte too many.
      const std::vector<char> exact{
          row.begin(), row.begin() + static_cast<std::ptrdiff_t>(1 + random() % row.size())};
      const auto reader = RowReader::open({exact.data(), exact.size()});
      if (!reader) continue;
      (void)reader->all();
      for (const auto& e : entries) (void)reader->find(e.id);
    }
  }
}
