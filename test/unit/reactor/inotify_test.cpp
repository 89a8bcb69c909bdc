#include "reactor/inotify.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/inotify.h>

#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"

using koordlet::Errc;
using koordlet::Result;
using koordlet::reactor::Inotify;
using koordlet::reactor::TaskGroup;
using koordlet::test::FakeTree;
namespace asio = boost::asio;

namespace {

using Events = std::vector<Inotify::Event>;

asio::awaitable<void> read_into(Inotify& inotify, std::vector<Result<Events>>& out) {
  out.push_back(co_await inotify.read());
}

Events read_some(asio::io_context& io, Inotify& inotify) {
  auto got = koordlet::test::run(io, inotify.read());
  REQUIRE(got.has_value());
  return *got;
}

bool has(const Events& events, const std::string& name, std::uint32_t mask) {
  return std::any_of(events.begin(), events.end(), [&](const Inotify::Event& e) {
    return e.name == name && (e.mask & mask) == mask;
  });
}

}  // namespace

TEST_SUITE("reactor/inotify") {
  TEST_CASE("a new entry is reported with its directory as given") {
    asio::io_context io;
    const FakeTree tree;
    tree.mkdir("pods");
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("pods"), IN_CREATE | IN_DELETE).has_value());
    CHECK(inotify.watches() == 1);
    tree.mkdir("pods/pod1");
    const Events events = read_some(io, inotify);
    REQUIRE(events.size() == 1);
    CHECK(events[0].dir == tree.path("pods"));
    CHECK(events[0].name == "pod1");
    CHECK((events[0].mask & IN_CREATE) != 0);
    CHECK((events[0].mask & IN_ISDIR) != 0);
    CHECK_FALSE(events[0].overflow);
  }

  TEST_CASE("a missing directory and a file are kNotFound and name the path") {
    asio::io_context io;
    const FakeTree tree{{"file", "x"}};
    Inotify inotify{io.get_executor()};
    for (const char* what : {"absent", "file"}) {
      CAPTURE(what);
      const auto got = inotify.watch(tree.path(what), IN_CREATE);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kNotFound);
      CHECK(got.error().context.find(tree.path(what)) != std::string::npos);
    }
    CHECK(inotify.watches() == 0);
  }

  TEST_CASE("a directory that goes away ends its watch, and may be watched again") {
    asio::io_context io;
    const FakeTree tree;
    tree.mkdir("a");
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE | IN_DELETE_SELF).has_value());
    tree.remove("a");
    Events all;
    while (!has(all, "", IN_IGNORED)) {
      const Events more = read_some(io, inotify);
      all.insert(all.end(), more.begin(), more.end());
    }
    CHECK(has(all, "", IN_DELETE_SELF));
    CHECK(inotify.watches() == 0);
    tree.mkdir("a");
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE).has_value());
    tree.mkdir("a/b");
    CHECK(has(read_some(io, inotify), "b", IN_CREATE));
  }

  TEST_CASE("a directory made anew and watched again before the old end was read stays watched") {
    asio::io_context io;
    const FakeTree tree;
    tree.mkdir("a");
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE).has_value());
    tree.remove("a");
    tree.mkdir("a");
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE).has_value());
    CHECK(inotify.watches() == 1);
    tree.mkdir("a/b");
    CHECK(has(read_some(io, inotify), "b", IN_CREATE));
    CHECK(inotify.watches() == 1);
  }

  TEST_CASE("events of a watch that was taken back are dropped") {
    asio::io_context io;
    const FakeTree tree;
    tree.mkdir("a");
    tree.mkdir("b");
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE).has_value());
    REQUIRE(inotify.watch(tree.path("b"), IN_CREATE).has_value());
    tree.mkdir("a/x");
    inotify.unwatch(tree.path("a"));
    inotify.unwatch(tree.path("never"));
    tree.mkdir("b/y");
    const Events events = read_some(io, inotify);
    REQUIRE(events.size() == 1);
    CHECK(events[0].dir == tree.path("b"));
    CHECK(inotify.watches() == 1);
  }

  TEST_CASE("two names of one directory are one watch under the later name") {
    asio::io_context io;
    const FakeTree tree;
    tree.mkdir("a");
    std::filesystem::create_symlink(tree.path("a"), tree.path("link"));
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE).has_value());
    REQUIRE(inotify.watch(tree.path("link"), IN_CREATE).has_value());
    CHECK(inotify.watches() == 1);
    inotify.unwatch(tree.path("a"));
    CHECK(inotify.watches() == 1);
    tree.mkdir("a/x");
    CHECK(read_some(io, inotify)[0].dir == tree.path("link"));
  }

  TEST_CASE("a full queue is an overflow event") {
    asio::io_context io;
    std::size_t limit = 0;
    std::ifstream{"/proc/sys/fs/inotify/max_queued_events"} >> limit;
    REQUIRE(limit > 0);
    const FakeTree tree{{"a/f", ""}, {"a/g", ""}};
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("a"), IN_OPEN).has_value());
    // Equal neighbours are merged by the kernel, hence two files.
    for (std::size_t i = 0; i < limit / 2 + 10; ++i) {
      std::ifstream{tree.path("a/f")};
      std::ifstream{tree.path("a/g")};
    }
    bool overflow = false;
    while (!overflow) {
      for (const auto& e : read_some(io, inotify)) overflow = overflow || e.overflow;
    }
    CHECK(overflow);
  }

  TEST_CASE("a cancelled read is an error and the watches stay") {
    asio::io_context io;
    const FakeTree tree;
    tree.mkdir("a");
    Inotify inotify{io.get_executor()};
    REQUIRE(inotify.watch(tree.path("a"), IN_CREATE).has_value());
    TaskGroup group{io.get_executor(), nullptr};
    std::vector<Result<Events>> out;
    group.spawn("reader", read_into(inotify, out));
    io.poll();
    group.request_stop();
    io.run();
    REQUIRE(out.size() == 1);
    REQUIRE(out[0].has_error());
    CHECK(out[0].error().code == Errc::kIo);
    tree.mkdir("a/b");
    CHECK(has(read_some(io, inotify), "b", IN_CREATE));
  }
}
