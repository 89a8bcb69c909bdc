#include "kernel/run_queue.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace koordlet::kernel;
using std::chrono::nanoseconds;

namespace {

constexpr nanoseconds us(std::int64_t n) { return std::chrono::microseconds{n}; }

std::optional<nanoseconds> at(std::initializer_list<std::pair<std::size_t, std::uint64_t>> filled,
                              double q) {
  LatencySlots slots{};
  for (const auto& [slot, count] : filled) slots[slot] = count;
  return quantile(slots, q);
}

}  // namespace

TEST_SUITE("kernel/run_queue") {
  TEST_CASE("linear inside its slot: of 10000 waits 9850 lie below the slot and 100 in it") {
    // Slot 5 is [16, 32) us: 16 + 16 x (9900 - 9850) / 100.
    CHECK(at({{1, 9850}, {5, 100}, {7, 50}}, 0.99) == us(24));
  }
  TEST_CASE("the first slot is one microsecond wide, as is the second") {
    CHECK(at({{0, 10}}, 0.5) == nanoseconds{500});
    CHECK(at({{1, 10}}, 0.5) == nanoseconds{1500});
  }
  TEST_CASE("a rank on a border is the end of the lower slot") {
    CHECK(at({{2, 50}, {10, 50}}, 0.5) == us(4));
    CHECK(at({{3, 7}}, 1.0) == us(8));
  }
  TEST_CASE("a small share of one wait lies inside its slot") {
    CHECK(at({{11, 1}}, 0.25) == us(1024 + 256));
  }
  TEST_CASE("the last slot has no end: its start is given") {
    CHECK(at({{25, 3}}, 0.5) == us(1 << 24));
    CHECK(at({{25, 3}}, 1.0) == us(1 << 24));
    CHECK(at({{24, 2}}, 1.0) == us(1 << 24));
  }
  TEST_CASE("without waits there is no quantile") { CHECK_FALSE(at({}, 0.5).has_value()); }
  TEST_CASE("shares outside (0, 1] have no quantile") {
    for (const double q : {0.0, -0.5, 1.0000001, std::numeric_limits<double>::quiet_NaN()}) {
      CAPTURE(q);
      CHECK_FALSE(at({{4, 1}}, q).has_value());
    }
  }
  TEST_CASE("counts near the end of their range do not overflow") {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    CHECK(at({{4, kMost}, {6, kMost}}, 0.25) == us(12));
    CHECK(at({{4, kMost}, {6, kMost}}, 1.0) == us(64));
  }
}
