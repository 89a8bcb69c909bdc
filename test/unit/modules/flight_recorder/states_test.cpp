#include <doctest/doctest.h>

#include "modules/flight_recorder/states_codec.hpp"

using namespace koordlet;
using std::chrono::seconds;

TEST_SUITE("flight_recorder/states") {
  TEST_CASE("states come back equal") {
    const MonoTime now{seconds{900}};
    policy::PluginStates s;
    s.adopted = policy::PluginStates::Adopted{
        {{MilliCpu{2000}, std::chrono::microseconds{60'000}}}, MilliCpu{500}, now};
    s.ready = true;
    s.pressure.level = policy::Level::kHigh;
    s.pressure.factor_permille = 300;
    s.pressure.hold_until = now + seconds{40};
    s.pressure.raise.trials["uid"] = {now, 12.5, true};
    s.evict.started = now - seconds{60};
    s.evict.window.add({now, std::chrono::milliseconds{1000}, MilliCpu{700}, {}}, seconds{300});
    s.evict.ledger.owners["ReplicaSet a/b"].evicted = {now - seconds{5}};
    s.burst.containers["uid/main"].tokens = {100, 40};
    s.memory_soften.high = Bytes{1 << 30};
    s.memory_soften.reclaim =
        policy::ReclaimWish{now, *CgroupPath::parse("kubepods/besteffort"), Bytes{4096}, "over"};
    s.idle_buffer.allowance = MilliCpu{1500};
    s.idle_buffer.cpuset = CpuSet::parse("2-3").value();
    s.idle_buffer.last_seq = 7;
    s.starvation.pods["uid"] = {now - seconds{70}, now - seconds{1}, true, Permille{40}};
    s.starvation.starving = {"uid"};
    s.starvation.floor = MilliCpu{200};
    const auto back = flight::decode_states(flight::encode_states(s, now), now);
    REQUIRE(back.has_value());
    CHECK(back->ready);
    CHECK(back->adopted->root_cap == MilliCpu{500});
    CHECK(back->adopted->pods.at(0).request == MilliCpu{2000});
    CHECK((back->pressure == s.pressure));
    CHECK((back->suppress == s.suppress));
    CHECK((back->evict == s.evict));
    CHECK((back->burst == s.burst));
    CHECK((back->memory_soften == s.memory_soften));
    CHECK((back->idle_buffer == s.idle_buffer));
    CHECK((back->starvation == s.starvation));
  }

  TEST_CASE("cut off anywhere, states are refused") {
    const auto bytes = flight::encode_states({}, MonoTime{seconds{1}});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CHECK_FALSE(flight::decode_states(bytes.substr(0, size), MonoTime{seconds{1}}).has_value());
    }
    CHECK(flight::decode_states(bytes + "x", MonoTime{seconds{1}}).error().context ==
          "states: expected their end");
  }
}
