#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "store/seal_key.hpp"
#include "support/metric_steps.hpp"

using namespace koordlet;
using namespace koordlet::store;
using namespace koordlet::test;
using namespace std::chrono_literals;
using std::chrono::hours;

namespace {

const MetricStore::Options kDays{hours{24}, hours{72}};

bool is_head(const Entry& e) { return decode_seal_key(e.key)->id == kHeadId; }

}  // namespace

TEST_SUITE("store/damaged_seals") {
  TEST_CASE("a seal that cannot be read costs its ten minutes and is counted") {
    for (const bool head : {false, true}) {
      CAPTURE(head);
      MetricFolder f{16 << 20, {hours{24}, std::chrono::seconds{0}}};
      const auto end = fill(f.store(), 600, 10s);
      maintain(f.store(), end + 1h);
      const auto all = entries_of(f, "seals");
      const auto seals = std::count_if(all.begin(), all.end(), is_head);
      REQUIRE(seals >= 10);
      int skip = 3;
      for (const auto& e : all) {
        if (is_head(e) != head || skip-- != 0) continue;
        f.overwrite("seals", e.key, "\xFF");
      }
      if (head) f.reopen();
      const auto got = *f.store().range(kNode, kStart, end);
      CHECK(got.size() == 600 - 60);
      CHECK(f.store().damaged_rows() > 0);
      CHECK(f.store().last(kNode)->value().value == 599);
      REQUIRE(f.store().expire(end + 30h).has_value());
      CHECK(entries_of(f, "seals").empty());
    }
  }

  TEST_CASE("any damage to stored bytes leaves a store that answers, goes on and expires") {
    MetricFolder f{16 << 20, {hours{2}, hours{24}}};
    auto end = fill(f.store(), 2500, 5s, 5);
    maintain(f.store(), end);
    std::mt19937 random{13};
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      const auto* database = round % 2 == 0 ? "seals" : "rollups";
      const auto all = entries_of(f, database);
      REQUIRE(!all.empty());
      auto e = all[random() % all.size()];
      if (round % 5 == 0) e.value.resize(1 + random() % e.value.size());
      const auto flips = random() % 4;
      for (std::size_t i = 0; i < flips; ++i) {
        e.value[random() % e.value.size()] = static_cast<char>(random());
      }
      f.overwrite(database, e.key, e.value);
      if (round % 3 == 0) f.reopen();
      for (int i = 0; i < 6; ++i) ask(f.store(), i == 5 ? kNode : pod(i), kStart, end);
      end += 1min;
      REQUIRE(f.store().append({end, {{kNode, round}, {pod(1), -round}}}).has_value());
      maintain(f.store(), end);
      CHECK(f.store().last(kNode)->value().value == round);
    }
    CHECK(f.store().damaged_rows() > 0);
    CHECK(f.env().reader_slots() == 0);
    REQUIRE(f.store().append({end + 100h, {{kNode, 1}}}).has_value());
    maintain(f.store(), end + 200h);
    REQUIRE(f.store().expire(end + 200h).has_value());
    CHECK(entries_of(f, "seals").empty());
    CHECK(entries_of(f, "rollups").empty());
  }

  TEST_CASE("pitfall 64: questions to damaged seals leave no reader slot") {
    MetricFolder f{16 << 20, kDays};
    const auto end = fill(f.store(), 400, 10s);
    maintain(f.store(), end + 2h);
    for (const auto* database : {"seals", "rollups"}) {
      for (const auto& e : entries_of(f, database)) f.overwrite(database, e.key, "");
    }
    ask(f.store(), kNode, kStart - 24h, end);
    CHECK(f.env().reader_slots() == 0);
    CHECK(f.store().damaged_rows() > 0);
  }
}
