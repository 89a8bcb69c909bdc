#include "store/object_cache.hpp"

#include <optional>

#include <doctest/doctest.h>
#include <lmdb.h>

#include "store/cursor.hpp"
#include "store/journal.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::FakeTree;

namespace {

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
  ObjectCache cache(std::uint64_t max = 512 << 10) { return ObjectCache{*env, max}; }
  std::vector<CachedObject> load(const std::string& owner = "n1") {
    auto content = cache().load(owner);
    REQUIRE(content.has_value());
    return content->objects;
  }
};

const CachedObject kPodA{"pods", "a", R"({"kind":"Pod"})"};
const CachedObject kPodB{"pods", "b", R"({"kind":"Pod","x":1})"};
const CachedObject kNode{"node", "n1", R"({"kind":"Node"})"};

}  // namespace

TEST_SUITE("store/object_cache") {
  TEST_CASE("an environment without objects is empty, not an error") {
    State s;
    CHECK(s.load().empty());
  }

  TEST_CASE("objects come back after a reopening, with the time of the commit") {
    State s;
    REQUIRE(s.cache().commit("n1", {{kPodB, kPodA, kNode}, {}, {}}, 1234));
    s.open();
    const auto content = s.cache().load("n1").value();
    CHECK(content.objects == std::vector{kNode, kPodA, kPodB});
    CHECK(content.saved_at_ms == 1234);
    CHECK(content.damaged == 0);
  }

  TEST_CASE("a change puts, erases and leaves the rest") {
    State s;
    REQUIRE(s.cache().commit("n1", {{kPodA, kPodB, kNode}, {}, {}}, 1));
    auto changed = kPodB;
    changed.text = "{}";
    REQUIRE(s.cache().commit("n1", {{changed}, {{"pods", "a"}, {"pods", "unknown"}}, {}}, 2));
    CHECK(s.load() == std::vector{kNode, changed});
  }

  TEST_CASE("a whole list replaces its kind alone") {
    State s;
    REQUIRE(s.cache().commit("n1", {{kPodA, kPodB, kNode}, {}, {}}, 1));
    REQUIRE(s.cache().commit("n1", {{kPodB}, {}, {"pods"}}, 2));
    CHECK(s.load() == std::vector{kNode, kPodB});
    REQUIRE(s.cache().commit("n1", {{}, {}, {"pods", "node", "pods"}}, 3));
    CHECK(s.load().empty());
  }

  TEST_CASE("objects of another owner are never taken") {
    State s;
    REQUIRE(s.cache().commit("server-1 n1", {{kPodA}, {}, {}}, 1));
    CHECK(s.load("server-1 n2").empty());
    REQUIRE(s.cache().commit("server-1 n2", {{kPodB}, {}, {}}, 2));
    CHECK(s.load("server-1 n2") == std::vector{kPodB});
    CHECK(s.load("server-1 n1").empty());
  }

  TEST_CASE("what is too large is refused whole, and the journal beside it stays") {
    State s;
    Journal journal{*s.env};
    JournalEntry entry;
    entry.key = {CgroupPath::parse("kubepods/besteffort").value(), CgroupFile::kCpuMax};
    entry.original = "max 100000";
    entry.next = "1000 100000";
    entry.plugin = "p";
    entry.boot_id = "b";
    entry.inode = 1;
    REQUIRE(journal.commit({entry}, {}));
    REQUIRE(s.cache().commit("n1", {{kPodA}, {}, {}}, 1));
    const CachedObject large{"pods", "c", std::string(100'000, 'x')};
    const auto r = s.cache(64 << 10).commit("n1", {{large}, {}, {"pods"}}, 2);
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kRange);
    CHECK(s.load() == std::vector{kPodA});
    CHECK(journal.load().value().size() == 1);
  }

  TEST_CASE("a damaged row is left out and counted") {
    State s;
    REQUIRE(s.cache().commit("n1", {{kPodA, kPodB}, {}, {}}, 1));
    REQUIRE(s.env->write([](MDB_txn* txn) -> Result<void> {
      MDB_dbi dbi = 0;
      REQUIRE(mdb_dbi_open(txn, "objects", 0, &dbi) == 0);
      const std::string key{"pods\0a", 6};
      auto k = to_val(key), v = to_val("v1\n0123456789abcdef\n{}");
      REQUIRE(mdb_put(txn, dbi, &k, &v, 0) == 0);
      return {};
    }));
    const auto content = s.cache().load("n1").value();
    CHECK(content.objects == std::vector{kPodB});
    CHECK(content.damaged == 1);
  }

  TEST_CASE("ids and owners that cannot be a key are refused") {
    State s;
    for (const std::string& id : {std::string{}, std::string(401, 'a'), std::string("a\0b", 3)}) {
      const auto r = s.cache().commit("n1", {{{"pods", id, "{}"}}, {}, {}}, 1);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
    CHECK(s.cache().commit("", {}, 1).has_error());
    CHECK(s.cache().commit("a\nb", {}, 1).has_error());
  }
}
