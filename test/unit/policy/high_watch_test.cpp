#include "policy/high_watch.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::policy;
using namespace std::chrono_literals;

namespace {

struct Rig {
  HighWatch watch;
  MonoTime now{1000s};
  std::optional<bool> look(bool high, std::chrono::seconds later = 0s) {
    now += later;
    watch = watch_high(watch, high, now, 5min);
    return watch.lasting;
  }
};

}  // namespace

TEST_SUITE("policy/high_watch") {
  TEST_CASE("5 minutes of HIGH set it, 5 minutes below it clear it") {
    Rig rig;
    CHECK(rig.look(true) == std::nullopt);
    CHECK(rig.look(true, 299s) == std::nullopt);
    CHECK(rig.look(true, 1s) == true);
    CHECK(rig.look(false, 1s) == true);
    CHECK(rig.look(false, 299s) == true);
    CHECK(rig.look(false, 1s) == false);
  }

  TEST_CASE("a break starts the time anew, on either side") {
    Rig rig;
    rig.look(true);
    rig.look(true, 200s);
    rig.look(false, 1s);
    CHECK(rig.look(true, 1s) == std::nullopt);
    CHECK(rig.look(true, 299s) == std::nullopt);
    CHECK(rig.look(true, 1s) == true);
    rig.look(false, 200s);
    rig.look(true, 1s);
    CHECK(rig.look(false, 299s) == true);
    CHECK(rig.look(false, 299s) == true);
    CHECK(rig.look(false, 1s) == false);
  }

  TEST_CASE("a calm start says so after 5 minutes: what an earlier run set is cleared") {
    Rig rig;
    CHECK(rig.look(false) == std::nullopt);
    CHECK(rig.look(false, 300s) == false);
  }
}
