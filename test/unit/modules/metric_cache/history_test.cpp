#include "modules/metric_cache/history.hpp"

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/lmdb_text.hpp"

using namespace koordlet;
using koordlet::test::FakeTree;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const store::SeriesKey kNode{"node_cpu_usage", ""};
constexpr seconds kTtl{3600};

store::StoredTime at(std::int64_t s) { return seconds{1'700'000'000 + s}; }
History::Options in(const FakeTree& tree) { return {tree.path("metrics"), 4 << 20, kTtl}; }

std::int64_t last_of(History& h) {
  const auto r = h.last(kNode);
  REQUIRE(r.has_value());
  REQUIRE(r->has_value());
  return (*r)->value;
}

}  // namespace

TEST_SUITE("metric_cache/history") {
  TEST_CASE("what is not open refuses everything and counts nothing") {
    const FakeTree tree;
    History h{in(tree)};
    CHECK(h.append(at(0), {{kNode, 1}}).error().code == Errc::kNotSupported);
    CHECK(h.last(kNode).error().code == Errc::kNotSupported);
    CHECK(h.aggregate(kNode, at(0), seconds{5}).error().code == Errc::kNotSupported);
    CHECK(h.expire(at(0)).error().code == Errc::kNotSupported);
    CHECK(h.used_bytes() == 0);
  }

  TEST_CASE("maintenance of what is not open, and a retention below the ttl, are refused") {
    const FakeTree tree;
    History closed{in(tree)};
    CHECK(closed.maintain(at(0)).error().code == Errc::kNotSupported);
    CHECK(closed.damaged_rows() == 0);
    History wrong{{tree.path("metrics"), 4 << 20, kTtl, kTtl - seconds{1}}};
    CHECK(wrong.open(at(0)).error().code == Errc::kRange);
    CHECK_FALSE(wrong.is_open());
  }

  TEST_CASE("sealed step by step, the answers stay, also over a restart") {
    const FakeTree tree;
    const History::Options options{tree.path("metrics"), 4 << 20, kTtl, 2 * kTtl};
    {
      History h{options};
      REQUIRE(h.open(at(0)).has_value());
      CHECK(h.maintain(at(0)).value() == false);
      for (int s = 0; s < 1500; ++s) REQUIRE(h.append(at(s), {{kNode, s}}).has_value());
      int steps = 0;
      while (h.maintain(at(1500)).value()) REQUIRE(++steps < 1000);
      CHECK(steps > 0);
      CHECK(last_of(h) == 1499);
    }
    History h{options};
    REQUIRE(h.open(at(1500)).has_value());
    const auto all = h.range({kNode, at(0), at(1500)});
    REQUIRE(all.has_value());
    REQUIRE(all->size() == 1500);
    CHECK(all->front() == store::TimedValue{at(0), 0});
    CHECK(all->back() == store::TimedValue{at(1499), 1499});
    CHECK(h.damaged_rows() == 0);
    CHECK(h.refused_samples() == 0);
  }

  TEST_CASE("a folder with an owner and a folder that is a file are the caller's to judge") {
    const FakeTree tree{{"file", ""}};
    History first{in(tree)};
    REQUIRE(first.open(at(0)).has_value());
    History second{in(tree)};
    CHECK(second.open(at(0)).error().code == Errc::kBusy);
    History third{{tree.path("file"), 4 << 20, kTtl}};
    CHECK(third.open(at(0)).error().code == Errc::kDenied);
    CHECK_FALSE(third.is_open());
  }

  TEST_CASE("a second open of the same history changes nothing") {
    const FakeTree tree;
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    REQUIRE(h.append(at(0), {{kNode, 1}}).has_value());
    CHECK(*h.open(at(0)) == milliseconds{0});
    CHECK(last_of(h) == 1);
  }

  TEST_CASE("two batches of one instant are a millisecond apart, both in the window") {
    const FakeTree tree;
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    for (int i = 1; i <= 3; ++i) REQUIRE(h.append(at(0), {{kNode, i}}).has_value());
    REQUIRE(h.append(at(-5), {{kNode, 4}}).has_value());
    const auto w = h.aggregate(kNode, at(0), seconds{1});
    REQUIRE(w.has_value());
    REQUIRE(w->has_value());
    CHECK((*w)->count == 4);
    CHECK((*w)->first_at == at(0));
    CHECK((*w)->last_at == at(0) + milliseconds{3});
  }

  TEST_CASE("pitfall 65: a window of 300 s starts 300 s before its end") {
    const FakeTree tree;
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    for (int s = 0; s <= 1000; ++s) REQUIRE(h.append(at(s), {{kNode, s}}).has_value());
    const auto w = h.aggregate(kNode, at(1000), seconds{300});
    REQUIRE(w.has_value());
    CHECK((*w)->first_at == at(700));
    CHECK((*w)->last_at == at(1000));
    CHECK((*w)->count == 301);
  }

  TEST_CASE("a window of nothing is refused, one of for ever is all there is") {
    const FakeTree tree;
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    REQUIRE(h.append(at(0), {{kNode, 1}}).has_value());
    for (const auto window : {seconds{0}, seconds{-1}, seconds::min()}) {
      CHECK(h.aggregate(kNode, at(1), window).error().code == Errc::kRange);
    }
    for (const auto window : {seconds{1'700'000'001}, seconds::max()}) {
      const auto w = h.aggregate(kNode, at(1), window);
      REQUIRE(w.has_value());
      CHECK((*w)->count == 1);
    }
  }

  TEST_CASE("a restart after the wall clock was stepped back: time goes on after the newest row") {
    const FakeTree tree;
    {
      History h{in(tree)};
      CHECK(*h.open(at(0)) == milliseconds{0});
      REQUIRE(h.append(at(100), {{kNode, 1}}).has_value());
    }
    {
      History h{in(tree)};
      CHECK(*h.open(at(40)) == seconds{60} + milliseconds{1});
      CHECK(last_of(h) == 1);
    }
    {
      History h{in(tree)};
      CHECK(*h.open(at(100)) == milliseconds{1});
    }
    History h{in(tree)};
    CHECK(*h.open(at(101)) == milliseconds{0});
  }

  TEST_CASE("rows from a clock that was ahead by more than the ttl are dropped and counted") {
    const FakeTree tree;
    {
      History h{in(tree)};
      REQUIRE(h.open(at(0)).has_value());
      REQUIRE(h.append(at(0), {{kNode, 1}}).has_value());
      REQUIRE(h.append(at(100'000), {{kNode, 2}}).has_value());
    }
    History h{in(tree)};
    CHECK(*h.open(at(10)) == milliseconds{0});
    CHECK(h.dropped_rows() == 1);
    CHECK(last_of(h) == 1);
    REQUIRE(h.append(at(11), {{kNode, 3}}).has_value());
    CHECK(h.aggregate(kNode, at(11), seconds{60}).value()->last_at == at(11));
  }

  TEST_CASE("a damaged store is set aside and a fresh one takes over") {
    const FakeTree tree{{"metrics/data.mdb", "garbage"}};
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    CHECK(h.moved_aside().find(tree.path("metrics") + ".damaged-") == 0);
    REQUIRE(h.append(at(0), {{kNode, 1}}).has_value());
    CHECK(last_of(h) == 1);
  }

  TEST_CASE("a store of another format is set aside whole, never overwritten") {
    const FakeTree tree;
    {
      store::LmdbEnv::Options options;
      options.folder = tree.path("metrics");
      auto env = store::LmdbEnv::open(options);
      REQUIRE(env.has_value());
      REQUIRE(test::put_text(*env, "a", "theirs").has_value());
    }
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    CHECK(h.moved_aside().find(tree.path("metrics") + ".format-") == 0);
    REQUIRE(h.append(at(0), {{kNode, 1}}).has_value());
    store::LmdbEnv::Options options;
    options.folder = h.moved_aside();
    auto theirs = store::LmdbEnv::open(options);
    REQUIRE(theirs.has_value());
    CHECK(test::get_text(*theirs, "a") == "theirs");
  }

  TEST_CASE("expiry goes by stored time") {
    const FakeTree tree;
    History h{in(tree)};
    REQUIRE(h.open(at(0)).has_value());
    for (int s = 0; s < 10; ++s) REQUIRE(h.append(at(s), {{kNode, s}}).has_value());
    CHECK(*h.expire(at(3604)) == 4);
    CHECK(h.dropped_rows() == 0);
  }

  TEST_CASE("a closed history leaves the folder to the next") {
    const FakeTree tree;
    History first{in(tree)};
    REQUIRE(first.open(at(0)).has_value());
    REQUIRE(first.append(at(0), {{kNode, 1}}).has_value());
    first.close();
    History second{in(tree)};
    REQUIRE(second.open(at(1)).has_value());
    CHECK(last_of(second) == 1);
  }
}
