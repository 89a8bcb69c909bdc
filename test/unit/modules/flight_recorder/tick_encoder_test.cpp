#include "modules/flight_recorder/tick_encoder.hpp"

#include <memory>

#include <doctest/doctest.h>

#include "modules/flight_recorder/recorded_node.hpp"

using namespace koordlet;
using std::chrono::seconds;

namespace {

Snapshot at(seconds now) {
  Snapshot out;
  out.now = MonoTime{now};
  out.state = std::make_shared<const NodeState>();
  return out;
}

/// A recording and its reading side by side, through bytes.
struct Tape {
  flight::TickEncoder encoder;
  flight::RecordedNode node;
  store::WriteNames written;
  store::ReadNames read;
  std::uint64_t number = 0;

  const Snapshot& pass(const Snapshot& s) {
    flight::Observation seen;
    seen.snapshot = s;
    seen.number = ++number;
    const auto bytes = store::encode_frame(encoder.frame(std::move(seen)), written);
    const auto frame = store::decode_frame(bytes, read);
    REQUIRE(frame.has_value());
    node.apply(std::get<store::TickFrame>(*frame));
    return node.snapshot();
  }
};

}  // namespace

TEST_SUITE("flight_recorder/tick_encoder") {
  TEST_CASE("what rules read of a snapshot comes back, and goes when it is gone") {
    Tape tape;
    auto s = at(seconds{10});
    s.has_memory_reclaim = true;
    s.protected_cache = Bytes{1 << 20};
    KubeletCpus cpus;
    cpus.policy = KubeletCpuPolicy::kStatic;
    cpus.exclusive["uid"] = CpuSet::parse("4-7").value();
    s.kubelet_cpus = std::make_shared<const KubeletCpus>(cpus);
    s.pods["uid"].stalls.cpu = StallShare{17.5, {}};
    const auto& first = tape.pass(s);
    CHECK(first.has_memory_reclaim);
    CHECK(first.protected_cache == Bytes{1 << 20});
    REQUIRE(first.kubelet_cpus);
    CHECK((*first.kubelet_cpus == cpus));
    CHECK(first.pods.at("uid").stalls.cpu->some_percent == 17.5);

    const auto& gone = tape.pass(at(seconds{11}));
    CHECK_FALSE(gone.has_memory_reclaim);
    CHECK_FALSE(gone.protected_cache.has_value());
    CHECK_FALSE(gone.kubelet_cpus);
    CHECK(gone.pods.empty());
  }

  TEST_CASE("a stall alone that changed is a change") {
    Tape tape;
    auto s = at(seconds{10});
    s.pods["uid"].stalls.cpu = StallShare{1, {}};
    static_cast<void>(tape.pass(s));
    s.now += seconds{1};
    s.pods["uid"].stalls.cpu = StallShare{60, {}};
    CHECK(tape.pass(s).pods.at("uid").stalls.cpu->some_percent == 60);
  }
}
