#include <limits>
#include <memory>
#include <random>

#include <doctest/doctest.h>

#include "store/bits.hpp"
#include "store/sample_block.hpp"

using namespace koordlet::store;

namespace {

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

using Values = std::vector<std::int64_t>;

std::string block_of(const Values& values) {
  std::string out;
  append_block(values, out);
  return out;
}

// The block has to be used up, whatever stands behind it.
void check_round_trip(const Values& values) {
  CAPTURE(values.size());
  std::string bytes = block_of(values);
  const auto size = bytes.size();
  bytes += "next";
  std::string_view rest = bytes;
  Values got{-7};
  REQUIRE(read_block(rest, values.size(), got));
  CHECK(rest == "next");
  REQUIRE(got.size() == values.size() + 1);
  CHECK(got.front() == -7);
  CHECK(std::equal(values.begin(), values.end(), got.begin() + 1));
  // The worst run: two bytes of head and two numbers of ten bytes, every value whole.
  const auto runs = (values.size() + kBlockRun - 1) / kBlockRun;
  CHECK(size <= runs * 22 + values.size() * 8);
}

template <class F>
Values made(std::size_t count, F f) {
  Values out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(f(static_cast<std::int64_t>(i)));
  return out;
}

// Reads from memory of exactly this size, so that a sanitizer sees a read outside.
bool read_exactly(const std::string& bytes, std::size_t count) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  std::string_view view{copy.get(), bytes.size()};
  Values out{5};
  const bool ok = read_block(view, count, out);
  CHECK(out.size() == (ok ? count + 1 : 1));
  return ok;
}

const std::vector<Values>& shapes() {
  static const std::vector<Values> all{
      {0},
      {kLowest},
      {kHighest},
      made(120, [](auto) { return 42; }),
      made(121, [](auto i) { return 1000 + i; }),
      made(720, [](auto i) { return 5000 - 7 * i; }),
      made(120, [](auto i) { return (1'000'000 + i * 37 % 5) * 4096; }),
      made(240, [](auto i) { return i % 2 == 0 ? kLowest : kHighest; }),
      made(130, [](auto i) { return i % 3 == 0 ? 1'000'000'000'000'000'000 : -i; }),
      made(7, [](auto i) { return i % 2 == 0 ? kLowest : 0; }),
  };
  return all;
}

}  // namespace

TEST_SUITE("store/sample_block_shapes") {
  TEST_CASE("every shape of series comes back as it was") {
    for (const auto& s : shapes()) check_round_trip(s);
    check_round_trip({});
    for (const std::size_t count : {1U, 2U, 119U, 120U, 121U, 240U, 720U, 65536U}) {
      check_round_trip(made(count, [](auto i) { return i * i; }));
    }
  }

  TEST_CASE("every width, plain and with dropped zero bits, at either end of 64 bits") {
    std::mt19937_64 random{5};
    for (unsigned width = 0; width <= 64; ++width) {
      for (unsigned shift = 0; shift + width <= 64; shift += 5) {
        CAPTURE(width);
        CAPTURE(shift);
        for (const std::size_t count : {1U, 2U, 3U, 9U, 120U}) {
          Values values;
          for (std::size_t i = 0; i < count; ++i) {
            const auto bits = width == 0 ? 0 : random() >> (64 - width);
            values.push_back(static_cast<std::int64_t>(shift > 63 ? 0 : bits << shift));
          }
          check_round_trip(values);
          for (auto& v : values) {
            v = static_cast<std::int64_t>(~static_cast<std::uint64_t>(v) + 1);
          }
          check_round_trip(values);
        }
      }
    }
  }

  TEST_CASE("seeded walks, jumps and noise come back as they were") {
    std::mt19937_64 random{11};
    for (int round = 0; round < 300; ++round) {
      CAPTURE(round);
      Values values;
      const auto noise = std::uint64_t{1} << random() % 64;
      std::uint64_t level = random() >> random() % 64;
      for (auto n = random() % 500; n > 0; --n) {
        if (random() % 50 == 0) level = random();
        level += random() % noise;
        values.push_back(static_cast<std::int64_t>(level));
      }
      check_round_trip(values);
    }
  }

  TEST_CASE("a constant, a ramp and a few pages up and down cost what the rule says") {
    CHECK(block_of(made(120, [](auto) { return 1'000'000; })).size() <= 1 + 4);
    CHECK(block_of(made(120, [](auto i) { return 1'000'000 + 250 * i; })).size() <= 1 + 4 + 2);
    // Within 8 pages: three bits each. Head, dropped bits and the smallest (below 2^20 pages) come
    // on top.
    const auto pages =
        made(120, [](auto i) { return (300'000 + (i * 7919) % 8) * std::int64_t{4096}; });
    CHECK(block_of(pages).size() <= 2 + 3 + 120 * 3 / 8);
  }

  TEST_CASE("a lone jump widens its own run only") {
    auto values = made(720, [](auto i) { return 100 + i % 2; });
    values[300] = kHighest;
    // Five quiet runs of one bit a value, one of 64.
    CHECK(block_of(values).size() <= 5 * (1 + 2 + 15) + 22 + 120 * 8);
  }

  TEST_CASE("every flipped byte is an error or another value, never a read outside") {
    std::mt19937 random{2};
    for (const auto& s : shapes()) {
      const auto whole = block_of(s);
      for (std::size_t at = 0; at < whole.size(); ++at) {
        auto bytes = whole;
        for (int flip = 0; flip < (at < 24 ? 256 : 4); ++flip) {
          bytes[at] = static_cast<char>(at < 24 ? flip : static_cast<int>(random() % 256));
          read_exactly(bytes, s.size());
        }
      }
    }
    for (int round = 0; round < 20'000; ++round) {
      std::string bytes;
      for (auto n = random() % 40; n > 0; --n) bytes += static_cast<char>(random());
      read_exactly(bytes, random() % 300);
    }
  }

  TEST_CASE("varints of ten bytes end at 64 bits, zigzag has every number") {
    for (const auto v :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, kLowest, kHighest, kLowest + 1}) {
      CHECK(unzigzag(zigzag(v)) == v);
      std::string bytes;
      put_varint(bytes, zigzag(v));
      std::string_view view = bytes;
      std::uint64_t back = 0;
      REQUIRE(get_varint(view, back));
      CHECK(back == zigzag(v));
      CHECK(view.empty());
    }
    std::uint64_t v = 0;
    std::string_view beyond{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10};
    CHECK_FALSE(get_varint(beyond, v));
  }
}
