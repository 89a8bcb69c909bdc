#include "store/journal.hpp"

#include <optional>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/lmdb_text.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::FakeTree;

namespace koordlet::store {

static std::ostream& operator<<(std::ostream& os, const JournalEntry& e) {
  return os << e.key << " original " << e.original << " previous " << e.previous << " next "
            << e.next;
}

}  // namespace koordlet::store

namespace {

CgroupKey key(std::string_view path, CgroupFile file = CgroupFile::kCpuMax) {
  return {CgroupPath::parse(path).value(), file};
}

JournalEntry entry(std::string_view path = "kubepods/besteffort/pod1") {
  JournalEntry e;
  e.key = key(path);
  e.original = "400000 100000";
  e.previous = "";
  e.next = "120000 100000";
  e.plugin = "cpu_suppress";
  e.boot_id = "boot-1";
  e.inode = 77;
  return e;
}

struct State {
  FakeTree tree;
  std::optional<LmdbEnv> env;
  State() { open(); }
  void open() {
    env.reset();
    LmdbEnv::Options o;
    o.folder = tree.path("state");
    o.map_size = 1 << 20;
    auto opened = LmdbEnv::open(o);
    REQUIRE(opened.has_value());
    env.emplace(std::move(*opened));
  }
  std::vector<JournalEntry> load(std::size_t* damaged = nullptr) {
    auto r = Journal{*env}.load(damaged);
    REQUIRE(r.has_value());
    return *r;
  }
  // Below the journal: what is really on disk.
  void raw(std::string_view row_key, std::string_view row) {
    REQUIRE(env->write([&](MDB_txn* txn) -> Result<void> {
                 MDB_dbi dbi = 0;
                 int rc = mdb_dbi_open(txn, "journal", MDB_CREATE, &dbi);
                 auto k = to_val(row_key), v = to_val(row);
                 if (rc == 0) rc = mdb_put(txn, dbi, &k, &v, 0);
                 return rc == 0 ? Result<void>{} : lmdb_error(rc, "put");
               })
                .has_value());
  }
};

constexpr std::string_view kBoot = "boot-1";

}  // namespace

TEST_SUITE("store/journal") {
  TEST_CASE("an empty journal loads as no entries") {
    State s;
    std::size_t damaged = 9;
    CHECK(s.load(&damaged).empty());
    CHECK(damaged == 0);
    CHECK(Journal{*s.env}.clear().has_value());
  }

  TEST_CASE("entries come back as they were, after a reopen too") {
    State s;
    auto a = entry("kubepods/besteffort/pod1");
    auto b = entry("kubepods/besteffort");
    b.key.file = CgroupFile::kCpuset;
    b.original = "";  // v2: an empty set inherits
    b.next = "0-3";
    auto root = entry("");
    root.previous = "max 100000";
    REQUIRE(Journal{*s.env}.commit({a, b, root}, {}).has_value());
    s.open();
    const auto all = s.load();
    REQUIRE(all.size() == 3);  // by key: the root, then the class, then the pod
    CHECK(all[0] == root);
    CHECK(all[1] == b);
    CHECK(all[2] == a);
  }

  TEST_CASE("one cgroup has one entry a file, a later one replaces it") {
    State s;
    auto e = entry();
    REQUIRE(Journal{*s.env}.commit({e}, {}).has_value());
    e.previous = e.next;
    e.next = "60000 100000";
    auto weight = entry();
    weight.key.file = CgroupFile::kCpuWeight;
    weight.original = "100";
    weight.next = "2";
    REQUIRE(Journal{*s.env}.commit({e, weight}, {}).has_value());
    const auto all = s.load();
    REQUIRE(all.size() == 2);
    CHECK(all[0] == e);
    CHECK(all[1] == weight);
  }

  TEST_CASE("puts and erases of a batch are one commit: a bad one leaves all as it was") {
    State s;
    REQUIRE(Journal{*s.env}.commit({entry("a"), entry("b")}, {}).has_value());
    auto bad = entry("d");
    bad.plugin = "two\nlines";
    const auto r = Journal{*s.env}.commit({entry("c"), bad}, {key("a")});
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kRange);
    CHECK(r.error().context.find("/d cpu.max") != std::string::npos);
    CHECK(s.load().size() == 2);
    CHECK(Journal{*s.env}.commit({entry("c")}, {key("a"), key("not/there")}).has_value());
    const auto all = s.load();
    REQUIRE(all.size() == 2);
    CHECK(all[0].key == key("b"));
    CHECK(all[1].key == key("c"));
  }

  TEST_CASE("a key that is erased and put in one batch stays") {
    State s;
    REQUIRE(Journal{*s.env}.commit({entry("a")}, {key("a")}).has_value());
    CHECK(s.load().size() == 1);
  }

  TEST_CASE("a value that is not canonical for its file never gets in") {
    State s;
    for (const char* text : {"", "400000", "max", "0100 100000", "a b"}) {
      CAPTURE(text);
      auto e = entry();
      e.original = text;
      CHECK(Journal{*s.env}.commit({e}, {}).has_error());
    }
    CHECK(s.load().empty());
  }

  TEST_CASE("a full map is an error that leaves the journal as it was") {
    State s;
    REQUIRE(Journal{*s.env}.commit({entry("a")}, {}).has_value());
    std::vector<JournalEntry> many;
    for (int i = 0; i < 10'000; ++i) many.push_back(entry("p/" + std::to_string(i)));
    const auto r = Journal{*s.env}.commit(many, {key("a")});
    REQUIRE(r.has_error());
    CHECK(is_map_full(r.error()));
    CHECK(s.load().size() == 1);
    CHECK(Journal{*s.env}.commit({entry("b")}, {}).has_value());
  }

  TEST_CASE("paths longer than a key of LMDB keep apart") {
    State s;
    const std::string deep = "x/" + std::string(250, 'a') + "/" + std::string(250, 'b') + "/";
    const auto one = entry(deep + "1"), two = entry(deep + "2");
    REQUIRE(Journal{*s.env}.commit({one, two}, {}).has_value());
    CHECK(s.load().size() == 2);
    REQUIRE(Journal{*s.env}.commit({}, {one.key}).has_value());
    const auto rest = s.load();
    REQUIRE(rest.size() == 1);
    CHECK(rest[0] == two);
  }

  TEST_CASE("a row that cannot be read is dropped and counted once, the rest is returned") {
    State s;
    REQUIRE(Journal{*s.env}.commit({entry("a"), entry("b")}, {}).has_value());
    s.raw("garbage", "garbage");
    s.raw("empty", "");
    s.raw("z", "v1\nkubepods\ncpu.max\nmax 100000\n\n\n\nboot\n1\n0000000000000000\n");
    std::size_t damaged = 0;
    CHECK(s.load(&damaged).size() == 2);
    CHECK(damaged == 3);
    CHECK(s.load(&damaged).size() == 2);
    CHECK(damaged == 0);
  }

  TEST_CASE("a row under the key of another cgroup is damaged") {
    State s;
    REQUIRE(Journal{*s.env}.commit({entry("a")}, {}).has_value());
    std::string row;
    REQUIRE(s.env
                ->read([&](MDB_txn* txn) -> Result<void> {
                  MDB_dbi dbi = 0;
                  MDB_val v{};
                  auto k = to_val(std::string_view{"a\0cpu.max", 9});
                  int rc = mdb_dbi_open(txn, "journal", 0, &dbi);
                  if (rc == 0) rc = mdb_get(txn, dbi, &k, &v);
                  if (rc != 0) return lmdb_error(rc, "get");
                  row = to_view(v);
                  return {};
                })
                .has_value());
    s.raw(std::string_view{"b\0cpu.max", 9}, row);
    std::size_t damaged = 0;
    CHECK(s.load(&damaged).size() == 1);
    CHECK(damaged == 1);
  }

  TEST_CASE("rows of a later version are not returned, and stay for the version that wrote them") {
    State s;
    s.raw("later", "v2\nwhatever");
    std::size_t damaged = 0;
    CHECK(s.load(&damaged).empty());
    CHECK(damaged == 1);
    CHECK(s.load(&damaged).empty());
    CHECK(damaged == 1);
  }

  TEST_CASE("clear leaves nothing") {
    State s;
    REQUIRE(Journal{*s.env}.commit({entry("a"), entry("b")}, {}).has_value());
    REQUIRE(Journal{*s.env}.clear().has_value());
    CHECK(s.load().empty());
    CHECK(Journal{*s.env}.commit({entry("a")}, {}).has_value());
    CHECK(s.load().size() == 1);
  }
}

TEST_SUITE("store/classify") {
  TEST_CASE("LIF-1, LIF-2: the kernel holds what we wrote last: ours, the original is known") {
    auto e = entry();
    e.previous = e.next;
    CHECK(classify(e, "120000 100000", 77, kBoot) == Adoption::kOurs);
    CHECK(e.original == "400000 100000");  // what LIF-2 (policy off) writes back
  }

  TEST_CASE("LIF-3: the kernel holds a value that we never wrote: a third party's") {
    CHECK(classify(entry(), "200000 100000", 77, kBoot) == Adoption::kThirdParty);
  }

  TEST_CASE("LIF-4: another boot, or another cgroup of the same name: dropped") {
    CHECK(classify(entry(), "120000 100000", 77, "boot-2") == Adoption::kDrop);
    CHECK(classify(entry(), "120000 100000", 78, kBoot) == Adoption::kDrop);
    CHECK(classify(entry(), "400000 100000", 77, "boot-2") == Adoption::kDrop);
  }

  TEST_CASE("LIF-5: after a restore the kernel holds the original: nothing to undo") {
    CHECK(classify(entry(), "400000 100000", 77, kBoot) == Adoption::kUntouched);
  }

  TEST_CASE("crash before the first write: untouched") {
    const auto e = entry();  // original O, nothing written, next A
    CHECK(e.previous.empty());
    CHECK(classify(e, "400000 100000", 77, kBoot) == Adoption::kUntouched);
  }

  TEST_CASE("crash around the second write of a file: our own cap is never the original") {
    auto e = entry();
    e.previous = "120000 100000";  // A
    e.next = "60000 100000";       // B
    for (const char* kernel : {"120000 100000", "60000 100000"}) {
      CAPTURE(kernel);
      CHECK(classify(e, kernel, 77, kBoot) == Adoption::kOurs);
    }
    CHECK(e.original == "400000 100000");
    CHECK(classify(e, "90000 100000", 77, kBoot) == Adoption::kThirdParty);
  }

  TEST_CASE("crash while the original is put back: ours before the write, untouched after it") {
    auto e = entry();
    e.previous = "120000 100000";
    e.next = e.original;
    CHECK(classify(e, "120000 100000", 77, kBoot) == Adoption::kOurs);
    CHECK(classify(e, "400000 100000", 77, kBoot) == Adoption::kUntouched);
  }

  TEST_CASE("an unknown boot or inode is not the same one") {
    auto e = entry();
    e.boot_id = "";
    CHECK(classify(e, "120000 100000", 77, "") == Adoption::kDrop);
    e = entry();
    e.inode = 0;
    CHECK(classify(e, "120000 100000", 0, kBoot) == Adoption::kDrop);
  }

  TEST_CASE("not written yet is not the same as an empty set in the kernel") {
    auto e = entry();
    e.key.file = CgroupFile::kCpuset;
    e.original = "0-7";
    e.previous = "";
    e.next = "0-3";
    CHECK(classify(e, "", 77, kBoot) == Adoption::kThirdParty);
    e.original = "";
    CHECK(classify(e, "", 77, kBoot) == Adoption::kUntouched);
  }
}
