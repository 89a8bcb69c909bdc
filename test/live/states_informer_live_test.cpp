#include <algorithm>
#include <chrono>
#include <string>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "reactor/inotify.hpp"
#include "reactor/task_group.hpp"
#include "support/skip.hpp"

using namespace koordlet;

namespace {

/// Directories of the real cpu hierarchy below a name of our own, removed in reverse.
class OwnTree {
 public:
  explicit OwnTree(std::string root) : root_{std::move(root)} {}
  ~OwnTree() {
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) ::rmdir(dir->c_str());
  }
  OwnTree(const OwnTree&) = delete;
  OwnTree& operator=(const OwnTree&) = delete;
  bool make(const std::string& relative) {
    const auto dir = relative.empty() ? root_ : fmt::format("{}/{}", root_, relative);
    if (::mkdir(dir.c_str(), 0755) != 0) return false;
    made_.push_back(dir);
    return true;
  }
  bool remove(const std::string& relative) {
    return ::rmdir(fmt::format("{}/{}", root_, relative).c_str()) == 0;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
  std::vector<std::string> made_;
};

boost::asio::awaitable<void> collect(reactor::Inotify& inotify,
                                     std::vector<reactor::Inotify::Event>& out) {
  for (;;) {
    const auto events = co_await inotify.read();
    if (!events) co_return;
    out.insert(out.end(), events->begin(), events->end());
  }
}

}  // namespace

TEST_SUITE("live/states_informer") {
  TEST_CASE("the kernel tells of cgroup directories that come, go, and take their watch along") {
    OwnTree tree{fmt::format("/sys/fs/cgroup/cpu/koordlet-watch-{}", ::getpid())};
    KOORDLET_SKIP_UNLESS(tree.make(""), "no writable cpu hierarchy of cgroup v1");
    REQUIRE(tree.make("besteffort"));

    boost::asio::io_context io;
    reactor::Inotify inotify{io.get_executor()};
    const auto tier = tree.root() + "/besteffort";
    REQUIRE(inotify.watch(tier, IN_CREATE | IN_DELETE).has_value());
    std::vector<reactor::Inotify::Event> events;
    reactor::TaskGroup tasks{io.get_executor(), nullptr};
    tasks.spawn("events", collect(inotify, events));

    REQUIRE(tree.make("besteffort/podu1"));
    const auto pod = tier + "/podu1";
    REQUIRE(inotify.watch(pod, IN_CREATE | IN_DELETE).has_value());
    REQUIRE(tree.make("besteffort/podu1/c1"));
    REQUIRE(tree.remove("besteffort/podu1/c1"));
    REQUIRE(tree.remove("besteffort/podu1"));

    const auto seen = [&events](
                          const std::string& dir, const std::string& name, std::uint32_t mask) {
      return std::any_of(events.begin(), events.end(), [&](const auto& e) {
        return e.dir == dir && e.name == name && (e.mask & mask) == mask;
      });
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!seen(tier, "podu1", IN_DELETE | IN_ISDIR) && std::chrono::steady_clock::now() < end) {
      io.run_one_for(std::chrono::milliseconds{20});
    }
    CHECK(seen(tier, "podu1", IN_CREATE | IN_ISDIR));
    CHECK(seen(pod, "c1", IN_CREATE | IN_ISDIR));
    CHECK(seen(pod, "c1", IN_DELETE | IN_ISDIR));
    CHECK(seen(tier, "podu1", IN_DELETE | IN_ISDIR));
    tasks.request_stop();
    io.restart();
    io.run_for(std::chrono::seconds{1});
    CHECK(tasks.live() == 0);
  }
}
