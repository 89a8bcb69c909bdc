#include "store/checkpoint.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <lmdb.h>

#include "store/cursor.hpp"
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
    o.map_size = 16 << 20;
    auto opened = LmdbEnv::open(o);
    REQUIRE(opened.has_value());
    env.emplace(std::move(*opened));
  }
};

TEST_SUITE("store/checkpoint") {
  TEST_CASE("what was never written is nothing, and no error") {
    State s;
    const auto text = Checkpoints{*s.env}.get("interference");
    REQUIRE(text.has_value());
    CHECK_FALSE(*text);
  }
  TEST_CASE("the last text comes back after a restart, others stay apart") {
    State s;
    Checkpoints c{*s.env};
    REQUIRE(c.put("a", "one").has_value());
    REQUIRE(c.put("b", "").has_value());
    REQUIRE(c.put("a", "two").has_value());
    s.open();
    Checkpoints again{*s.env};
    CHECK(again.get("a").value() == "two");
    CHECK(again.get("b").value() == "");
    CHECK_FALSE(again.get("c").value());
  }
  TEST_CASE("a damaged row is an error that names it") {
    State s;
    REQUIRE(Checkpoints{*s.env}.put("a", "one").has_value());
    const auto broken = s.env->write([](MDB_txn* txn) -> Result<void> {
      MDB_dbi dbi = 0;
      REQUIRE(mdb_dbi_open(txn, "checkpoints", 0, &dbi) == 0);
      auto k = to_val("a"), v = to_val("v1\n0000000000000000\nonf");
      REQUIRE(mdb_put(txn, dbi, &k, &v, 0) == 0);
      return {};
    });
    REQUIRE(broken.has_value());
    const auto text = Checkpoints{*s.env}.get("a");
    REQUIRE(text.has_error());
    CHECK(text.error().code == Errc::kParse);
    CHECK(text.error().context == "checkpoint 'a': damaged");
  }
  TEST_CASE("too long a name or text is refused before anything is written") {
    State s;
    Checkpoints c{*s.env};
    CHECK(c.put("", "x").error().code == Errc::kRange);
    CHECK(c.put(std::string(201, 'n'), "x").error().code == Errc::kRange);
    CHECK(c.put("a", std::string(Checkpoints::kMaxBytes + 1, 't')).error().code == Errc::kRange);
    CHECK_FALSE(c.get("a").value());
  }
  TEST_CASE("an erased row is gone after a restart, one that was never there is no error") {
    State s;
    Checkpoints c{*s.env};
    REQUIRE(c.erase("never").has_value());
    REQUIRE(c.put("a", "one").has_value());
    REQUIRE(c.put("b", "two").has_value());
    REQUIRE(c.erase("a").has_value());
    s.open();
    Checkpoints again{*s.env};
    CHECK_FALSE(again.get("a").value());
    CHECK(again.get("b").value() == "two");
  }
  TEST_CASE("names of a prefix come sorted, others stay out") {
    State s;
    Checkpoints c{*s.env};
    CHECK(c.names("p/").value().empty());
    const auto done = c.apply({{"p/b", "2"}, {"p", "0"}, {"p/a", "1"}, {"q/a", "3"}, {"o", "4"}});
    REQUIRE(done.has_value());
    CHECK(c.names("p/").value() == std::vector<std::string>{"p/a", "p/b"});
    CHECK(c.names("").value() == std::vector<std::string>{"o", "p", "p/a", "p/b", "q/a"});
    CHECK(c.names("z").value().empty());
  }
  TEST_CASE("changes are written together: one that is refused keeps all of them out") {
    State s;
    Checkpoints c{*s.env};
    REQUIRE(c.put("old", "x").has_value());
    CHECK(c.apply({{"a", "1"}, {"old", std::nullopt}, {"", "2"}}).error().code == Errc::kRange);
    CHECK_FALSE(c.get("a").value());
    CHECK(c.get("old").value() == "x");
    REQUIRE(c.apply({{"a", "1"}, {"old", std::nullopt}}).has_value());
    CHECK(c.get("a").value() == "1");
    CHECK_FALSE(c.get("old").value());
  }
}

}  // namespace
