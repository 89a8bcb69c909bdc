#include <doctest/doctest.h>

#include "nri_fixture.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using namespace std::chrono_literals;
using State = NriStatus::State;

NriOptions named(std::string name, std::string index = "00") {
  NriOptions out;
  out.name = std::move(name);
  out.index = std::move(index);
  return out;
}

}  // namespace

TEST_SUITE("nri_connection") {
  TEST_CASE("pitfall 128: names and indexes that no runtime takes are refused") {
    CHECK(check(NriOptions{}).has_value());
    CHECK(check(named("a.b_c+d-9", "99")).has_value());
    for (const auto* name : {"", "a/b", "/var/run/nri/nri.sock", "a b", "a\n", "\xc3\xa4"}) {
      CAPTURE(name);
      CHECK(check(named(name)).error().code == Errc::kInvalid);
    }
    CHECK(check(named("a/b")).error().context ==
          "plugin name 'a/b': expected 1 to 63 of A-Z a-z 0-9 _ . + -");
    for (const auto* index : {"", "0", "000", "0a", "-1"}) {
      CAPTURE(index);
      CHECK(check(named("a", index)).error().code == Errc::kInvalid);
    }
    NriOptions events;
    events.plugin.events = 0x800;
    CHECK(check(events).has_error());
    events.plugin.events = 0;
    CHECK(check(events).has_error());
    NriOptions relative;
    relative.socket = "nri.sock";
    CHECK(check(relative).has_error());
    NriOptions times;
    times.backoff_max = 1ms;
    CHECK(check(times).has_error());
    boost::asio::io_context io;
    ScriptedHook hook;
    SystemClock clock;
    const auto made = NriConnection::make(io.get_executor(), named("a/b"), hook, clock);
    CHECK(made.error().context.find("nri: plugin name") == 0);
  }

  TEST_CASE("registration, Configure, Synchronize: then it is ready") {
    NriPair t;
    t.runtime.set_configure(
        WireMessage{}.bytes(2, "containerd").bytes(3, "v2.0.1").number(5, 400).str());
    t.runtime.set_parts({sync_part(0, 3, false)});
    CHECK(t.state() == State::kConnecting);
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.until([&] { return t.runtime.handshake().size() == 2; }));
    CHECK(t.runtime.registrations()[0] ==
          from_hex("0a 0c 6b 6f 6f 72 64 6c 65 74 5f 6e 72 69 12 02 30 30"));
    CHECK(t.runtime.handshake()[0].payload == from_hex("10 cf 0d"));
    CHECK(t.runtime.handshake()[1].payload.empty());
    CHECK(t.hook.inventories.at(0).containers.size() == 3);
    const auto status = t.nri->status();
    CHECK(status.runtime.runtime_name == "containerd");
    CHECK(status.budget == 100ms);
    CHECK(status.connections == 1);
    CHECK(status.why.empty());
  }

  TEST_CASE("Configure before the answer to the registration is served") {
    NriPair t;
    t.runtime.set_fault(NriFault::kConfigureFirst);
    t.start();
    CHECK(t.ready());
  }

  TEST_CASE("pitfall 131: 500 containers in parts, one call, corrections in the last answer") {
    NriPair t;
    std::vector<std::string> parts;
    for (int n = 0; n < 5; ++n) parts.push_back(sync_part(n * 100, 100, n < 4));
    t.runtime.set_parts(parts);
    std::vector<HookUpdate> corrections;
    for (int n = 0; n < 500; ++n)
      corrections.push_back(quota_update("c" + std::to_string(n), 50'000));
    t.hook.sync_answer = corrections;
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.until([&] { return t.runtime.handshake().size() == 6; }));
    CHECK(t.hook.inventories.size() == 1);
    CHECK(t.hook.inventories[0].containers.size() == 500);
    for (int n = 1; n < 5; ++n) CHECK(t.runtime.handshake()[n].payload == from_hex("10 01"));
    CHECK(t.runtime.handshake()[5].payload == encode_synchronize(corrections, 500, false));
  }

  TEST_CASE("events are answered; an unknown method leaves the connection open") {
    NriPair t;
    t.start();
    REQUIRE(t.ready());
    NriEvents::Creation creation;
    creation.adjustment.resources.cpu_shares = 512;
    t.hook.creation = creation;
    CHECK(t.ask("CreateContainer", wire_both().str()).payload ==
          from_hex("0a 0b 32 09 12 07 12 05 0a 03 08 80 04"));
    CHECK(t.ask("ValidateContainerAdjustment", "").status == 12);
    CHECK(t.ask("StopContainer", wire_both().str()).status == 0);
    CHECK(t.hook.calls == std::vector<std::string>{"create pod1 c1", "stop pod1 c1"});
    CHECK(t.runtime.open() == 1);
    CHECK(t.nri->status().events.unknown == 1);
  }

  TEST_CASE("Shutdown is answered, the connection closed, the next runtime found") {
    NriPair t;
    t.start();
    REQUIRE(t.ready());
    t.runtime.set_fault(NriFault::kNoAnswer);
    CHECK(t.ask("Shutdown", "").status == 0);
    REQUIRE(t.until([&] { return t.runtime.accepted() == 2; }));
    CHECK(t.nri->status().why.find("the runtime shuts down") != std::string::npos);
    CHECK(t.state() == State::kConnecting);
  }

  TEST_CASE("cancelled in any state it ends and closes") {
    for (const auto fault :
         {NriFault::kNone, NriFault::kNoAnswer, NriFault::kNoSync, NriFault::kRefuse}) {
      NriPair t;
      t.runtime.set_fault(fault);
      t.start();
      REQUIRE(t.until([&] { return t.runtime.registrations().size() == 1; }));
      t.turns(5);
      t.stop();
      CHECK(t.state() == State::kConnecting);
      CHECK(t.until([&] { return t.runtime.open() == 0; }));
    }
  }
}

TEST_SUITE("nri_connection/updates") {
  TEST_CASE("refused while the runtime is not ready, or with a value it cannot carry") {
    NriPair t;
    CHECK(t.nri->queue(quota_update("c1", 1000)).error().code == Errc::kBusy);
    t.start();
    REQUIRE(t.ready());
    CHECK(t.nri->queue(quota_update("c1", 0)).error().code == Errc::kInvalid);
  }

  TEST_CASE("sent when the runtime is idle, 100 at once") {
    NriPair t;
    t.start();
    REQUIRE(t.ready());
    for (int n = 0; n < 150; ++n)
      REQUIRE(t.nri->queue(quota_update("c" + std::to_string(n), 1000)).has_value());
    CHECK(t.runtime.updates().empty());
    REQUIRE(t.until([&] { return t.nri->status().updates_sent == 150; }));
    CHECK(t.runtime.updates().size() == 2);
    CHECK(t.nri->status().updates_waiting == 0);
  }

  TEST_CASE("pitfall 133: an update that is queued during an event goes out after its answer") {
    auto options = NriPair::quick();
    options.quiet = 20ms;
    NriPair t{options};
    t.start();
    REQUIRE(t.ready());
    t.hook.on_call = [&] { REQUIRE(t.nri->queue(quota_update("c9", 1000)).has_value()); };
    const auto stream = t.runtime.ask("CreateContainer", wire_both().str());
    REQUIRE(t.until([&] { return !t.runtime.updates().empty(); }));
    REQUIRE(t.runtime.answer(stream) != nullptr);
    CHECK(t.runtime.updates()[0] == encode_update_containers({quota_update("c9", 1000)}));
  }

  TEST_CASE("none between the parts of a Synchronize") {
    NriPair t;
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.ask("Synchronize", sync_part(0, 1, true)).payload == from_hex("10 01"));
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    t.turns(20);
    CHECK(t.runtime.updates().empty());
    t.ask("Synchronize", sync_part(1, 1, false));
    CHECK(t.until([&] { return t.runtime.updates().size() == 1; }));
  }

  TEST_CASE("events are answered while an update waits for its answer") {
    NriPair t;
    t.runtime.set_updates_answer({}, true);
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    REQUIRE(t.until([&] { return t.runtime.updates().size() == 1; }));
    CHECK(t.ask("CreateContainer", wire_both().str()).status == 0);
  }

  TEST_CASE("what the runtime could not apply, and what it never answers, is counted") {
    auto options = NriPair::quick();
    options.update_timeout = 5ms;
    NriPair t{options};
    t.runtime.set_updates_answer(
        {0, {}, WireMessage{}.part(1, WireMessage{}.bytes(1, "c1")).str()});
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    REQUIRE(t.nri->queue(quota_update("c2", 1000)).has_value());
    REQUIRE(t.until([&] { return t.nri->status().updates_failed == 1; }));
    CHECK(t.nri->status().updates_sent == 1);
    t.runtime.set_updates_answer({13, "locked", {}});
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    REQUIRE(t.until([&] { return t.nri->status().updates_failed == 2; }));
    t.runtime.set_updates_answer({}, true);
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    REQUIRE(t.until([&] { return t.nri->status().updates_failed == 3; }));
    CHECK(t.state() == State::kReady);
  }

  TEST_CASE("what waits when the connection ends is dropped: Synchronize asks anew") {
    auto options = NriPair::quick();
    options.quiet = 10s;
    NriPair t{options};
    t.start();
    REQUIRE(t.ready());
    REQUIRE(t.nri->queue(quota_update("c1", 1000)).has_value());
    t.runtime.drop();
    REQUIRE(t.until([&] { return t.hook.inventories.size() == 2; }));
    CHECK(t.nri->status().updates_waiting == 0);
  }
}

}  // namespace koordlet::test
