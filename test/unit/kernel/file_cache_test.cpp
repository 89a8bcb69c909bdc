#include "kernel/file_cache.hpp"

#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/fake_tree.hpp"
#include "support/few_descriptors.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using test::FakeTree;
using test::FewDescriptors;

namespace {

CgroupPath cgroup(int i) { return CgroupPath{}.child(fmt::format("g{}", i)); }

struct Reader {
  const FakeTree& tree;
  FileCache& cache;
  int opened = 0;

  Result<std::string> operator()(int i, std::uint32_t slot = 0) {
    const auto r = cache.read(cgroup(i), slot, [&] {
      ++opened;
      return tree.path(fmt::format("g{}/f{}", i, slot));
    });
    if (!r) return r.error();
    return std::string{*r};
  }
};

void fill(const FakeTree& tree, int count) {
  for (int i = 0; i < count; ++i) tree.write(fmt::format("g{}/f0", i), fmt::format("{}\n", i));
}

}  // namespace

TEST_SUITE("file_cache") {
  TEST_CASE("a kept file is opened once") {
    const FakeTree tree;
    fill(tree, 1);
    FileCache cache{4};
    Reader read{tree, cache};
    for (int i = 0; i < 10; ++i) CHECK(read(0).value() == "0\n");
    CHECK(read.opened == 1);
    CHECK(cache.open_files() == 1);
  }

  TEST_CASE("over the budget the least recently read is closed") {
    const FakeTree tree;
    fill(tree, 3);
    FileCache cache{2};
    Reader read{tree, cache};
    CHECK(read(0));
    CHECK(read(1));
    CHECK(read(0));  // 1 is now the oldest
    CHECK(read(2).value() == "2\n");
    CHECK(cache.open_files() == 2);
    CHECK(read.opened == 3);
    CHECK(read(0));
    CHECK(read.opened == 3);
    CHECK(read(1).value() == "1\n");
    CHECK(read.opened == 4);
  }

  TEST_CASE("a budget of 0 still reads") {
    const FakeTree tree;
    fill(tree, 2);
    FileCache cache{0};
    Reader read{tree, cache};
    CHECK(read(0).value() == "0\n");
    CHECK(read(1).value() == "1\n");
    CHECK(cache.open_files() == 1);
  }

  TEST_CASE("a cgroup made anew under the same name is read, not the old one") {
    const FakeTree tree;
    fill(tree, 1);
    FileCache cache{4};
    Reader read{tree, cache};
    CHECK(read(0).value() == "0\n");
    tree.remove("g0");
    tree.write("g0/f0", "new\n");
    CHECK(read(0).value() == "new\n");
    CHECK(cache.open_files() == 1);
  }

  TEST_CASE("a removed cgroup is kNotFound and leaves no descriptor") {
    const FakeTree tree;
    fill(tree, 1);
    FileCache cache{4};
    Reader read{tree, cache};
    CHECK(read(0));
    tree.remove("g0");
    CHECK(read(0).error().code == Errc::kNotFound);
    CHECK(cache.open_files() == 0);
  }

  TEST_CASE("a file that stays empty is kGone and is not kept") {
    const FakeTree tree{{"g0/f0", ""}};
    FileCache cache{4};
    Reader read{tree, cache};
    CHECK(read(0).error().code == Errc::kGone);
    CHECK(cache.open_files() == 0);
  }

  TEST_CASE("forget closes one file and leaves the others") {
    const FakeTree tree{{"g0/f0", "a\n"}, {"g0/f1", "b\n"}};
    FileCache cache{4};
    Reader read{tree, cache};
    CHECK(read(0, 0).value() == "a\n");
    CHECK(read(0, 1).value() == "b\n");
    cache.forget(cgroup(0), 0);
    cache.forget(cgroup(7), 0);
    CHECK(cache.open_files() == 1);
    CHECK(read(0, 1).value() == "b\n");
    CHECK(read.opened == 2);
  }

  TEST_CASE("out of descriptors: old files are closed and the read goes on") {
    const FakeTree tree;
    fill(tree, 40);
    FileCache cache{1000};
    Reader read{tree, cache};
    std::vector<std::string> seen;
    {
      const FewDescriptors few{8};
      for (int i = 0; i < 40; ++i) {
        const auto r = read(i);
        seen.push_back(r ? *r : r.error().context);
      }
    }
    for (int i = 0; i < 40; ++i) CHECK(seen[static_cast<std::size_t>(i)] == fmt::format("{}\n", i));
    CHECK(cache.open_files() <= 8);
    CHECK(cache.open_files() > 0);
  }

  TEST_CASE("out of descriptors with nothing to close is kBusy") {
    const FakeTree tree;
    fill(tree, 1);
    FileCache cache{4};
    Reader read{tree, cache};
    Errc code{};
    {
      const FewDescriptors few{0};
      const auto r = read(0);
      if (!r) code = r.error().code;
    }
    CHECK(code == Errc::kBusy);
    CHECK(read(0).value() == "0\n");
  }

  TEST_CASE("10000 reads over a small budget keep the number of descriptors flat") {
    const FakeTree tree;
    fill(tree, 20);
    FileCache cache{5};
    Reader read{tree, cache};
    for (int i = 0; i < 10'000; ++i) REQUIRE(read(i % 20));
    CHECK(cache.open_files() == 5);
  }
}
