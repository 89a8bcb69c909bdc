#include <filesystem>
#include <fstream>
#include <random>
#include <sys/mount.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "store/lmdb_env.hpp"
#include "store/lmdb_file.hpp"
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

constexpr std::size_t kPage = 4096;

LmdbEnv::Options in(const FakeTree& tree, std::string_view name = "db") {
  LmdbEnv::Options o;
  o.folder = tree.path(name);
  o.map_size = 8 << 20;
  return o;
}

// Two levels of pages, large values and a free list.
void fill(const FakeTree& tree, std::string_view name = "db") {
  auto env = LmdbEnv::open(in(tree, name));
  REQUIRE(env.has_value());
  for (int i = 0; i < 400; ++i) {
    REQUIRE(put_text(*env, fmt::format("key{:04}", i), std::string(100, 'v')).has_value());
  }
  for (int i = 0; i < 20; ++i) {
    REQUIRE(put_text(*env, fmt::format("large{}", i), std::string(10'000, 'v')).has_value());
  }
  for (int i = 0; i < 10; ++i) {
    REQUIRE(put_text(*env, fmt::format("large{}", i), "small now").has_value());
  }
  REQUIRE(put_text(*env, "a", "1").has_value());
}

void check_set_aside(const FakeTree& tree, const std::string& damaged_content) {
  auto env = LmdbEnv::open(in(tree));
  REQUIRE(env.has_value());
  CAPTURE(env->moved_aside());
  REQUIRE(test::is_stamped(env->moved_aside(), tree.path("db") + ".damaged-"));
  const auto moved = fs::relative(env->moved_aside(), tree.root()).string();
  CHECK(tree.read(moved + "/data.mdb") == damaged_content);
  CHECK_FALSE(get_text(*env, "a").has_value());
  CHECK(put_text(*env, "a", "2").has_value());
  CHECK(get_text(*env, "a") == "2");
}

void damage(const FakeTree& tree, const std::string& content) {
  tree.write("db/data.mdb", content);
  check_set_aside(tree, content);
}

}  // namespace

TEST_SUITE("store/damaged_file") {
  TEST_CASE("a sound file passes, a missing and an empty one are told apart from damage") {
    const FakeTree tree{{"empty", ""}};
    fill(tree);
    CHECK(check_lmdb_file(tree.path("db/data.mdb")).has_value());
    for (const char* name : {"absent", "empty"}) {
      const auto r = check_lmdb_file(tree.path(name));
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kNotFound);
    }
    tree.mkdir("folder");
    CHECK(check_lmdb_file(tree.path("folder")).error().code == Errc::kParse);
  }

  TEST_CASE("an empty data file is started afresh, nothing is set aside") {
    const FakeTree tree;
    tree.write("db/data.mdb", "");
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(env.has_value());
    CHECK(env->moved_aside().empty());
    CHECK(put_text(*env, "a", "1").has_value());
  }

  TEST_CASE("garbage is set aside") {
    const FakeTree tree;
    damage(tree, "this is no database");
    damage(tree, std::string(100'000, '\xA5'));
    damage(tree, std::string(100'000, '\0'));
  }

  TEST_CASE("a file of another LMDB data version is set aside") {
    const FakeTree tree;
    fill(tree);
    auto content = tree.read("db/data.mdb");
    content[20] = 2;
    content[kPage + 20] = 2;
    damage(tree, content);
  }

  TEST_CASE("a file cut off anywhere is set aside, not trusted until SIGBUS") {
    const FakeTree source;
    fill(source);
    const auto whole = source.read("db/data.mdb");
    REQUIRE(whole.size() > 40 * kPage);
    for (const std::size_t size : {std::size_t{1},
                                   std::size_t{100},
                                   kPage - 1,
                                   kPage,
                                   kPage + 152,
                                   2 * kPage,
                                   3 * kPage,
                                   10 * kPage,
                                   20 * kPage + 1}) {
      CAPTURE(size);
      const FakeTree tree;
      damage(tree, whole.substr(0, size));
    }
  }

  TEST_CASE("pages of zeros, as a power loss leaves them, are set aside") {
    const FakeTree source;
    fill(source);
    auto content = source.read("db/data.mdb");
    std::fill(content.begin() + 2 * kPage, content.end(), '\0');
    const FakeTree tree;
    damage(tree, content);
  }

  TEST_CASE("random damage is either found at the open or harmless to every read and write") {
    const FakeTree source;
    fill(source);
    const auto whole = source.read("db/data.mdb");
    std::mt19937 random{7};
    int found = 0;
    for (int round = 0; round < 400; ++round) {
      CAPTURE(round);
      auto content = whole;
      const auto page = random() % (content.size() / kPage) * kPage;
      // Headers and tables of nodes are where it hurts.
      const int bytes = 1 + static_cast<int>(random() % 8);
      for (int i = 0; i < bytes; ++i) content[page + random() % 200] = static_cast<char>(random());
      const FakeTree tree;
      tree.write("db/data.mdb", content);
      auto env = LmdbEnv::open(in(tree));
      REQUIRE(env.has_value());
      found += env->moved_aside().empty() ? 0 : 1;
      for (int i = 0; i < 400; i += 20) {
        (void)get_text(*env, fmt::format("key{:04}", i));
        (void)put_text(*env, fmt::format("new{}", i), std::string(3000, 'n'));
      }
    }
    CHECK(found > 20);  // most pages are bodies of large values, which hold no structure
  }

  TEST_CASE("a healthy environment passes the check after any history of writes") {
    const FakeTree tree;
    std::mt19937 random{11};
    for (int run = 0; run < 20; ++run) {
      auto env = LmdbEnv::open(in(tree));
      REQUIRE(env.has_value());
      CAPTURE(run);
      REQUIRE(env->moved_aside().empty());
      for (int i = 0; i < 100; ++i) {
        const auto size = random() % 3 == 0 ? random() % 30'000 : random() % 300;
        const auto r = env->write([&](MDB_txn* txn) -> Result<void> {
          for (unsigned n = random() % 20 + 1; n > 0; --n) {
            const auto key = fmt::format("k{}", random() % 300);
            if (auto put = test::put_text(txn, key, std::string(size, 'x')); !put) return put;
            if (random() % 2 == 0) continue;
            MDB_dbi dbi = 0;
            auto text = fmt::format("k{}", random() % 300);
            auto k = to_val(text);
            if (mdb_dbi_open(txn, "texts", 0, &dbi) == 0) (void)mdb_del(txn, dbi, &k, nullptr);
          }
          if (random() % 10 == 0) return Error{Errc::kIo, "changed its mind"};
          return {};
        });
        (void)r;  // a full map is fine here
      }
    }
  }

  TEST_CASE("another environment beside a damaged one is untouched") {
    const FakeTree tree;
    fill(tree, "state");
    fill(tree);
    const auto before = tree.read("state/data.mdb");
    damage(tree, "garbage");
    CHECK(tree.read("state/data.mdb") == before);
    auto state = LmdbEnv::open(in(tree, "state"));
    REQUIRE(state.has_value());
    CHECK(state->moved_aside().empty());
    CHECK(get_text(*state, "a") == "1");
  }

  TEST_CASE("files that are not LMDB's stay where they are") {
    const FakeTree tree{{"db/data.mdb", "garbage"}, {"db/notes.txt", "mine"}};
    auto env = LmdbEnv::open(in(tree));
    REQUIRE(env.has_value());
    CHECK(tree.read("db/notes.txt") == "mine");
  }

  TEST_CASE("in a folder that is a mount point the damaged file is set aside inside it") {
    const FakeTree tree;
    tree.mkdir("db");
    const auto folder = tree.path("db");
    KOORDLET_SKIP_UNLESS(::mount("none", folder.c_str(), "tmpfs", 0, "size=16m") == 0,
                         "needs the right to mount");
    tree.write("db/data.mdb", "garbage");
    std::string moved, error, content;
    {
      auto env = LmdbEnv::open(in(tree));
      if (env) moved = env->moved_aside();
      if (!env) error = env.error().context;
      if (!moved.empty()) {
        content = tree.read(fs::relative(moved, tree.root()).string() + "/data.mdb");
      }
    }
    ::umount(folder.c_str());
    CAPTURE(error);
    CHECK(moved.find(folder + "/damaged-") == 0);
    CHECK(content == "garbage");
  }
}
