#include "kernel/group_files.hpp"

#include <filesystem>
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

CgroupPath group(int i) { return CgroupPath{}.child(fmt::format("g{}", i)); }

/// Reads "gI/fS"; what is missing in a folder that is there is absent, as explain_missing() has it.
struct Reader {
  const FakeTree& tree;
  GroupFiles& files;
  bool may_be_absent = true;
  int asked = 0;  ///< times the kernel was asked for a file that is not open

  Result<std::string> operator()(int i, std::size_t slot = 0, bool may_be_empty = false) {
    const auto r = files.read(
        group(i),
        {slot, may_be_empty, may_be_absent},
        [&] { return tree.path(fmt::format("g{}/f{}", i, slot)); },
        [&](Error error) {
          ++asked;
          const bool lives = std::filesystem::is_directory(tree.path(fmt::format("g{}", i)));
          if (error.code == Errc::kNotFound && lives) error.code = Errc::kNotSupported;
          return error;
        });
    if (!r) return r.error();
    return std::string{*r};
  }
};

void fill(const FakeTree& tree, int groups, int slots = 1) {
  for (int i = 0; i < groups; ++i) {
    for (int s = 0; s < slots; ++s) {
      tree.write(fmt::format("g{}/f{}", i, s), fmt::format("{}.{}\n", i, s));
    }
  }
}

}  // namespace

TEST_SUITE("group_files") {
  TEST_CASE("each file of each group, in any order, through one descriptor each") {
    const FakeTree tree;
    fill(tree, 3, 4);
    GroupFiles files{100};
    Reader read{tree, files};
    for (int round = 0; round < 3; ++round) {
      for (int s = 0; s < 4; ++s) {
        for (int i = 0; i < 3; ++i) {
          CHECK(read(i, static_cast<std::size_t>(s)).value() == fmt::format("{}.{}\n", i, s));
        }
      }
    }
    CHECK(files.open_files() == 12);
  }

  TEST_CASE("over the budget the group that was read longest ago loses its files") {
    const FakeTree tree;
    fill(tree, 3, 2);
    GroupFiles files{4};
    Reader read{tree, files};
    for (const int i : {0, 1}) {
      CHECK(read(i, 0));
      CHECK(read(i, 1));
    }
    CHECK(read(0, 0));  // 1 is now the oldest
    CHECK(read(2, 0).value() == "2.0\n");
    CHECK(files.open_files() == 3);  // both of 1 are closed
    CHECK(read(1, 1).value() == "1.1\n");
    CHECK(files.open_files() == 4);
  }

  TEST_CASE("a budget below the files of one group, and one of 0, still read all") {
    for (const std::size_t budget : {0u, 1u, 2u}) {
      CAPTURE(budget);
      const FakeTree tree;
      fill(tree, 3, 3);
      GroupFiles files{budget};
      Reader read{tree, files};
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 3; ++i) {
          for (int s = 0; s < 3; ++s) {
            REQUIRE(read(i, static_cast<std::size_t>(s)).value() == fmt::format("{}.{}\n", i, s));
          }
        }
      }
      CHECK(files.open_files() <= std::max<std::size_t>(budget, 1));
    }
  }

  TEST_CASE("a group made anew under the same name is read, a removed one is kNotFound") {
    const FakeTree tree;
    fill(tree, 1, 2);
    GroupFiles files{10};
    Reader read{tree, files};
    CHECK(read(0, 0));
    CHECK(read(0, 1));
    tree.remove("g0");
    tree.write("g0/f0", "new\n");
    CHECK(read(0, 0).value() == "new\n");
    tree.remove("g0");
    CHECK(read(0, 0).error().code == Errc::kNotFound);
    CHECK(read(0, 1).error().code == Errc::kNotFound);
    CHECK(files.open_files() == 0);
  }

  TEST_CASE("row 49: empty content is gone where a file always holds something, else a content") {
    const FakeTree tree{{"g0/f0", ""}, {"g0/f1", ""}};
    GroupFiles files{10};
    Reader read{tree, files};
    CHECK(read(0, 0).error().code == Errc::kGone);
    CHECK(files.open_files() == 0);
    CHECK(read(0, 1, true).value().empty());
    CHECK(files.open_files() == 1);
    tree.write("g0/f1", "8:0\n");
    CHECK(read(0, 1, true).value() == "8:0\n");
    tree.remove("g0");
    CHECK(read(0, 1, true).error().code == Errc::kNotFound);  // gone is still seen
  }

  TEST_CASE("row 41: what is absent is looked for again after 4, 8, 16, 32, 64, 64 questions") {
    const FakeTree tree{{"g0/other", ""}};
    GroupFiles files{10};
    Reader read{tree, files};
    std::vector<int> looks;
    for (int i = 0; i < 260; ++i) {
      const int before = read.asked;
      CHECK(read(0).error().code == Errc::kNotSupported);
      if (read.asked != before) looks.push_back(i);
    }
    CHECK(looks == std::vector<int>{0, 5, 14, 31, 64, 129, 194, 259});
    tree.write("g0/f0", "here\n");
    int questions = 0;
    while (!read(0)) ++questions;
    CHECK(questions == 64);
    CHECK(read(0).value() == "here\n");
  }

  TEST_CASE("1000 groups without a file: not 1000 looks a pass") {
    const FakeTree tree;
    for (int i = 0; i < 1000; ++i) tree.mkdir(fmt::format("g{}", i));
    GroupFiles files{12'000};
    Reader read{tree, files};
    for (int pass = 0; pass < 65; ++pass) {
      for (int i = 0; i < 1000; ++i) REQUIRE(read(i).has_error());
    }
    CHECK(read.asked == 5 * 1000);  // in passes 0, 5, 14, 31 and 64
  }

  TEST_CASE("the first group that has the file ends the rest of the others, once") {
    const FakeTree tree{{"g0/other", ""}, {"g1/other", ""}, {"g2/f0", "2\n"}};
    GroupFiles files{10};
    Reader read{tree, files};
    CHECK(read(0).has_error());
    CHECK(read(1).has_error());
    CHECK(read(2).value() == "2\n");
    tree.write("g0/f0", "0\n");
    CHECK(read(0).value() == "0\n");
    CHECK(read(1).has_error());  // looked for, and not there
    const int before = read.asked;
    for (int i = 0; i < 3; ++i) CHECK(read(1).has_error());
    CHECK(read.asked == before);
  }

  TEST_CASE("a sign that the group was made anew ends its rest; so does forget") {
    const FakeTree tree{{"g0/f1", "x\n"}};
    GroupFiles files{10};
    Reader read{tree, files};
    CHECK(read(0, 1));
    CHECK(read(0, 0).has_error());
    tree.remove("g0");
    fill(tree, 1, 2);
    CHECK(read(0, 1).value() == "0.1\n");
    CHECK(read(0, 0).value() == "0.0\n");

    tree.mkdir("g5");
    CHECK(read(5, 0).has_error());
    tree.write("g5/f0", "5\n");
    CHECK(read(5, 0).has_error());
    files.forget(group(5));
    CHECK(read(5, 0).value() == "5\n");
  }

  TEST_CASE("a file that must be there is looked for each time") {
    const FakeTree tree{{"g0/other", ""}};
    GroupFiles files{10};
    Reader read{tree, files, false};
    for (int i = 0; i < 5; ++i) CHECK(read(0).error().code == Errc::kNotSupported);
    CHECK(read.asked == 5);
    tree.write("g0/f0", "x\n");
    CHECK(read(0).value() == "x\n");
  }

  TEST_CASE("forget closes the files of one group, known or not") {
    const FakeTree tree;
    fill(tree, 2, 3);
    GroupFiles files{10};
    Reader read{tree, files};
    for (int i = 0; i < 2; ++i) {
      for (std::size_t s = 0; s < 3; ++s) CHECK(read(i, s));
    }
    files.forget(group(1));
    files.forget(group(7));
    CHECK(files.open_files() == 3);
    CHECK(read(1, 2).value() == "1.2\n");
    CHECK(files.open_files() == 4);
  }

  TEST_CASE("out of descriptors: old files are closed and the read goes on") {
    const FakeTree tree;
    fill(tree, 20, 2);
    GroupFiles files{1000};
    Reader read{tree, files};
    int bad = 0;
    {
      const FewDescriptors few{8};
      for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 20; ++i) {
          for (std::size_t s = 0; s < 2; ++s) {
            const auto r = read(i, s);
            if (!r || *r != fmt::format("{}.{}\n", i, s)) ++bad;
          }
        }
      }
    }
    CHECK(bad == 0);
    CHECK(files.open_files() <= 8);
    CHECK(files.open_files() > 0);
  }

  TEST_CASE("out of descriptors with nothing to close is kBusy, and no absence is remembered") {
    const FakeTree tree;
    fill(tree, 1);
    GroupFiles files{4};
    Reader read{tree, files};
    Errc code{};
    {
      const FewDescriptors few{0};
      const auto r = read(0);
      if (!r) code = r.error().code;
    }
    CHECK(code == Errc::kBusy);
    CHECK(read(0).value() == "0.0\n");
  }

  TEST_CASE("groups that come and go without forget: reading goes on, descriptors stay bounded") {
    const FakeTree tree;
    GroupFiles files{3};
    Reader read{tree, files};
    for (int i = 0; i < 300; ++i) {
      fill(tree, 1);
      tree.write(fmt::format("g{}/f0", i), fmt::format("{}\n", i));
      REQUIRE(read(i).value() == fmt::format("{}\n", i));
      REQUIRE(read(i, 1).has_error());
      if (i > 0) tree.remove(fmt::format("g{}", i - 1));
    }
    CHECK(files.open_files() <= 3);
  }
}
