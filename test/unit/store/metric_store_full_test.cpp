#include <filesystem>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "store/metric_store.hpp"
#include "support/metric_folder.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::MetricFolder;
using std::chrono::seconds;
namespace fs = std::filesystem;

namespace {

StoredTime at(std::int64_t s) { return seconds{1'700'000'000 + s}; }

constexpr std::int64_t kBig = std::int64_t{1} << 61;  // nine bytes, and one for the series

std::vector<MetricSample> wide(int series, std::int64_t value, int first = 0) {
  std::vector<MetricSample> out;
  for (int i = first; i < first + series; ++i) {
    out.push_back({{"pod_cpu_usage", fmt::format("pod{}", i)}, kBig + (value + i) % 1000});
  }
  return out;
}

}  // namespace

TEST_SUITE("store/metric_store_full") {
  TEST_CASE("many times what the map holds: no error, the newest stay, the file is bounded") {
    struct Shape {
      std::uint64_t map;
      int series, batches;
      std::size_t kept;  // a third of the map, by 11 bytes a sample; spare pages take up to 3/8
    };
    // Rows inside leaf pages, of a few pages (a hundred times the map), and of many. A sample takes
    // 10 bytes and more.
    for (const auto& shape : {Shape{256 << 10, 90, 8'000, 88},
                              Shape{1 << 20, 900, 7'500, 35},
                              Shape{1 << 20, 9'000, 400, 1}}) {
      CAPTURE(shape.map);
      CAPTURE(shape.series);
      MetricFolder f{shape.map};
      auto samples = wide(shape.series, 0);  // the first one is the number of the batch
      const std::int64_t last = shape.batches - 1;
      std::uint64_t half_way = 0;
      for (std::int64_t s = 0; s <= last; ++s) {
        samples[0].value = s;
        // Within the ttl of an hour, so that nothing leaves by age.
        const auto r = f.store().append({at(0) + StoredTime{s * 100}, samples});
        if (!r) FAIL(r.error().context);
        if (s == last / 2) half_way = f.store().dropped_rows();
      }
      CHECK(f.store().dropped_rows() > half_way);
      CHECK(half_way > 0);
      CHECK(fs::file_size(f.data_file()) <= shape.map);
      CHECK(f.env().used_bytes() <= shape.map);
      const SeriesKey key{"pod_cpu_usage", "pod0"};
      CHECK(f.store().last(key)->value().value == last);
      const auto kept = f.store().range(key, at(0), StoredTime::max());
      REQUIRE(kept.has_value());
      // Nothing is missing between the oldest and the newest: only the left edge moves.
      CHECK(kept->size() == static_cast<std::size_t>(shape.batches) - f.store().dropped_rows());
      CHECK(kept->front().value == static_cast<std::int64_t>(f.store().dropped_rows()));
      CHECK(kept->size() >= shape.kept);
      f.reopen();
      CHECK(f.store().last(key)->value().value == last);
    }
  }

  TEST_CASE("what is past its time goes first, and is not counted as lost") {
    MetricFolder f{1 << 20};
    // 80 rows fit; each next one is a minute later, so 60 are within the hour.
    for (int s = 0; s < 1000; ++s) {
      REQUIRE(f.store().append({at(60 * s), wide(900, s)}).has_value());
    }
    CHECK(f.store().dropped_rows() == 0);
    CHECK(f.store().range({"pod_cpu_usage", "pod0"}, at(0), StoredTime::max())->size() >= 60);
  }

  TEST_CASE("pods that come and go for ever do not fill the map with names") {
    MetricFolder f{1 << 20};
    for (int s = 0; s < 1000; ++s) {
      const auto r = f.store().append({at(s), wide(100, s, 100 * s)});
      if (!r) FAIL(r.error().context);
    }
    CHECK(f.store().series()->size() < 20'000);
    CHECK(f.store().last({"pod_cpu_usage", "pod99999"})->has_value());
    CHECK_FALSE(f.store().last({"pod_cpu_usage", "pod0"})->has_value());
    f.reopen();
    CHECK(f.store().last({"pod_cpu_usage", "pod99999"})->has_value());
  }

  TEST_CASE("a batch that no empty map could hold is refused, the store goes on") {
    MetricFolder f{256 << 10};
    REQUIRE(f.store().append({at(0), wide(10, 0)}).has_value());
    const auto r = f.store().append({at(1), wide(100'000, 0)});
    REQUIRE(r.has_error());
    CHECK(is_map_full(r.error()));
    CHECK(r.error().context.find("batch of 100000 samples") == 0);
    // Names of the refused batch are forgotten, in memory and in the file.
    CHECK(f.store().series()->size() <= 10);
    REQUIRE(f.store().append({at(2), wide(10, 5)}).has_value());
    CHECK(f.store().series()->size() == 10);
    f.reopen();
    CHECK(f.store().series()->size() == 10);
  }

  TEST_CASE("a map that was filled takes batches again after a restart with the same size") {
    MetricFolder f{1 << 20};
    for (int round = 0; round < 30; ++round) {
      for (int s = 0; s < 40; ++s) {
        const auto r = f.store().append({at(100 * round + s), wide(1000, s)});
        if (!r) FAIL(r.error().context);
      }
      f.reopen();
    }
    CHECK(f.store().newest() == at(2939));
  }

  TEST_CASE("pitfall 71: a reader of another process that is held costs history, not the store") {
    MetricFolder f{1 << 20};
    for (int s = 0; s < 50; ++s) REQUIRE(f.store().append({at(s), wide(900, s)}).has_value());
    int go[2], ready[2];
    REQUIRE(::pipe(go) == 0);
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      MDB_env* env = nullptr;
      MDB_txn* txn = nullptr;
      const auto folder = fs::path{f.data_file()}.parent_path().string();
      const bool ok = mdb_env_create(&env) == 0 &&
                      mdb_env_open(env, folder.c_str(), MDB_RDONLY, 0) == 0 &&
                      mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) == 0;
      char c = ok ? 'y' : 'n';
      if (::write(ready[1], &c, 1) != 1) ::_exit(1);
      ::_exit(::read(go[0], &c, 1) == 1 ? 0 : 1);
    }
    char c = 0;
    REQUIRE(::read(ready[0], &c, 1) == 1);
    REQUIRE(c == 'y');
    int refused = 0;
    for (int s = 50; s < 1050; ++s) refused += f.store().append({at(s), wide(900, s)}) ? 0 : 1;
    CHECK(fs::file_size(f.data_file()) <= 1U << 20);
    REQUIRE(::write(go[1], "g", 1) == 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    for (const int fd : {go[0], go[1], ready[0], ready[1]}) ::close(fd);
    // The reader is gone: everything works again without a restart.
    for (int s = 2000; s < 2200; ++s) {
      const auto r = f.store().append({at(s), wide(900, s)});
      if (!r) FAIL(r.error().context);
    }
    CHECK(f.store().range({"pod_cpu_usage", "pod0"}, at(2000), at(2199))->size() >= 50);
    CHECK(refused > 0);  // the pages of the held snapshot were really missing
  }

  TEST_CASE("a full disk loses the oldest rows, not the newest batch") {
    const test::FakeTree tree;
    tree.mkdir("small");
    const auto folder = tree.path("small");
    KOORDLET_SKIP_UNLESS(::mount("none", folder.c_str(), "tmpfs", 0, "size=1m") == 0,
                         "needs the right to mount");
    std::string failure;
    std::uint64_t dropped = 0;
    std::optional<TimedValue> last;
    {
      LmdbEnv::Options options;
      options.folder = folder;
      options.map_size = 64 << 20;  // far more than the disk has
      auto env = LmdbEnv::open(options);
      auto store =
          env ? MetricStore::open(*env, {}) : Result<std::unique_ptr<MetricStore>>{nullptr};
      if (!env) failure = env.error().context;
      for (int s = 0; env && s < 500 && failure.empty(); ++s) {
        const auto r = (*store)->append({at(s), wide(900, s)});
        if (!r) failure = r.error().context;
      }
      if (failure.empty()) {
        dropped = (*store)->dropped_rows();
        last = *(*store)->last({"pod_cpu_usage", "pod0"});
      }
    }
    ::umount(folder.c_str());
    CHECK(failure == "");
    CHECK(dropped > 350);
    REQUIRE(last.has_value());
    CHECK(last->at == at(499));
  }
}
