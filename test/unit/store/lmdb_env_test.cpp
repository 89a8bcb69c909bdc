#include "store/lmdb_env.hpp"

#include <filesystem>
#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>
#include <lmdb.h>

#include "support/fake_tree.hpp"
#include "support/lmdb_text.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::FakeTree;
using koordlet::test::get_text;
using koordlet::test::put_text;
namespace fs = std::filesystem;

namespace {

LmdbEnv::Options in(const FakeTree& tree, std::string_view name = "db") {
  LmdbEnv::Options o;
  o.folder = tree.path(name);
  o.map_size = 1 << 20;
  return o;
}

/// A small disk of its own for as long as it lives.
struct TmpFs {
  TmpFs(std::string at, const char* options) : path{std::move(at)} {
    ::mkdir(path.c_str(), 0700);
    mounted = ::mount("none", path.c_str(), "tmpfs", 0, options) == 0;
  }
  TmpFs(const TmpFs&) = delete;
  TmpFs& operator=(const TmpFs&) = delete;
  ~TmpFs() {
    if (mounted) ::umount2(path.c_str(), MNT_DETACH);
  }
  bool fill() const {
    std::ofstream out{path + "/filler"};
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    return true;
  }
  std::string path;
  bool mounted = false;
};

int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_SUITE("store/lmdb_env") {
  TEST_CASE("what was committed is there after a reopen") {
    const FakeTree tree;
    {
      auto env = LmdbEnv::open(in(tree));
      REQUIRE(env.has_value());
      CHECK(env->moved_aside().empty());
      REQUIRE(put_text(*env, "a", "1").has_value());
    }
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(env.has_value());
    CHECK(get_text(*env, "a") == "1");
    CHECK(env->moved_aside().empty());
  }

  TEST_CASE("missing parent folders are made, the folder is private") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree, "var/lib/koordlet/metrics"));
    REQUIRE(env.has_value());
    struct stat st {};
    REQUIRE(::stat(env->folder().c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0700);
  }

  TEST_CASE(
      "a second open in the same process is refused by name, and works after the first ends") {
    const FakeTree tree;
    {
      auto first = LmdbEnv::open(in(tree));
      REQUIRE(first.has_value());
      const auto second = LmdbEnv::open(in(tree));
      REQUIRE(second.has_error());
      CHECK(second.error().code == Errc::kBusy);
      CHECK(second.error().context == tree.path("db") + ": used by another koordlet");
      CHECK_FALSE(is_map_full(second.error()));
    }
    CHECK(LmdbEnv::open(in(tree)).has_value());
  }

  TEST_CASE("pitfall 73: a second process on the same folder is refused") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(env.has_value());
    const pid_t child = ::fork();
    if (child == 0) {
      const auto mine = LmdbEnv::open(in(tree));
      ::_exit(mine.has_error() && mine.error().code == Errc::kBusy ? 0 : 1);
    }
    CHECK(exit_code_of(child) == 0);
    CHECK(put_text(*env, "a", "still mine").has_value());
  }

  TEST_CASE("a path that is a file, below a file or empty is refused by name") {
    const FakeTree tree{{"file", "x"}};
    for (const char* name : {"file", "file/db"}) {
      CAPTURE(name);
      const auto env = LmdbEnv::open(in(tree, name));
      REQUIRE(env.has_error());
      CHECK(env.error().code == Errc::kDenied);
      CHECK(env.error().context.find(tree.path(name)) == 0);
    }
    CHECK(tree.read("file") == "x");
    const auto nowhere = LmdbEnv::open({});
    REQUIRE(nowhere.has_error());
    CHECK(nowhere.error().code == Errc::kRange);
  }

  TEST_CASE("a read-only file system is refused by name") {
    const FakeTree tree;
    tree.mkdir("ro");
    const auto folder = tree.path("ro");
    KOORDLET_SKIP_UNLESS(::mount("none", folder.c_str(), "tmpfs", MS_RDONLY, "size=64k") == 0,
                         "needs the right to mount");
    const auto env = LmdbEnv::open(in(tree, "ro/db"));
    const auto itself = LmdbEnv::open(in(tree, "ro"));
    ::umount(folder.c_str());
    REQUIRE(env.has_error());
    CHECK(env.error().code == Errc::kDenied);
    CHECK(env.error().context.find(tree.path("ro/db")) == 0);
    REQUIRE(itself.has_error());
    CHECK(itself.error().code == Errc::kDenied);
  }

  TEST_CASE("a first start on a full disk is an error with the reason, not a signal") {
    const FakeTree tree;
    const TmpFs disk{tree.path("disk"), "size=64k"};
    KOORDLET_SKIP_UNLESS(disk.mounted, "needs the right to mount");
    REQUIRE(disk.fill());
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto env = LmdbEnv::open(in(tree, "disk/db"));
      ::_exit(env.has_error() && is_disk_full(env.error()) ? 3 : 4);
    }
    CHECK(exit_code_of(child) == 3);
  }

  TEST_CASE(
      "blocks that an earlier run took ahead are there for the next one, on a full disk too") {
    const FakeTree tree;
    const TmpFs disk{tree.path("disk"), "size=2m"};
    KOORDLET_SKIP_UNLESS(disk.mounted, "needs the right to mount");
    constexpr std::uint64_t kTaken = 512 << 10;
    {
      auto env = LmdbEnv::open(in(tree, "disk/db"));
      REQUIRE(env.has_value());
      KOORDLET_SKIP_UNLESS(env->reserve(kTaken) == env->map_size(), "no allocation ahead here");
    }
    REQUIRE(disk.fill());
    auto env = LmdbEnv::open(in(tree, "disk/db"));
    REQUIRE(env.has_value());
    CHECK(env->reserve(kTaken) == env->map_size());
    CHECK(env->reserve(kTaken + 1) == kTaken);
  }

  TEST_CASE("what is set aside says why") {
    const FakeTree tree{{"db/data.mdb", "no database"}};
    const auto env = LmdbEnv::open(in(tree));
    REQUIRE(env.has_value());
    CHECK_FALSE(env->moved_aside().empty());
    CHECK(env->aside_reason().find("data.mdb") != std::string::npos);
  }

  TEST_CASE("a map size that cannot hold a database is refused") {
    const FakeTree tree;
    auto options = in(tree);
    options.map_size = (256 << 10) - 1;
    const auto env = LmdbEnv::open(options);
    REQUIRE(env.has_error());
    CHECK(env.error().code == Errc::kRange);
    CHECK_FALSE(fs::exists(tree.path("db")));
  }

  TEST_CASE("a larger map in the config holds at the next open, a smaller one keeps the data") {
    const FakeTree tree;
    auto options = in(tree);
    const std::string big(600 << 10, 'x');
    {
      auto env = LmdbEnv::open(options);
      REQUIRE(put_text(*env, "a", big).has_value());
      const auto more = put_text(*env, "b", big);
      REQUIRE(more.has_error());
      CHECK(is_map_full(more.error()));
    }
    options.map_size = 4 << 20;
    {
      auto env = LmdbEnv::open(options);
      CHECK(env->map_size() == 4U << 20);
      CHECK(put_text(*env, "b", big).has_value());
    }
    options.map_size = 512 << 10;
    auto env = LmdbEnv::open(options);
    REQUIRE(env.has_value());
    CHECK(get_text(*env, "a") == big);
    CHECK(get_text(*env, "b") == big);
  }

  TEST_CASE("an error or an exception in a write leaves nothing behind and frees the writer") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(put_text(*env, "a", "1").has_value());
    const auto failing = [&](bool throws) {
      return env->write([&](MDB_txn* txn) -> Result<void> {
        if (auto r = put_text(txn, "a", "2"); !r) return r;
        if (throws) throw std::runtime_error{"from inside"};
        return Error{Errc::kRange, "from inside"};
      });
    };
    const auto r = failing(false);
    REQUIRE(r.has_error());
    CHECK(r.error().context == "from inside");
    CHECK_THROWS_AS((void)failing(true), std::runtime_error);
    CHECK(get_text(*env, "a") == "1");
    CHECK(put_text(*env, "a", "3").has_value());
  }

  TEST_CASE("a write inside a write is refused, it would wait for itself") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    Result<void> inner;
    const auto outer = env->write([&](MDB_txn*) -> Result<void> {
      inner = put_text(*env, "a", "1");
      return {};
    });
    CHECK(outer.has_value());
    REQUIRE(inner.has_error());
    CHECK(inner.error().code == Errc::kInvalid);
  }

  TEST_CASE("pitfall 64: a read that fails or throws leaves no reader slot") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    for (int i = 0; i < 300; ++i) {  // more than the 126 slots of a lock file
      CHECK(env->read([](MDB_txn*) { return Result<void>{Error{Errc::kIo, "no"}}; }).has_error());
      CHECK_THROWS((void)env->read([](MDB_txn*) -> Result<void> { throw 1; }));
    }
    CHECK(env->reader_slots() == 0);
    int inside = 0;
    CHECK(env->read([&](MDB_txn*) {
               inside = env->reader_slots();
               return Result<void>{};
             })
              .has_value());
    CHECK(inside == 1);  // the gauge counts
  }

  TEST_CASE("pitfall 70: threads that come and go can use the environment one after the other") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(put_text(*env, "a", "0").has_value());
    int good = 0;
    for (int i = 0; i < 400; ++i) {
      std::thread{[&] {
        if (get_text(*env, "a") == std::to_string(i) &&
            put_text(*env, "a", std::to_string(i + 1)).has_value()) {
          ++good;
        }
      }}.join();
    }
    CHECK(good == 400);
    CHECK(env->reader_slots() == 0);
  }

  TEST_CASE("the slot of a reader that was killed is freed") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(put_text(*env, "a", "1").has_value());
    const pid_t child = ::fork();
    if (child == 0) {  // as mdb_stat would open it, and dies inside a read
      MDB_env* other = nullptr;
      MDB_txn* txn = nullptr;
      const bool ok = mdb_env_create(&other) == 0 &&
                      mdb_env_open(other, env->folder().c_str(), MDB_RDONLY, 0) == 0 &&
                      mdb_txn_begin(other, nullptr, MDB_RDONLY, &txn) == 0;
      ::_exit(ok ? 0 : 1);
    }
    REQUIRE(exit_code_of(child) == 0);
    CHECK(env->reader_slots() == 1);
    CHECK(env->clear_dead_readers() == 1);
    CHECK(env->reader_slots() == 0);
  }

  TEST_CASE("pages given back count as free") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(put_text(*env, "small", "x").has_value());
    const auto before = env->used_bytes();
    CHECK(before > 0);
    REQUIRE(put_text(*env, "big", std::string(400 << 10, 'x')).has_value());
    CHECK(env->used_bytes() >= before + (400U << 10));
    REQUIRE(put_text(*env, "big", "x").has_value());
    CHECK(env->used_bytes() <= before + 8 * env->page_size());
  }

  TEST_CASE("an environment that is set aside leaves an empty folder behind") {
    const FakeTree tree;
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(put_text(*env, "a", "1").has_value());
    const auto moved = LmdbEnv::set_aside(std::move(*env), "format");
    REQUIRE(moved.has_value());
    CHECK(test::is_stamped(*moved, tree.path("db") + ".format-"));
    CHECK_FALSE(fs::exists(tree.path("db/data.mdb")));
    auto old = in(tree);
    old.folder = *moved;
    auto kept = LmdbEnv::open(old);
    REQUIRE(kept.has_value());
    CHECK(get_text(*kept, "a") == "1");
  }
}
