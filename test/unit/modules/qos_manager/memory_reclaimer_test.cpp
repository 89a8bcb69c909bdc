#include "modules/qos_manager/memory_reclaimer.hpp"

#include <future>

#include <doctest/doctest.h>

using namespace koordlet;
using std::chrono::seconds;

namespace {

policy::ReclaimWish wish_at(int second) {
  policy::ReclaimWish out;
  out.at = MonoTime{seconds{second}};
  out.cgroup = CgroupPath::parse("kubepods/besteffort").value();
  out.amount = Bytes{4096};
  out.reason = "why";
  return out;
}

/// Waits for the helper thread: its queue runs in order.
void settle(reactor::Worker& worker) {
  std::promise<void> reached;
  worker.post([&reached] { reached.set_value(); });
  reached.get_future().wait();
}

}  // namespace

TEST_SUITE("qos_manager/memory_reclaimer") {
  TEST_CASE("each wish runs once, and its result comes back") {
    reactor::Worker worker{"reclaim"};
    int calls = 0;
    MemoryReclaimer reclaimer{worker, [&calls](const CgroupPath&, Bytes) {
                                ++calls;
                                return Result<kernel::Reclaimed>{kernel::Reclaimed::kPart};
                              }};
    reclaimer.submit(std::nullopt);
    reclaimer.submit(wish_at(1));
    settle(worker);
    CHECK(reclaimer.running());
    const auto done = reclaimer.take();
    REQUIRE(done.size() == 1);
    CHECK(done[0].result == ReclaimResult::kPart);
    CHECK(done[0].wish.amount == Bytes{4096});
    CHECK(done[0].detail == "");
    reclaimer.submit(wish_at(1));
    settle(worker);
    CHECK(calls == 1);
    reclaimer.submit(wish_at(3));
    settle(worker);
    CHECK(calls == 2);
    CHECK(reclaimer.take().size() == 1);
    CHECK(reclaimer.counters().part == 2);
  }

  TEST_CASE("one at a time: a wish that comes while one runs is left out") {
    reactor::Worker worker{"reclaim"};
    std::promise<void> gate;
    auto opened = gate.get_future().share();
    int calls = 0;
    MemoryReclaimer reclaimer{worker, [&calls, opened](const CgroupPath&, Bytes) {
                                opened.wait();
                                ++calls;
                                return Result<kernel::Reclaimed>{kernel::Reclaimed::kAll};
                              }};
    reclaimer.submit(wish_at(1));
    reclaimer.submit(wish_at(3));
    gate.set_value();
    settle(worker);
    CHECK(calls == 1);
    CHECK(reclaimer.take().at(0).result == ReclaimResult::kDone);
    CHECK(reclaimer.counters().asked == 1);
  }

  TEST_CASE("refusals are told apart and keep the kernel's words") {
    const std::pair<Errc, ReclaimResult> table[] = {
        {Errc::kNotSupported, ReclaimResult::kUnsupported},
        {Errc::kGone, ReclaimResult::kGone},
        {Errc::kInvalid, ReclaimResult::kFailed}};
    for (const auto& row : table) {
      reactor::Worker worker{"reclaim"};
      const auto code = row.first;
      MemoryReclaimer reclaimer{worker, [code](const CgroupPath&, Bytes) {
                                  return Result<kernel::Reclaimed>{Error{code, "said so"}};
                                }};
      reclaimer.submit(wish_at(1));
      settle(worker);
      const auto done = reclaimer.take();
      REQUIRE(done.size() == 1);
      CHECK(done[0].result == row.second);
      CHECK(done[0].detail == "said so");
      CHECK(reclaimer.counters().failed == 1);
    }
  }
}
