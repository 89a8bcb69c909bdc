#include <cstdlib>
#include <filesystem>
#include <future>

#include <doctest/doctest.h>

#include "unit/modules/resource_executor/rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

constexpr auto kV1 = CgroupVersion::kV1;
constexpr auto kV2 = CgroupVersion::kV2;

class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "koordlet-journal-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string state() const { return (path_ / "state").string(); }

 private:
  std::filesystem::path path_;
};

struct State {
  TempFolder folder;
  store::LmdbEnv env = store::LmdbEnv::open({folder.state()}).value();
  store::Journal journal{env};

  std::vector<store::JournalEntry> rows() { return journal.load().value(); }
  store::JournalEntry row(const CgroupKey& key) {
    for (auto& r : rows()) {
      if (r.key == key) return r;
    }
    return {};
  }
};

struct Crash {};

/// The n-th write attempt from now never happens: the process dies before it.
void crash_at(Rig& rig, int n) {
  rig.tree.on_write([left = n](const CgroupKey&, const CgroupValue&) mutable {
    if (--left == 0) throw Crash{};
  });
}

void crash_in(Rig& rig, const DesiredTable& table, int write) {
  crash_at(rig, write);
  CHECK_THROWS_AS(rig.apply(table), Crash);
  rig.tree.on_write(nullptr);
  rig.restart();
}

const CgroupKey kPod = key_of("be/pod", CgroupFile::kCpuMax);

/// A pod of 400000 capped at 120000, then a restart.
void cap_and_restart(Rig& rig, std::string boot_id = "boot-1") {
  rig.tree.make("be/pod");
  rig.tree.set(kPod, cpu_max(400'000));
  rig.apply_one(kPod, cpu_max(120'000));
  rig.restart(std::move(boot_id));
  rig.tree.clear_log();
}

}  // namespace

TEST_SUITE("executor/journal") {
  TEST_CASE("the intents of a batch stand in the journal before its first write") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    rig.tree.make("be/a");
    rig.tree.make("be/b");
    std::size_t rows_at_first_write = 0;
    rig.tree.on_write([&](const CgroupKey&, const CgroupValue&) {
      if (rows_at_first_write == 0) rows_at_first_write = state.rows().size();
    });
    const auto a = key_of("be/a", CgroupFile::kCpuMax), b = key_of("be/b", CgroupFile::kCpuMax);
    rig.apply({{a, wish(cpu_max(50'000))}, {b, wish(cpu_max(60'000))}});
    CHECK(rows_at_first_write == 2);
    const auto row = state.row(b);
    CHECK(row.original == "max 100000");
    CHECK(row.previous.empty());
    CHECK(row.next == "60000 100000");
    CHECK(row.plugin == "cpu_suppress");
    CHECK(row.boot_id == "boot-1");
    CHECK(row.inode == rig.tree.inode(key_of("be/b", CgroupFile::kCpuMax)).value());
    rig.apply({{a, wish(cpu_max(50'000))}, {b, wish(cpu_max(70'000))}});
    CHECK(state.row(b).previous == "60000 100000");
    CHECK(state.row(b).next == "70000 100000");
    CHECK(state.row(b).original == "max 100000");
  }
  TEST_CASE("the row goes after the original is back, not before") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    rig.tree.make("be/pod");
    rig.apply_one(kPod, cpu_max(120'000));
    std::size_t rows_at_write = 0;
    rig.tree.on_write(
        [&](const CgroupKey&, const CgroupValue&) { rows_at_write = state.rows().size(); });
    rig.apply({});
    CHECK(rows_at_write == 1);
    CHECK(state.rows().empty());
  }
  TEST_CASE("the row of a gone cgroup is erased") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    rig.tree.make("be/pod");
    rig.apply_one(kPod, cpu_max(120'000));
    rig.tree.remove(path_of("be/pod"));
    CHECK(rig.apply_one(kPod, cpu_max(120'000)).kind == OutcomeKind::kGone);
    CHECK(state.rows().empty());
  }
  TEST_CASE("dry run leaves no rows, and an adopted cap stays where it is") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    rig.config.dry_run = true;
    rig.restart();
    CHECK(rig.adopt().size() == 1);
    const auto out = rig.apply({});
    REQUIRE(out.size() == 1);
    CHECK(out[0].kind == OutcomeKind::kDryRun);
    rig.tree.make("be/other");
    rig.apply_one(key_of("be/other", CgroupFile::kCpuMax), cpu_max(50'000));
    CHECK(rig.executor->restore_all().at(0).kind == OutcomeKind::kDryRun);
    CHECK(rig.tree.log().empty());
    CHECK(state.rows().size() == 1);
  }
}

TEST_SUITE("executor/restart") {
  TEST_CASE("LIF-1: original 400000, last 120000, kernel 120000, policy on: adopted, no write") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    const auto held = rig.adopt();
    REQUIRE(held.size() == 1);
    CHECK(held[0].key == kPod);
    CHECK(held[0].original == "400000 100000");
    CHECK(held[0].value == "120000 100000");  // 10 * 120000 / 4000m = factor 300
    CHECK(held[0].plugin == "cpu_suppress");
    CHECK(rig.apply_one(kPod, cpu_max(120'000)).kind == OutcomeKind::kUnchanged);
    CHECK(rig.tree.log().empty());
    CHECK(rig.held(kPod).original == "400000 100000");
  }
  TEST_CASE("LIF-2: the same with the policy off: 400000 goes back") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    rig.adopt();
    rig.apply({});
    CHECK(rig.writes() == Texts{"/be/pod cpu.max = 400000 100000"});
    CHECK(state.rows().empty());
  }
  TEST_CASE("LIF-3: kernel 200000 after the restart: 200000 is the new original") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    rig.tree.set(kPod, cpu_max(200'000));
    CHECK(rig.adopt().empty());
    CHECK(state.rows().empty());
    rig.apply_one(kPod, cpu_max(120'000));
    CHECK(rig.held(kPod).original == "200000 100000");
    CHECK(rig.held(kPod).foreign_writes == 0);
    CHECK(state.row(kPod).original == "200000 100000");
  }
  TEST_CASE("LIF-4: another boot: the row is dropped and nothing is written") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig, "boot-2");
    CHECK(rig.adopt().empty());
    rig.apply({});
    CHECK(rig.tree.log().empty());
    CHECK(state.rows().empty());
  }
  TEST_CASE("LIF-4: another inode: the row is dropped and nothing is written") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    rig.tree.remove(path_of("be/pod"));
    rig.tree.make("be/pod");
    rig.tree.set(kPod, cpu_max(120'000));
    CHECK(rig.adopt().empty());
    rig.apply({});
    CHECK(rig.tree.log().empty());
    CHECK(state.rows().empty());
  }
  TEST_CASE("LIF-5: restoring twice writes nothing the second time") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    SUBCASE("by the daemon") {
      rig.adopt();
      const auto first = rig.executor->restore_all();
      REQUIRE(first.size() == 1);
      CHECK(first[0].kind == OutcomeKind::kWritten);
      CHECK(rig.writes() == Texts{"/be/pod cpu.max = 400000 100000"});
      CHECK(rig.executor->restore_all().empty());
      CHECK(rig.tree.log().empty());
      CHECK(rig.executor->held().empty());
    }
    SUBCASE("by the command line") {
      const auto dry = restore_from_journal(rig.tree, state.journal, "boot-1", true).value();
      REQUIRE(dry.size() == 1);
      CHECK(dry[0].kind == OutcomeKind::kDryRun);
      CHECK(rig.tree.log().empty());
      const auto first = restore_from_journal(rig.tree, state.journal, "boot-1", false).value();
      REQUIRE(first.size() == 1);
      CHECK(first[0].kind == OutcomeKind::kWritten);
      CHECK(rig.writes() == Texts{"/be/pod cpu.max = 400000 100000"});
      CHECK(restore_from_journal(rig.tree, state.journal, "boot-1", false).value().empty());
      CHECK(rig.tree.log().empty());
    }
    CHECK(state.rows().empty());
  }
  TEST_CASE("the command line leaves third parties and other boots alone") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    cap_and_restart(rig);
    SUBCASE("third party") {
      rig.tree.set(kPod, cpu_max(200'000));
      const auto out = restore_from_journal(rig.tree, state.journal, "boot-1", false).value();
      REQUIRE(out.size() == 1);
      CHECK(out[0].kind == OutcomeKind::kUnchanged);
    }
    SUBCASE("another boot") {
      const auto out = restore_from_journal(rig.tree, state.journal, "boot-2", false).value();
      REQUIRE(out.size() == 1);
      CHECK(out[0].kind == OutcomeKind::kGone);
    }
    CHECK(rig.tree.log().empty());
    CHECK(state.rows().empty());
  }
  TEST_CASE("the command line restores v1 children in the order that the kernel takes") {
    State state;
    Rig rig{kV1, {}, &state.journal};
    DesiredTable table;
    for (const char* path : {"be/pod", "be/pod/a"}) {
      rig.tree.make(path);
      rig.tree.set(key_of(path, CgroupFile::kCpuMax), cpu_max(400'000));
      table.emplace(key_of(path, CgroupFile::kCpuMax), wish(cpu_max(120'000)));
    }
    rig.apply(table);
    rig.writes();
    for (const auto& o : restore_from_journal(rig.tree, state.journal, "boot-1", false).value()) {
      CHECK(o.kind == OutcomeKind::kWritten);
    }
    CHECK(rig.writes() ==
          Texts{"/be/pod cpu.max = 400000 100000", "/be/pod/a cpu.max = 400000 100000"});
  }

  TEST_CASE("a crash after the second write of a file does not make our cap the original") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    rig.tree.make("be/pod");
    rig.tree.make("be/z");
    const auto z = key_of("be/z", CgroupFile::kCpuMax);
    rig.tree.set(kPod, cpu_max(400'000));
    rig.apply_one(kPod, cpu_max(280'000));
    // The second write of the pod is done, that of z never happens.
    crash_in(rig, {{kPod, wish(cpu_max(120'000))}, {z, wish(cpu_max(50'000))}}, 2);
    CHECK(rig.tree.text(kPod) == "120000 100000");
    const auto held = rig.adopt();
    REQUIRE(held.size() == 1);  // z is untouched
    CHECK(held[0].original == "400000 100000");
    rig.apply({});
    CHECK(rig.tree.text(kPod) == "400000 100000");
    CHECK(rig.tree.text(z) == "max 100000");
  }
  TEST_CASE("a crash between the commit and the second write: still ours, by the previous value") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    rig.tree.make("be/pod");
    rig.tree.set(kPod, cpu_max(400'000));
    rig.apply_one(kPod, cpu_max(280'000));
    crash_in(rig, {{kPod, wish(cpu_max(120'000))}}, 1);
    CHECK(rig.tree.text(kPod) == "280000 100000");
    REQUIRE(rig.adopt().size() == 1);
    CHECK(rig.held(kPod).original == "400000 100000");
  }
  TEST_CASE("a crash at any write of a batch gives everything back after the restart") {
    for (int crash = 1; crash <= 12; ++crash) {
      CAPTURE(crash);
      State state;
      Rig rig{kV1, {}, &state.journal};
      DesiredTable first, second;
      for (const char* path : {"be", "be/pod", "be/pod/a"}) {
        rig.tree.make(path);
        const auto max = key_of(path, CgroupFile::kCpuMax);
        const auto set = key_of(path, CgroupFile::kCpuset);
        rig.tree.set(max, cpu_max(400'000));
        rig.tree.set(set, cpus("0-3"));
        first.emplace(max, wish(cpu_max(200'000)));
        first.emplace(set, wish(cpus("2-5")));  // through the union 0-5
        second.emplace(max, wish(cpu_max(300'000)));
        second.emplace(set, wish(cpus("4-7")));
      }
      rig.apply(first);
      crash_at(rig, crash);
      try {
        rig.apply(second);
        rig.apply({});
      } catch (const Crash&) {
      }
      rig.tree.on_write(nullptr);
      rig.restart();
      rig.adopt();
      rig.apply({});
      for (const char* path : {"be", "be/pod", "be/pod/a"}) {
        CHECK(rig.tree.text(key_of(path, CgroupFile::kCpuMax)) == "400000 100000");
        CHECK(rig.tree.text(key_of(path, CgroupFile::kCpuset)) == "0-3");
      }
      CHECK(state.rows().empty());
    }
  }
  TEST_CASE("a crash while giving back is finished by the next start") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    DesiredTable table;
    for (const char* path : {"be/a", "be/b", "be/c"}) {
      rig.tree.make(path);
      table.emplace(key_of(path, CgroupFile::kCpuMax), wish(cpu_max(50'000)));
    }
    rig.apply(table);
    crash_in(rig, {}, 2);
    CHECK(rig.adopt().size() == 2);
    rig.apply({});
    for (const auto& [key, want] : table) CHECK(rig.tree.text(key) == "max 100000");
    CHECK(state.rows().empty());
  }
  TEST_CASE("idle and the weight under it are adopted and given back") {
    State state;
    Rig rig{kV2, {}, &state.journal};
    rig.tree.make("be/pod");
    const auto idle = key_of("be/pod", CgroupFile::kCpuIdle);
    const auto weight = key_of("be/pod", CgroupFile::kCpuWeight);
    rig.tree.set(weight, number(37));
    rig.apply_one(idle, number(1));
    rig.apply_one(idle, number(1));
    rig.restart();
    SUBCASE("by the daemon") {
      rig.adopt();
      rig.apply({});
    }
    SUBCASE("by the command line") {
      CHECK(restore_from_journal(rig.tree, state.journal, "boot-1", false).has_value());
    }
    CHECK(rig.tree.text(idle) == "0");
    CHECK(rig.tree.text(weight) == "37");
    CHECK(state.rows().empty());
  }
}

TEST_SUITE("executor/storage thread") {
  TEST_CASE("the journal is kept through the storage thread") {
    State state;
    reactor::Worker storage{"storage"};
    Rig rig{kV2, {}, &state.journal, &storage};
    cap_and_restart(rig);
    CHECK(rig.adopt().size() == 1);
    rig.apply({});
    CHECK(rig.executor->counters().journal_failures == 0);
    run(rig.io, storage.run([&] { CHECK(state.rows().empty()); }));
  }
  TEST_CASE("a stuck storage thread delays a batch, it never stops it") {
    State state;
    std::promise<void> let_go;
    reactor::Worker storage{"storage"};
    Rig rig{kV2, {}, &state.journal, &storage};
    rig.tree.make("be/pod");
    storage.post([gate = let_go.get_future().share()] { gate.wait(); });
    auto out = rig.apply_one(kPod, cpu_max(120'000));
    CHECK(out.kind == OutcomeKind::kWritten);
    CHECK(out.error.find("journal") != std::string::npos);
    CHECK(rig.executor->counters().journal_failures == 1);
    out = rig.apply_one(kPod, cpu_max(110'000));  // queues nothing more
    CHECK(out.kind == OutcomeKind::kWritten);
    CHECK(rig.executor->counters().journal_failures == 2);
    CHECK(storage.queued() <= 2);
    // Giving back never queues behind it.
    CHECK(rig.executor->restore_all().at(0).kind == OutcomeKind::kWritten);
    CHECK(rig.tree.text(kPod) == "max 100000");
    let_go.set_value();
    run(rig.io, storage.run([&] { CHECK(state.rows().empty()); }));
  }
  TEST_CASE("rows that were not committed are caught up when the storage thread is back") {
    State state;
    std::promise<void> let_go;
    reactor::Worker storage{"storage"};
    Rig rig{kV2, {}, &state.journal, &storage};
    rig.tree.make("be/pod");
    rig.tree.make("be/other");
    const auto other = key_of("be/other", CgroupFile::kCpuMax);
    DesiredTable table{{kPod, wish(cpu_max(120'000))}};
    storage.post([gate = let_go.get_future().share()] { gate.wait(); });
    rig.apply(table);
    table.at(kPod) = wish(cpu_max(110'000));
    rig.apply(table);
    let_go.set_value();
    run(rig.io, storage.run([] {}));  // the late commit and its report are through
    rig.io.restart();
    rig.io.poll();
    table.emplace(other, wish(cpu_max(50'000)));
    for (const auto& o : rig.apply(table)) CHECK(o.error.empty());
    run(rig.io, storage.run([&] {
      CHECK(state.row(kPod).original == "max 100000");
      CHECK(state.row(kPod).next == "110000 100000");
      CHECK(state.row(other).next == "50000 100000");
    }));
  }
}
