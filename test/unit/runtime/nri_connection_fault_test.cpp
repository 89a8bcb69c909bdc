#include <doctest/doctest.h>

#include "nri_fixture.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using namespace std::chrono_literals;
using State = NriStatus::State;

NriOptions impatient() {
  auto out = NriPair::quick();
  out.register_timeout = 5ms;
  out.sync_patience = 5ms;
  return out;
}

}  // namespace

TEST_SUITE("nri_connection/faults") {
  TEST_CASE("pitfall 128: no socket; it comes later, and again after a restart") {
    NriPair t;
    t.runtime.stop_listening();
    t.start();
    REQUIRE(t.until([&] { return !t.nri->status().why.empty(); }));
    CHECK(t.nri->status().why.find(t.tree.path("nri.sock")) == 0);
    CHECK(t.nri->status().connections == 0);
    t.runtime.listen_again();
    REQUIRE(t.ready());
    CHECK(t.nri->status().why.empty());

    t.runtime.stop_listening();
    t.runtime.drop();
    REQUIRE(t.until([&] { return t.state() == State::kConnecting; }));
    t.turns(5);
    t.runtime.listen_again();
    REQUIRE(t.ready());
    CHECK(t.hook.inventories.size() == 2);
    CHECK(t.runtime.registrations().size() == 2);
  }

  TEST_CASE("pitfall 127: three quick closes make one connection at a time") {
    auto options = NriPair::quick();
    options.backoff_min = 20ms;
    options.backoff_max = 40ms;
    NriPair t{options};
    t.runtime.set_fault(NriFault::kCloseAtOnce, 3);
    t.start();
    REQUIRE(t.ready());
    CHECK(t.runtime.accepted() == 4);
    CHECK(t.runtime.most_open() == 1);
    CHECK(t.nri->status().connections == 4);
  }

  TEST_CASE("a runtime that refuses, closes, or talks nonsense is tried again") {
    for (const auto fault : {NriFault::kRefuse,
                             NriFault::kCloseAtOnce,
                             NriFault::kCloseInRegister,
                             NriFault::kCloseInSync,
                             NriFault::kGarbage}) {
      CAPTURE(static_cast<int>(fault));
      NriPair t;
      t.runtime.set_parts({sync_part(0, 1, true), sync_part(1, 1, false)});
      t.runtime.set_fault(fault, 3);
      t.start();
      REQUIRE(t.until([&] { return t.runtime.accepted() == 3 && !t.nri->status().why.empty(); }));
      CHECK(t.state() != State::kReady);
      CHECK(t.nri->status().why.find('\n') == std::string::npos);
      REQUIRE(t.ready());
      CHECK(t.runtime.most_open() == 1);
      REQUIRE(t.hook.inventories.size() == 1);
      CHECK(t.hook.inventories[0].containers.size() == 2);
    }
  }

  TEST_CASE("the reason of a refusal is shown") {
    NriPair t;
    t.runtime.set_fault(NriFault::kRefuse);
    t.start();
    REQUIRE(t.until([&] { return !t.nri->status().why.empty(); }));
    CHECK(t.nri->status().why == t.tree.path("nri.sock") +
                                     ": nri.pkg.api.v1alpha1.Runtime/RegisterPlugin: status 7: "
                                     "plugins are off");
  }

  TEST_CASE("a silent peer: registration has its time limit, then the next connection") {
    for (const auto fault : {NriFault::kMute, NriFault::kNoAnswer}) {
      NriPair t{impatient()};
      t.runtime.set_fault(fault, 1);
      t.start();
      REQUIRE(t.ready());
      CHECK(t.runtime.accepted() >= 2);
    }
  }

  TEST_CASE("pitfall 136: registered and never synchronised is not ready, and says why") {
    NriPair t{impatient()};
    t.runtime.set_fault(NriFault::kNoSync);
    t.start();
    REQUIRE(t.until([&] { return !t.nri->status().why.empty(); }));
    CHECK(t.state() == State::kRegistered);
    CHECK(t.nri->status().why ==
          t.tree.path("nri.sock") + ": registered, but no Synchronize within 5 ms");
    CHECK(t.runtime.accepted() == 1);
    t.runtime.ask("Synchronize", sync_part(0, 1, false));
    REQUIRE(t.ready());
    CHECK(t.nri->status().why.empty());
  }

  TEST_CASE("frames above the limit end the connection, and it comes back") {
    NriPair t;
    t.start();
    REQUIRE(t.ready());
    t.runtime.say(from_hex("00 00 00 01 00 40 00 0b"));
    REQUIRE(t.until([&] { return t.runtime.accepted() == 2; }));
    CHECK(t.ready());
    CHECK(t.runtime.most_open() == 1);
  }

  TEST_CASE("a message above 4 MiB, unknown types and connections leave it open") {
    NriPair t;
    t.start();
    REQUIRE(t.ready());
    std::string wire;
    net::append_mux_frames(
        wire, 1, net::ttrpc_bytes(net::TtrpcType::kRequest, 101, std::string(4'194'305, 'x')));
    auto odd = net::ttrpc_bytes(net::TtrpcType::kRequest, 103, "abc");
    odd[8] = 9;
    net::append_mux_frames(wire, 1, odd);
    net::append_mux_frames(wire, 77, "garbage");
    t.runtime.say(wire);
    REQUIRE(t.until([&] { return t.runtime.answer(101) != nullptr; }));
    CHECK(t.runtime.answer(101)->status == 8);
    CHECK(t.runtime.accepted() == 1);
    CHECK(t.state() == State::kReady);
  }

  TEST_CASE("the connection closes in the middle of an event and of an update") {
    NriPair t;
    t.runtime.set_updates_answer({}, true);
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    REQUIRE(t.until([&] { return t.runtime.updates().size() == 1; }));
    t.runtime.ask("CreateContainer", wire_both().str());
    t.runtime.drop();
    REQUIRE(t.until([&] { return t.runtime.accepted() == 2; }));
    REQUIRE(t.ready());
    CHECK(t.nri->status().updates_failed == 1);
  }

  TEST_CASE("a damaged Synchronize: not ready until a whole one comes") {
    NriPair t;
    t.runtime.set_parts({"\xff"});
    t.start();
    REQUIRE(t.until([&] { return t.runtime.handshake().size() == 2; }));
    CHECK(t.runtime.handshake()[1].status == 3);
    CHECK(t.state() == State::kRegistered);
    CHECK(t.nri->status().events.damaged == 1);
  }
}

}  // namespace koordlet::test
