#include "store/sample_block.hpp"

#include <limits>
#include <random>

#include <doctest/doctest.h>

using namespace koordlet::store;

namespace {

using Values = std::vector<std::int64_t>;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::string packed(const Values& values) {
  std::string out;
  append_block(values, out);
  return out;
}

void check_same(const Values& values) {
  const auto bytes = packed(values) + "rest";
  std::string_view view = bytes;
  Values out{77};
  REQUIRE(read_block(view, values.size(), out));
  CHECK(view == "rest");
  REQUIRE(out.size() == values.size() + 1);
  CHECK(out.front() == 77);
  CHECK(std::equal(values.begin(), values.end(), out.begin() + 1));
}

}  // namespace

TEST_SUITE("store/sample_block") {
  // 3 bits for 0..5, the smallest value 100 as zigzag varint 200: C8 01; then 0 5 2 3 4 1, low bits
  // first: 000 101 010 11|0 100 001 -> bits 0,5<<3,2<<6,3<<9,4<<12,1<<15.
  TEST_CASE("the example of docs/metric-store.md") {
    CHECK(packed({1000, 1001, 1003}) == "\x02\xd0\x0f\x34");
  }
  TEST_CASE("the bytes of distances from the smallest value") {
    CHECK(packed({100, 105, 102, 103, 104, 101}) == std::string{"\x03\xC8\x01\xA8\xC6\x00", 6});
  }
  TEST_CASE("the bytes of changes: a clock that ticks evenly") {
    // Width 0 of changes; first 1000 = zigzag 2000: D0 0F; smallest change 60 = zigzag 120: 78.
    CHECK(packed({1000, 1060, 1120, 1180}) == std::string{"\x80\xD0\x0F\x78", 4});
  }
  TEST_CASE("the bytes of pages: zero bits that all share are dropped") {
    // 65 + 1 bit, 12 bits dropped, the smallest is 1 page = zigzag 2; then 0 1 1 0.
    CHECK(packed({4096, 8192, 8192, 4096}) == std::string{"\x42\x0C\x02\x06", 4});
  }
  TEST_CASE("one value and equal values need no bits") {
    CHECK(packed({0}).size() == 2);
    CHECK(packed(Values(120, 7)).size() == 2);
    CHECK(packed(Values(120, 0)).size() == 2);
    CHECK(packed({}).empty());
  }
  TEST_CASE("a usage of whole per cents of four cores costs little more than a byte") {
    std::mt19937 random{5};
    Values values;
    for (int i = 0; i < 600; ++i) values.push_back(1800 + static_cast<int>(random() % 400));
    CHECK(packed(values).size() <= 600 * 9 / 8 + 5 * 4);  // 9 bits for 0..399
  }
  TEST_CASE("any 64-bit value comes back") {
    check_same({kMin});
    check_same({kMax, kMin, 0, -1, 1, kMin, kMax});
    check_same({kMin, kMax});
    check_same({kMin, 0});
    check_same({kMin, kMin});
    check_same({1'000'000'000'000'000'000, -1'000'000'000'000'000'000, 0});
    check_same({kMin, kMin / 2, 0, kMax / 2 + 1});
    for (int shift = 0; shift < 64; ++shift) {
      CAPTURE(shift);
      const auto bit = static_cast<std::int64_t>(std::uint64_t{1} << shift);
      check_same({bit, 0, bit, -bit, bit});
      check_same({bit, bit, bit});
    }
  }
  TEST_CASE("random blocks of every width, length and kind come back") {
    std::mt19937_64 random{6};
    for (int round = 0; round < 3000; ++round) {
      CAPTURE(round);
      Values values;
      const auto count = 1 + random() % 260;
      const auto narrow = random() % 64, drop = random() % 3 == 0 ? random() % 64 : 0;
      auto walk = static_cast<std::int64_t>(random());
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto step = random() >> narrow;
        walk = static_cast<std::int64_t>(static_cast<std::uint64_t>(walk) + step);
        const auto v = round % 2 == 0 ? static_cast<std::uint64_t>(walk) : step;
        values.push_back(static_cast<std::int64_t>(v << drop));
      }
      check_same(values);
    }
  }
  TEST_CASE("a block cut off anywhere is damaged, not read beyond") {
    const auto whole = packed({4096 * 5, 4096 * 9, kMax - 4095, 0, 4096});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      const std::vector<char> exact(whole.begin(),
                                    whole.begin() + static_cast<std::ptrdiff_t>(size));
      std::string_view view{exact.data(), exact.size()};
      Values out;
      CHECK_FALSE(read_block(view, 5, out));
      CHECK(out.empty());
    }
  }
  TEST_CASE("random bytes never crash, a count without bound is refused") {
    std::mt19937 random{7};
    for (int round = 0; round < 5000; ++round) {
      std::vector<char> bytes(random() % 60);
      for (auto& b : bytes) b = static_cast<char>(random());
      std::string_view view{bytes.data(), bytes.size()};
      Values out;
      (void)read_block(view, 1 + random() % 130, out);
    }
    std::string_view none;
    Values out;
    CHECK_FALSE(read_block(none, kMaxBlock + 1, out));
    CHECK_FALSE(read_block(none, SIZE_MAX, out));
  }
}
