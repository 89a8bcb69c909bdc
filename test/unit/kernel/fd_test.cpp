#include "kernel/fd.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

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

  TEST_CASE(
      "a kernel file of many pages, which comes in pieces, is read whole: each line counted") {
    // One record a mapping; the kernel gives just under a page a call.
    constexpr std::size_t kPages = 400, kPage = 4096;
    void* const block =
        ::mmap(nullptr, (kPages + 2) * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(block != MAP_FAILED);
    auto* const first = static_cast<char*>(block) + kPage;
    for (std::size_t i = 0; i < kPages; ++i) {  // by turns, so that no two are one mapping
      const int protection = i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
      REQUIRE(::mprotect(first + i * kPage, kPage, protection) == 0);
    }
    auto file = KeptFile::open("/proc/self/maps").value();
    const std::string text{file.read().value()};
    CHECK(text.size() > 3 * kPage);
    CHECK(text.back() == '\n');
    std::size_t found = 0;
    for (std::size_t i = 0; i < kPages; ++i) {
      const auto start = reinterpret_cast<std::uintptr_t>(first + i * kPage);
      if (text.find(fmt::format("\n{:x}-", start)) != std::string::npos) ++found;
    }
    CHECK(found == kPages);
    ::munmap(block, (kPages + 2) * kPage);
  }

  TEST_CASE("lengths around a page and around the buffer come whole") {
    const FakeTree tree;
    for (const std::size_t size :
         {1u, 2047u, 3071u, 3072u, 4095u, 4096u, 4097u, 65535u, 65536u, 65537u, 131072u}) {
      CAPTURE(size);
      std::string body(size, 'x');
      body.back() = '\n';
      tree.write("a", body);
      auto file = KeptFile::open(tree.path("a")).value();
      CHECK(file.read().value() == body);
      CHECK(file.read().value() == body);
    }
  }

  TEST_CASE("over 16 MiB is an error, not a part") {
    const FakeTree tree{{"a", "x\n"}};
    std::filesystem::resize_file(tree.path("a"), (16u << 20) + 1);
    auto file = KeptFile::open(tree.path("a")).value();
    CHECK(file.read().error().code == Errc::kRange);
  }

  TEST_CASE("a file that may be empty: no byte is a content, removal is still gone") {
    const FakeTree tree{{"a", ""}};
    auto file = KeptFile::open(tree.path("a"), true).value();
    CHECK(file.read().value().empty());
    tree.write("a", "1\n");
    CHECK(file.read().value() == "1\n");
    tree.remove("a");
    const auto r = file.read();
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kGone);
    CHECK(r.error().context.starts_with(tree.path("a")));
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
