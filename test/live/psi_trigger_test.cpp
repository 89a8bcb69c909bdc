#include "reactor/psi_trigger.hpp"

#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/skip.hpp"

using koordlet::Errc;
using koordlet::Result;
using koordlet::reactor::PsiTrigger;
using koordlet::test::FakeTree;
namespace asio = boost::asio;

namespace {

/// The unified hierarchy mounted in a private folder, with one empty group of our own in it.
class OwnCgroup {
 public:
  OwnCgroup() {
    tree_.mkdir("cg");
    mounted_ = ::mount("none", tree_.path("cg").c_str(), "cgroup2", 0, nullptr) == 0;
    path_ = tree_.path("cg/koordlet-psi-" + std::to_string(::getpid()));
    if (mounted_) made_ = ::mkdir(path_.c_str(), 0755) == 0;
  }
  ~OwnCgroup() {
    remove();
    if (mounted_) ::umount2(tree_.path("cg").c_str(), MNT_DETACH);
  }
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;

  bool has_pressure() const { return made_ && ::access(file().c_str(), R_OK | W_OK) == 0; }
  std::string file() const { return path_ + "/cpu.pressure"; }
  void remove() {
    if (made_) made_ = ::rmdir(path_.c_str()) != 0;
  }

 private:
  FakeTree tree_;
  std::string path_;
  bool mounted_ = false;
  bool made_ = false;
};

asio::awaitable<void> wait_into(PsiTrigger& trigger, std::vector<Result<void>>& out) {
  out.push_back(co_await trigger.wait());
}

}  // namespace

TEST_SUITE("live/psi_trigger") {
  TEST_CASE("a removed cgroup ends its trigger once, and the loop has nothing left to do") {
    OwnCgroup group;
    KOORDLET_SKIP_UNLESS(group.has_pressure(), "no unified hierarchy with pressure files");
    asio::io_context io;
    auto trigger = PsiTrigger::open(io.get_executor(), group.file(), "some 1000000 2000000");
    REQUIRE(trigger.has_value());
    std::vector<Result<void>> out;
    asio::co_spawn(io, wait_into(*trigger, out), asio::detached);
    io.poll();
    CHECK(out.empty());
    group.remove();
    io.restart();
    io.run();
    REQUIRE(out.size() == 1);
    REQUIRE(out[0].has_error());
    CHECK(out[0].error().code == Errc::kGone);
    CHECK(trigger->events() == 0);
  }
}
