#include <condition_variable>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>

#include "modules/resource_executor/slow_writes.hpp"
#include "rig.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

/// The reclaim thread's view of the tree: a write waits, as in the kernel, until the test lets it
/// through.
class GatedCgroups final : public kernel::Cgroups {
 public:
  explicit GatedCgroups(FakeCgroups& tree) : tree_{tree} {}

  void open_gate() {
    const std::lock_guard lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  /// Waits until a write stands at the gate.
  void wait_for_writer() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return at_gate_; });
  }
  void fail_with(Errc code) { failure_ = code; }

  CgroupVersion version() const override { return tree_.version(); }
  Result<CgroupValue> read(const CgroupKey& key) override { return tree_.read(key); }
  Result<void> write(const CgroupKey& key, const CgroupValue& value) override {
    std::unique_lock lock{mutex_};
    at_gate_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    if (failure_) return Error{*failure_, "refused by the test"};
    return tree_.write(key, value);
  }
  Result<kernel::Inode> inode(const CgroupKey& key) override { return tree_.inode(key); }
  Result<std::vector<std::string>> children(const CgroupPath& path) override {
    return tree_.children(path);
  }
  bool has(const CgroupKey& key) override { return tree_.has(key); }
  std::string file(const CgroupKey& key) const override { return tree_.file(key); }

 private:
  FakeCgroups& tree_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false, at_gate_ = false;
  std::optional<Errc> failure_;
};

constexpr std::int64_t kGi = std::int64_t{1} << 30;

struct SlowRig {
  SlowRig() : rig{CgroupVersion::kV2}, gate{rig.tree} {
    rig.tree.make("be/pod");
    worker = std::make_unique<reactor::Worker>("reclaim");
    rig.executor->use_reclaim_thread(*worker, gate);
  }
  ~SlowRig() { gate.open_gate(); }
  /// The gate opens, and everything handed over has been written.
  void finish_writes() {
    gate.open_gate();
    run(rig.io, worker->run([] { return 0; }));
  }

  Rig rig;
  GatedCgroups gate;
  std::unique_ptr<reactor::Worker> worker;
  CgroupKey high = key_of("be/pod", CgroupFile::kMemoryHigh);
  CgroupKey quota = key_of("be/pod", CgroupFile::kCpuMax);
};

}  // namespace

TEST_SUITE("resource_executor/reclaim thread") {
  TEST_CASE("a lower memory.high does not hold up the quota of the same batch") {
    SlowRig s;
    const auto outcomes =
        s.rig.apply({{s.high, wish(bytes(kGi))}, {s.quota, wish(cpu_max(50'000))}});
    CHECK(outcomes.at(0).kind == OutcomeKind::kWritten);  // cpu.max
    CHECK(outcomes.at(1).kind == OutcomeKind::kPending);
    CHECK(s.rig.tree.text(s.quota) == "50000 100000");
    s.gate.wait_for_writer();
    s.rig.clock.advance(std::chrono::milliseconds{869});
    const auto waits = s.rig.apply_one(s.high, bytes(kGi));
    CHECK(waits.kind == OutcomeKind::kPending);
    CHECK(waits.error.find("869 ms") != std::string::npos);
    s.finish_writes();
    CHECK(s.rig.apply_one(s.high, bytes(kGi)).kind == OutcomeKind::kUnchanged);
    CHECK(s.rig.tree.text(s.high) == std::to_string(kGi));
    CHECK(s.rig.held(s.high).foreign_writes == 0);
  }

  TEST_CASE("raising a limit needs no thread") {
    SlowRig s;
    s.rig.tree.set(s.high, bytes(kGi));
    CHECK(s.rig.apply_one(s.high, bytes(2 * kGi)).kind == OutcomeKind::kWritten);
  }

  TEST_CASE("a wish that lifts the limit again overtakes the write that has not begun") {
    SlowRig s;
    const auto other = s.rig.tree.make("be/other");
    const CgroupKey first{other, CgroupFile::kMemoryHigh};
    // The first write stands at the gate, the second waits behind it.
    s.rig.apply({{first, wish(bytes(kGi))}, {s.high, wish(bytes(kGi))}});
    s.gate.wait_for_writer();
    s.rig.apply({{first, wish(bytes(kGi))}, {s.high, wish(bytes_unlimited())}});
    s.finish_writes();
    s.rig.apply({{first, wish(bytes(kGi))}, {s.high, wish(bytes_unlimited())}});
    CHECK(s.rig.tree.text(s.high) == "max");
    CHECK(s.rig.tree.text(first) == std::to_string(kGi));
  }

  TEST_CASE("restore does not queue behind the thread, and what waits is never written") {
    SlowRig s;
    const auto other = s.rig.tree.make("be/other");
    const CgroupKey first{other, CgroupFile::kMemoryHigh};
    s.rig.apply({{first, wish(bytes(kGi))}, {s.high, wish(bytes(kGi))}});
    s.gate.wait_for_writer();
    // In the kernel the value of a write that has begun is in force at once.
    s.rig.tree.set(first, bytes(kGi));
    s.rig.executor->restore_all();
    CHECK(s.rig.tree.text(first) == "max");
    CHECK(s.rig.tree.text(s.high) == "max");
  }

  TEST_CASE("a refusal from the thread is shown as any other, and is not repeated at once") {
    SlowRig s;
    s.gate.fail_with(Errc::kInvalid);
    s.rig.apply_one(s.high, bytes(kGi));
    s.finish_writes();
    const auto outcome = s.rig.apply_one(s.high, bytes(kGi));
    CHECK(outcome.kind == OutcomeKind::kRefused);
    CHECK(outcome.error == "refused by the test");
    CHECK(s.rig.tree.text(s.high) == "max");
    CHECK(s.rig.executor->counters().refused == 1);
  }

  TEST_CASE("a wish that is dropped while its write is under way gives the original back") {
    SlowRig s;
    s.rig.apply_one(s.high, bytes(kGi));
    s.gate.wait_for_writer();
    s.rig.tree.set(s.high, bytes(kGi));
    s.rig.apply({});
    CHECK(s.rig.tree.text(s.high) == "max");
  }
}
