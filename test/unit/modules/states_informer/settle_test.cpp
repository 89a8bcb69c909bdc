#include "modules/states_informer/settle.hpp"

#include <doctest/doctest.h>

#include "support/manual_clock.hpp"

using namespace koordlet;
using namespace std::chrono_literals;
using states::Settle;

TEST_SUITE("states_informer/settle") {
  TEST_CASE("nothing is due before an event, and once after its quiet time") {
    test::ManualClock clock;
    Settle settle{50ms};
    CHECK_FALSE(settle.due().has_value());
    CHECK_FALSE(settle.take(clock.now()));
    settle.on_event(clock.now());
    clock.advance(49ms);
    CHECK_FALSE(settle.take(clock.now()));
    clock.advance(1ms);
    CHECK(settle.take(clock.now()));
    CHECK_FALSE(settle.take(clock.now()));
  }

  TEST_CASE("events within the quiet time are taken together") {
    test::ManualClock clock;
    Settle settle{50ms};
    int taken = 0;
    for (int i = 0; i < 10; ++i) {
      settle.on_event(clock.now());
      clock.advance(30ms);
      taken += settle.take(clock.now()) ? 1 : 0;
    }
    CHECK(taken == 0);
    clock.advance(20ms);
    CHECK(settle.take(clock.now()));
  }

  TEST_CASE("a file that never rests is read all the same") {
    test::ManualClock clock;
    Settle settle{50ms};
    int taken = 0;
    for (int i = 0; i < 100; ++i) {  // 2 s of events each 20 ms; at the latest after 1 s each
      settle.on_event(clock.now());
      clock.advance(20ms);
      taken += settle.take(clock.now()) ? 1 : 0;
    }
    CHECK(taken == 2);
  }

  TEST_CASE("force is due at once") {
    test::ManualClock clock;
    Settle settle{50ms};
    settle.force(clock.now());
    CHECK(settle.take(clock.now()));
  }
}
