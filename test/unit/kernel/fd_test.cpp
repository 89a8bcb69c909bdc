#include "kernel/fd.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using test::FakeTree;

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

TEST_SUITE("fd") {
  TEST_CASE("a descriptor has one owner and is closed with it") {
    int raw = -1;
    {
      Fd a{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
      REQUIRE(a);
      raw = a.get();
      Fd b{std::move(a)};
      CHECK_FALSE(a);
      CHECK(b.get() == raw);
      Fd c;
      c = std::move(b);
      CHECK(is_open(raw));
      auto& self = c;
      c = std::move(self);
      CHECK(c.get() == raw);
    }
    CHECK_FALSE(is_open(raw));
  }

  TEST_CASE("release gives the descriptor away") {
    Fd a{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const int raw = a.release();
    a.reset();
    CHECK(is_open(raw));
    ::close(raw);
  }

  TEST_CASE("read_file: whole content, also when it is longer than one read") {
    const std::string big(10'000, 'x');
    const FakeTree tree{{"a", "text\n"}, {"big", big}, {"empty", ""}};
    CHECK(read_file(tree.path("a")).value() == "text\n");
    CHECK(read_file(tree.path("big")).value() == big);
    CHECK(read_file(tree.path("empty")).value().empty());
  }

  TEST_CASE("read_file: the bound is exact, a missing file is named") {
    const FakeTree tree{{"a", "12345"}};
    CHECK(read_file(tree.path("a"), 5));
    CHECK(read_file(tree.path("a"), 4).error().code == Errc::kRange);
    const auto r = read_file(tree.path("none"));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotFound);
    CHECK(r.error().context.starts_with(tree.path("none")));
    CHECK(read_file(tree.root()).has_error());
  }

  TEST_CASE("write_file replaces the content and never creates a file") {
    const FakeTree tree{{"a", "longer than the new text\n"}};
    REQUIRE(write_file(tree.path("a"), "5"));
    CHECK(tree.read("a") == "5");
    CHECK(write_file(tree.path("none"), "5").error().code == Errc::kNotFound);
    CHECK_FALSE(std::filesystem::exists(tree.path("none")));
  }

  TEST_CASE("write_file names file, value and errno when the write is refused") {
    const auto r = write_file("/dev/full", "123");
    REQUIRE(r.has_error());
    CHECK(r.error().context == "/dev/full: write '123': No space left on device (errno 28)");
  }
}

TEST_SUITE("kept_file") {
  TEST_CASE("each read starts at 0 and sees the present content") {
    const FakeTree tree{{"a", "1\n"}};
    auto file = KeptFile::open(tree.path("a")).value();
    CHECK(file.read().value() == "1\n");
    tree.write("a", "22\n");
    CHECK(file.read().value() == "22\n");
    CHECK(file.read().value() == "22\n");
  }

  TEST_CASE("content longer than the buffer comes whole") {
    std::string big;
    while (big.size() < 300'000) big += "line of a very large file\n";
    const FakeTree tree{{"big", big}, {"small", "x\n"}};
    auto file = KeptFile::open(tree.path("big")).value();
    CHECK(file.read().value() == big);
    auto small = KeptFile::open(tree.path("small")).value();
    CHECK(small.read().value() == "x\n");
  }

  TEST_CASE("row 49: empty content and a removed file are gone, not empty values") {
    const FakeTree tree{{"a", ""}, {"b", "1\n"}};
    auto empty = KeptFile::open(tree.path("a")).value();
    CHECK(empty.read().error().code == Errc::kGone);
    auto removed = KeptFile::open(tree.path("b")).value();
    tree.remove("b");
    CHECK(removed.read().error().code == Errc::kGone);
  }

  TEST_CASE("a missing file is kNotFound and named") {
    const auto r = KeptFile::open("/nonexistent/x");
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotFound);
    CHECK(r.error().context.find("/nonexistent/x") != std::string::npos);
  }
}
