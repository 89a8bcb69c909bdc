#include <filesystem>
#include <limits>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "store/lmdb_file.hpp"
#include "store/metric_store.hpp"
#include "support/metric_folder.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::MetricFolder;
using namespace std::chrono_literals;

namespace {

const SeriesKey kNode{"node_cpu_usage", ""};
const MetricStore::Options kRolls{3600s, 72h};

SeriesKey pod(int i) { return {"pod_memory_usage", fmt::format("uid-{}", i)}; }
// A full hour of stored time.
StoredTime at(std::int64_t s) { return 472'222h + std::chrono::seconds{s}; }

std::int64_t node_value(std::int64_t s) { return 1000 + s * 7919 % 701; }
std::int64_t pod_value(int i, std::int64_t s) { return 4096 * (i + 1) * (1 + s % 13); }

/// A sample of the node each second, of the pods each `pod_every` seconds.
void fill(MetricStore& store, std::int64_t from, std::int64_t to, int pods, int pod_every) {
  for (auto s = from; s < to; ++s) {
    MetricBatch batch{at(s), {{kNode, node_value(s)}}};
    if (s % pod_every == 0) {
      for (int i = 0; i < pods; ++i) batch.samples.push_back({pod(i), pod_value(i, s)});
    }
    REQUIRE(store.append(batch).has_value());
  }
}

int maintain_all(MetricStore& store, StoredTime now) {
  for (int steps = 0;; ++steps) {
    const auto more = store.maintain(now);
    REQUIRE(more.has_value());
    if (!*more) return steps;
  }
}

std::size_t entries(MetricFolder& f, const char* database) {
  MDB_stat stat{};
  const auto r = f.env().read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, database, 0, &dbi);
    if (rc == 0) rc = mdb_stat(txn, dbi, &stat);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "stat");
  });
  REQUIRE(r.has_value());
  return stat.ms_entries;
}

void check_range(MetricStore& store, std::int64_t from, std::int64_t to) {
  const auto got = store.range(kNode, at(from), at(to));
  REQUIRE(got.has_value());
  std::vector<TimedValue> want;
  for (auto s = from; s <= to; ++s) want.push_back({at(s), node_value(s)});
  CHECK(*got == want);
}

}  // namespace

TEST_SUITE("store/metric_seal") {
  TEST_CASE("rows become a seal at the ten-minute mark, and every sample stays") {
    MetricFolder f;
    fill(f.store(), 0, 599, 5, 10);
    CHECK(maintain_all(f.store(), at(599)) == 0);
    CHECK(entries(f, "rows") == 599);
    fill(f.store(), 599, 610, 5, 10);
    CHECK(maintain_all(f.store(), at(609)) > 0);
    CHECK(entries(f, "rows") == 10);
    CHECK(entries(f, "seals") > 0);
    check_range(f.store(), 0, 609);
    check_range(f.store(), 595, 603);
    const auto pods = f.store().range(pod(3), at(0), at(609));
    REQUIRE(pods->size() == 61);
    for (std::size_t i = 0; i < pods->size(); ++i) {
      const auto s = static_cast<std::int64_t>(10 * i);
      CHECK((*pods)[i] == TimedValue{at(s), pod_value(3, s)});
    }
    CHECK(f.store().range(pod(3), at(11), at(19))->empty());
    f.reopen();
    check_range(f.store(), 0, 609);
    CHECK(f.store().newest() == at(609));
    CHECK(*f.store().last(pod(4)) == TimedValue{at(600), pod_value(4, 600)});
  }

  TEST_CASE("after each single step of sealing all queries answer the same") {
    MetricFolder f{64 << 20};
    // More samples than one step takes.
    fill(f.store(), 0, 601, 400, 1);
    int steps = 0;
    for (bool more = true; more; ++steps) {
      if (steps % 3 == 0) {
        CAPTURE(steps);
        check_range(f.store(), 590, 600);
        CHECK(f.store().range(pod(7), at(0), at(600))->size() == 601);
        CHECK(f.store().range(pod(399), at(0), at(600))->size() == 601);
        CHECK(f.store().aggregate(pod(200), at(5), at(14))->value().count == 10);
      }
      const auto r = f.store().maintain(at(600));
      REQUIRE(r.has_value());
      more = *r;
    }
    CHECK(steps > 3);
    CHECK(entries(f, "rows") == 1);
  }

  TEST_CASE("a seal that was not finished is dropped at the start and made again") {
    MetricFolder f{64 << 20};
    fill(f.store(), 0, 601, 400, 1);
    for (int step = 0; step < 2; ++step) REQUIRE(*f.store().maintain(at(600)));  // scan, blocks
    CHECK(entries(f, "seals") > 0);
    f.reopen();
    CHECK(entries(f, "seals") == 0);
    CHECK(f.store().range(pod(0), at(0), at(600))->size() == 601);
    maintain_all(f.store(), at(600));
    CHECK(f.store().range(pod(0), at(0), at(600))->size() == 601);
    CHECK(entries(f, "rows") == 1);
  }

  TEST_CASE("the whole store is checked page by page after many seals, drops and restarts") {
    MetricFolder f{16 << 20, kRolls};
    for (int hour = 0; hour < 8; ++hour) {
      for (int part = 0; part < 6; ++part) {
        const auto from = 3600 * hour + 600 * part;
        for (int s = from; s < from + 600; s += 10) {
          MetricBatch batch{at(s), {}};
          for (int i = 0; i < 60; ++i)
            batch.samples.push_back({pod(hour * 20 + i), pod_value(i, s)});
          REQUIRE(f.store().append(batch).has_value());
        }
        maintain_all(f.store(), at(from + 599));
      }
      REQUIRE(f.store().expire(at(3600 * (hour + 1))).has_value());
      f.close();
      const auto sound = check_lmdb_file(f.data_file());
      if (!sound) FAIL(sound.error().context);
      f.reopen();
      CHECK(f.store().damaged_rows() == 0);
    }
    CHECK(entries(f, "rollups") > 0);
    CHECK(f.store().summarize(pod(25), at(0), at(9 * 3600), {})->value().count == 2 * 360);
  }

  TEST_CASE("expiry drops seals past the ttl and the series of pods that are gone") {
    MetricFolder f;
    fill(f.store(), 0, 700, 3, 10);
    fill(f.store(), 700, 1300, 0, 10);
    maintain_all(f.store(), at(1300));
    CHECK(*f.store().expire(at(3600 + 599)) == 0);
    CHECK(*f.store().expire(at(3600 + 600)) == 600);
    CHECK(f.store().series()->size() == 4);
    CHECK(*f.store().expire(at(3600 + 1200)) == 600);
    CHECK(*f.store().series() == std::vector<SeriesKey>{kNode});
    check_range(f.store(), 1200, 1299);
  }

  TEST_CASE("pitfall 68: an id is given again only when neither rows, seals nor roll-ups hold it") {
    MetricFolder f{16 << 20, kRolls};
    fill(f.store(), 0, 60, 1, 10);
    fill(f.store(), 60, 3601, 0, 10);
    maintain_all(f.store(), at(3601));
    REQUIRE(f.store().expire(at(2 * 3600 + 1)).has_value());
    CHECK(f.store().range(pod(0), at(0), at(99))->empty());  // its samples are gone, it is not
    REQUIRE(f.store().append({at(7300), {{pod(1), 5}, {kNode, 1}}}).has_value());
    CHECK(f.store().summarize(pod(0), at(0), at(9000), {})->value().count == 6);
    CHECK(*f.store().last(pod(0)) == TimedValue{at(50), pod_value(0, 50)});
    f.reopen();
    CHECK(*f.store().last(pod(0)) == TimedValue{at(0), pod_value(0, 50)});  // of its minute
    REQUIRE(f.store().append({at(73 * 3600), {{kNode, 1}}}).has_value());
    maintain_all(f.store(), at(74 * 3600));
    REQUIRE(f.store().expire(at(74 * 3600)).has_value());
    CHECK(f.store().rollups(pod(0), at(0), at(9000))->empty());
  }

  TEST_CASE("aggregate_many over seals and rows answers like one question each") {
    MetricFolder f;
    fill(f.store(), 0, 2000, 40, 10);
    maintain_all(f.store(), at(2000));
    std::vector<SeriesWindow> questions{{kNode, at(0), at(1999)},
                                        {kNode, at(599), at(600)},
                                        {pod(99), at(0), at(1999)},
                                        {kNode, at(1790), at(1805)}};
    for (int i = 0; i < 40; ++i) questions.push_back({pod(i), at(190), at(1990)});
    const auto many = f.store().aggregate_many(questions);
    REQUIRE(many.has_value());
    for (std::size_t i = 0; i < questions.size(); ++i) {
      CAPTURE(i);
      const auto& q = questions[i];
      const auto one = *f.store().aggregate(q.series, q.from, q.to);
      REQUIRE(one.has_value() == (*many)[i].has_value());
      if (!one) continue;
      CHECK(one->count == (*many)[i]->count);
      CHECK(one->mean == (*many)[i]->mean);
      CHECK(one->p95 == (*many)[i]->p95);
      CHECK(one->first_at == (*many)[i]->first_at);
      CHECK(one->last_at == (*many)[i]->last_at);
      CHECK(one->exact);
    }
    CHECK((*many)[0]->count == 2000);
    CHECK((*many)[4]->count == 181);
  }

  TEST_CASE("a damaged seal is skipped and counted, the others answer") {
    MetricFolder f;
    fill(f.store(), 0, 1801, 2, 10);
    maintain_all(f.store(), at(1801));
    f.close();
    std::string key(12, '\0');
    for (std::size_t i = 0; i < 8; ++i) {
      key[i] = static_cast<char>(at(1199).count() >> (56 - 8 * i));
    }
    f.overwrite("seals", key, "\xFF\xFF\xFF not a group");
    f.reopen();
    CHECK(f.store().range(kNode, at(0), at(1800))->size() == 1201);
    CHECK(f.store().damaged_rows() == 1);
    key.replace(8, 4, "\xFF\xFF\xFF\xFF");
    f.close();
    f.overwrite("seals", key, "");
    f.reopen();
    CHECK(f.store().damaged_rows() == 1);
    CHECK(f.store().range(kNode, at(0), at(1800))->size() == 1201);
  }

  TEST_CASE("values of 1e18 and the ends of 64 bits pass through seal and roll-up") {
    MetricFolder f{16 << 20, kRolls};
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> values{1'000'000'000'000'000'000, kMin, kMax, 0, -1};
    for (std::int64_t s = 0; s < 3700; ++s) {
      REQUIRE(f.store().append({at(s), {{kNode, values[static_cast<std::size_t>(s % 5)]}}}));
    }
    maintain_all(f.store(), at(3700));
    const auto got = f.store().range(kNode, at(0), at(4));
    for (std::size_t i = 0; i < 5; ++i) CHECK((*got)[i].value == values[i]);
    REQUIRE(f.store().expire(at(3 * 3600)).has_value());
    const auto minutes = f.store().rollups(kNode, at(0), at(3599));
    REQUIRE(minutes->size() == 60);
    CHECK((*minutes)[0].count == 60);
    CHECK((*minutes)[0].min == kMin);
    CHECK((*minutes)[0].max == kMax);
    CHECK((*minutes)[0].mean == doctest::Approx(1e18 / 5));
  }
}

TEST_SUITE("store/metric_rollup") {
  TEST_CASE("beyond the ttl: count, edges, mean of the samples, quantiles within 1 %") {
    MetricFolder f{16 << 20, kRolls};
    fill(f.store(), 0, 3 * 3600 + 100, 2, 60);
    maintain_all(f.store(), at(3 * 3600 + 100));
    const std::vector<double> q{0.5, 0.9, 0.99, 0, 1};
    const auto before = f.store().summarize(kNode, at(0), at(2 * 3600 - 1), q);
    CHECK(before->value().exact);
    REQUIRE(*f.store().expire(at(3 * 3600 + 100)) > 0);
    CHECK(f.store().range(kNode, at(0), at(3599))->empty());
    const auto after = f.store().summarize(kNode, at(0), at(2 * 3600 - 1), q);
    REQUIRE(after->has_value());
    const auto &a = **after, &b = **before;
    CHECK_FALSE(a.exact);
    CHECK(a.count == 7200);
    CHECK(a.min == b.min);
    CHECK(a.max == b.max);
    CHECK(a.last == b.last);
    CHECK(a.mean == doctest::Approx(b.mean).epsilon(1e-12));
    for (std::size_t i = 0; i < q.size(); ++i) {
      CHECK(std::abs(a.quantiles[i] - b.quantiles[i]) <= 0.01 * b.quantiles[i]);
    }
    const auto old = f.store().aggregate(kNode, at(0), at(7199));
    CHECK(old->value().count == 7200);
    CHECK_FALSE(old->value().exact);
    CHECK(f.store().aggregate_many({{kNode, at(0), at(7199)}})->front()->p95 == old->value().p95);
    // Roll-ups and samples meet without a gap and without counting twice.
    CHECK(f.store().summarize(kNode, at(0), at(3 * 3600 + 99), {})->value().count == 10'900);
    CHECK(f.store().rollups(kNode, at(0), at(3 * 3600 + 99))->size() == 182);
  }

  TEST_CASE("a roll-up of one sample is that sample: still exact") {
    MetricFolder f{16 << 20, kRolls};
    fill(f.store(), 0, 2 * 3600 + 601, 2, 60);
    maintain_all(f.store(), at(2 * 3600 + 601));
    REQUIRE(f.store().expire(at(4 * 3600)).has_value());
    const auto s = f.store().summarize(pod(1), at(0), at(3599), {0.5});
    REQUIRE(s->has_value());
    CHECK((*s)->exact);
    CHECK((*s)->count == 60);
    const auto minutes = f.store().rollups(pod(1), at(60), at(179));
    REQUIRE(minutes->size() == 2);
    CHECK(minutes->front() == RollupPoint{at(60),
                                          1,
                                          pod_value(1, 60),
                                          pod_value(1, 60),
                                          pod_value(1, 60),
                                          static_cast<double>(pod_value(1, 60))});
  }

  TEST_CASE("minutes look the same before they are rolled up, after, and without their samples") {
    MetricFolder f{16 << 20, kRolls};
    fill(f.store(), 0, 3700, 1, 10);
    const auto rows = *f.store().rollups(kNode, at(0), at(3599));
    maintain_all(f.store(), at(3700));
    const auto sealed = *f.store().rollups(kNode, at(0), at(3599));
    REQUIRE(f.store().expire(at(3 * 3600)).has_value());
    const auto rolled = *f.store().rollups(kNode, at(0), at(3599));
    REQUIRE(rows.size() == 60);
    CHECK((rows == sealed));
    CHECK((rows == rolled));
  }

  TEST_CASE("samples wait for their roll-up, however short the ttl") {
    MetricFolder f{16 << 20, {60s, 72h}};
    fill(f.store(), 0, 1801, 0, 10);
    maintain_all(f.store(), at(1801));
    CHECK(*f.store().expire(at(1801)) == 0);
    check_range(f.store(), 0, 1800);
    fill(f.store(), 1801, 3601, 0, 10);
    maintain_all(f.store(), at(3601));
    CHECK(*f.store().expire(at(3661)) == 3600);
    CHECK(f.store().summarize(kNode, at(0), at(3600), {})->value().count == 3601);
  }

  TEST_CASE("roll-ups go after their retention, and all of them when there is to be none") {
    MetricFolder f{16 << 20, {3600s, 7200s}};
    fill(f.store(), 0, 3 * 3600 + 10, 0, 10);
    maintain_all(f.store(), at(3 * 3600 + 10));
    REQUIRE(f.store().expire(at(3 * 3600 + 10)).has_value());
    CHECK(f.store().summarize(kNode, at(0), at(3599), {})->has_value() == false);
    CHECK(f.store().summarize(kNode, at(3600), at(7199), {})->value().count == 3600);
  }

  TEST_CASE("a retention below the ttl is refused") {
    MetricFolder f;
    const auto r = MetricStore::open(f.env(), {3600s, 60s});
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kRange);
  }

  TEST_CASE("a run with a clock ahead: its seals and roll-ups go with its rows") {
    MetricFolder f{16 << 20, kRolls};
    fill(f.store(), 0, 700, 0, 10);
    maintain_all(f.store(), at(700));
    fill(f.store(), 86'400, 86'400 + 3700, 0, 10);
    maintain_all(f.store(), at(86'400 + 3700));
    CHECK(*f.store().drop_after(at(800)) > 3600);
    CHECK(f.store().newest() == at(699));
    check_range(f.store(), 0, 699);
    CHECK_FALSE(f.store().summarize(kNode, at(86'400), at(90'400), {})->has_value());
    fill(f.store(), 700, 1300, 0, 10);
    maintain_all(f.store(), at(1300));
    check_range(f.store(), 0, 1299);
  }

  TEST_CASE("times that go back, repeat or jump a day ahead") {
    MetricFolder f{16 << 20, kRolls};
    fill(f.store(), 0, 601, 0, 10);
    maintain_all(f.store(), at(601));
    for (const std::int64_t s : {600, 599, 0, -5}) {
      CHECK(f.store().append({at(s), {{kNode, 1}}}).error().code == Errc::kRange);
    }
    REQUIRE(f.store().append({at(86'400 + 601), {{kNode, 1}}}).has_value());
    maintain_all(f.store(), at(86'400 + 601));
    CHECK(f.store().summarize(kNode, at(0), at(90'000), {})->value().count == 602);
    CHECK(f.store().range(kNode, at(86'000), at(90'000))->size() == 1);
  }

  TEST_CASE("windows of nothing, of no length and that end before they start") {
    MetricFolder f;
    fill(f.store(), 0, 601, 0, 10);
    maintain_all(f.store(), at(601));
    CHECK(f.store().summarize(kNode, at(5), at(5), {0.5})->value().count == 1);
    CHECK_FALSE(f.store().summarize(kNode, at(9), at(8), {0.5})->has_value());
    CHECK_FALSE(f.store().summarize(kNode, at(700), at(800), {0.5})->has_value());
    CHECK_FALSE(f.store().summarize(pod(1), at(0), at(800), {0.5})->has_value());
    CHECK(f.store().rollups(kNode, at(9), at(8))->empty());
    CHECK(f.store().summarize(kNode, at(0), at(9), {1.5}).error().code == Errc::kRange);
    CHECK(f.store().summarize(kNode, StoredTime::min(), StoredTime::max(), {})->value().count ==
          601);
  }
}

TEST_SUITE("store/metric_bounds") {
  TEST_CASE("pitfall 62: 48 h of pods at 60 s: the file stops growing once it is full of history") {
    MetricFolder f{64 << 20, {3600s, 12h}};
    std::uintmax_t middle = 0;
    for (int minute = 0; minute < 48 * 60; ++minute) {
      MetricBatch batch{at(60 * minute), {}};
      for (int i = 0; i < 200; ++i) batch.samples.push_back({pod(i), pod_value(i, minute)});
      REQUIRE(f.store().append(batch).has_value());
      maintain_all(f.store(), batch.at);
      if (minute % 30 == 0) REQUIRE(f.store().expire(batch.at).has_value());
      if (minute == 24 * 60) middle = std::filesystem::file_size(f.data_file());
    }
    CHECK(std::filesystem::file_size(f.data_file()) <= middle + 64 * 4096);
    CHECK(f.store().dropped_rows() == 0);
    CHECK(f.store().summarize(pod(3), at(37 * 3600), at(48 * 3600), {})->value().count == 11 * 60);
  }

  TEST_CASE("a map too small for the history loses the oldest of it, counted, and never a batch") {
    MetricFolder f{1 << 20, kRolls};
    for (int minute = 0; minute < 24 * 60; ++minute) {
      MetricBatch batch{at(60 * minute), {}};
      for (int i = 0; i < 300; ++i) {
        batch.samples.push_back({pod(i), pod_value(i, minute) + minute % 7 * 511});
      }
      const auto r = f.store().append(batch);
      if (!r) FAIL(r.error().context);
      maintain_all(f.store(), batch.at);
    }
    CHECK(f.store().dropped_rows() > 0);
    CHECK(std::filesystem::file_size(f.data_file()) <= 1 << 20);
    const auto day = f.store().summarize(pod(0), at(0), at(86'400), {});
    CHECK((*day)->last_at == at(60 * (24 * 60 - 1)));
    CHECK((*day)->count < 24 * 60);
    CHECK((*day)->count > 60);
    f.reopen();
    CHECK(f.store().summarize(pod(0), at(0), at(86'400), {})->value().count == (*day)->count);
  }

  TEST_CASE("past four fifths of the map what is past its time goes, before anything is lost") {
    MetricFolder f{2 << 20};
    for (int s = 0; s < 60'000; s += 20) {  // nobody calls expire()
      MetricBatch batch{at(s), {}};
      for (int i = 0; i < 400; ++i) batch.samples.push_back({pod(i), pod_value(i, s) + s});
      REQUIRE(f.store().append(batch).has_value());
      maintain_all(f.store(), batch.at);
    }
    CHECK(f.store().dropped_rows() == 0);
    CHECK(f.env().used_bytes() <= (2U << 20) / 5 * 4 + (300U << 10));
  }

  TEST_CASE("pitfall 64: a query that fails leaves no reader behind") {
    MetricFolder f;
    fill(f.store(), 0, 1300, 2, 10);
    maintain_all(f.store(), at(1300));
    CHECK(f.store().summarize(kNode, at(0), at(9), {7}).has_error());
    CHECK_THROWS(f.env().read([](MDB_txn*) -> Result<void> { throw std::runtime_error{"x"}; }));
    CHECK(f.env().reader_slots() == 0);
    CHECK(f.store().append({at(1300), {{kNode, 1}}}).has_value());
  }

  TEST_CASE("pitfall 70: queries of 400 short threads, one after the other, use up no slots") {
    MetricFolder f;
    fill(f.store(), 0, 700, 1, 10);
    maintain_all(f.store(), at(700));
    std::size_t found = 0;
    for (int i = 0; i < 400; ++i) {
      std::thread{[&] { found += f.store().range(kNode, at(590), at(609))->size(); }}.join();
    }
    CHECK(found == 400 * 20);
    CHECK(f.env().reader_slots() == 0);
  }

  TEST_CASE("pitfall 73: a second owner of the folder is refused, by name") {
    MetricFolder f;
    LmdbEnv::Options options;
    options.folder = std::filesystem::path{f.data_file()}.parent_path();
    const auto second = LmdbEnv::open(options);
    REQUIRE(second.has_error());
    CHECK(second.error().code == Errc::kBusy);
    CHECK(second.error().context.find("used by another koordlet") != std::string::npos);
  }
}
