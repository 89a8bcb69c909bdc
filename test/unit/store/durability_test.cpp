#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "store/journal.hpp"
#include "store/metric_store.hpp"
#include "support/fake_tree.hpp"
#include "support/kill_rounds.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::FakeTree;

namespace {

LmdbEnv::Options in(const FakeTree& tree, std::uint64_t map_size) {
  LmdbEnv::Options o;
  o.folder = tree.path("db");
  o.map_size = map_size;
  return o;
}

// The child appends batch n and then says n, for ever. Never returns.
[[noreturn]] void append_for_ever(const LmdbEnv::Options& options, std::int64_t from, int report) {
  auto env = LmdbEnv::open(options);
  if (!env) ::_exit(1);
  auto store = MetricStore::open(*env, {});
  if (!store) ::_exit(2);
  for (std::int64_t n = from;; ++n) {
    MetricBatch batch{StoredTime{1'700'000'000'000 + n}, {}};
    for (int i = 0; i < 100; ++i) batch.samples.push_back({{"k", fmt::format("pod{}", i)}, n});
    if (!(*store)->append(batch)) ::_exit(3);
    if (::write(report, &n, sizeof n) != sizeof n) ::_exit(4);
  }
}

// Kills the child after `batches` reports; returns the last batch that it said was in.
std::int64_t append_until_killed(const LmdbEnv::Options& options, std::int64_t from, int batches) {
  int report[2];
  REQUIRE(::pipe(report) == 0);
  const pid_t child = ::fork();
  if (child == 0) append_for_ever(options, from, report[1]);
  ::close(report[1]);
  std::int64_t last = -1, n = 0;
  for (int i = 0; i < batches && ::read(report[0], &n, sizeof n) == sizeof n; ++i) last = n;
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  while (::read(report[0], &n, sizeof n) == sizeof n) last = n;
  ::close(report[0]);
  return last;
}

}  // namespace

TEST_SUITE("store/durability") {
  TEST_CASE("kill -9 in the middle of appends loses nothing that was committed") {
    // The second map is too small: the kill also hits the dropping of old rows.
    for (const std::uint64_t map_size : {std::uint64_t{16} << 20, std::uint64_t{256} << 10}) {
      CAPTURE(map_size);
      const FakeTree tree;
      const auto options = in(tree, map_size);
      std::int64_t next = 0;
      for (int kill = 0; kill < 8; ++kill) {
        CAPTURE(kill);
        const auto said = append_until_killed(options, next, 20 + 13 * kill);
        REQUIRE(said >= next);
        auto env = LmdbEnv::open(options);  // the lock went with the process
        REQUIRE(env.has_value());
        CHECK(env->moved_aside().empty());
        auto store = MetricStore::open(*env, {});
        REQUIRE(store.has_value());
        const auto last = (*store)->last({"k", "pod99"});
        REQUIRE(last.has_value());
        REQUIRE(last->has_value());
        // One more may be in than was said, none less.
        CHECK((*last)->value >= said);
        CHECK((*last)->value <= said + 1);
        const auto rows = (*store)->range({"k", "pod0"}, StoredTime{0}, StoredTime::max());
        REQUIRE(rows.has_value());
        CHECK(static_cast<std::int64_t>(rows->size()) ==
              rows->back().value - rows->front().value + 1);
        next = (*last)->value + 1;
        MetricBatch more{StoredTime{1'700'000'000'000 + next}, {{{"k", "pod0"}, next}}};
        more.samples.push_back({{"k", "pod99"}, next});
        CHECK((*store)->append(more).has_value());
        ++next;
      }
    }
  }

  TEST_CASE("kill -9 at random moments of appending, sealing and rolling up loses no batch") {
    const FakeTree tree;
    const auto rounds = test::run_kill_rounds(tree.path("db"), 10, 1);
    CHECK(rounds.fault == "");
    CHECK(rounds.killed == 10);
    CHECK(rounds.acknowledged >= 10);
    CHECK(rounds.lost == 0);
  }

  TEST_CASE("kill -9 right after a journal commit: the intent is there") {
    const FakeTree tree;
    const auto options = in(tree, 4 << 20);
    JournalEntry e;
    e.key = {CgroupPath::parse("kubepods/besteffort").value(), CgroupFile::kCpuMax};
    e.original = "max 100000";
    e.next = "120000 100000";
    e.boot_id = "b";
    e.inode = 3;
    const pid_t child = ::fork();
    if (child == 0) {
      auto env = LmdbEnv::open(options);
      if (!env || !Journal{*env}.commit({e}, {})) ::_exit(1);
      ::raise(SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    auto env = LmdbEnv::open(options);
    REQUIRE(env.has_value());
    const auto all = Journal{*env}.load();
    REQUIRE(all.has_value());
    REQUIRE(all->size() == 1);
    CHECK(all->front() == e);
  }
}
