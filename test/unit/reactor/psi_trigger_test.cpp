#include "reactor/psi_trigger.hpp"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/skip.hpp"

using namespace std::chrono_literals;
using koordlet::Errc;
using koordlet::Result;
using koordlet::reactor::PsiTrigger;
using koordlet::reactor::TaskGroup;
using koordlet::test::FakeTree;
namespace asio = boost::asio;

namespace {

constexpr const char* kCpu = "/proc/pressure/cpu";
// Without CAP_SYS_RESOURCE the kernel takes only windows of whole multiples of 2 s.
constexpr const char* kTrigger = "some 1000 2000000";

bool may_trigger() {
  asio::io_context io;
  return PsiTrigger::open(io.get_executor(), kCpu, kTrigger).has_value();
}

/// More busy threads than CPUs: somebody always waits for a CPU.
class Stall {
 public:
  Stall() {
    const unsigned count = 2 * std::thread::hardware_concurrency() + 2;
    for (unsigned i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!stop_) {
        }
      });
  }
  ~Stall() {
    stop_ = true;
    for (auto& t : threads_) t.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

asio::awaitable<void> wait_into(PsiTrigger& trigger, std::vector<Result<void>>& out) {
  out.push_back(co_await trigger.wait());
}

asio::awaitable<void> pause(std::chrono::milliseconds d) {
  asio::steady_timer timer{co_await asio::this_coro::executor, d};
  co_await timer.async_wait(koordlet::reactor::use_ec);
}

}  // namespace

TEST_SUITE("reactor/psi_trigger") {
  TEST_CASE("a stalled CPU makes an event, also one that nobody waited for") {
    KOORDLET_SKIP_UNLESS(may_trigger(), "no right to make PSI triggers, or a kernel without PSI");
    asio::io_context io;
    auto trigger = PsiTrigger::open(io.get_executor(), kCpu, kTrigger);
    REQUIRE(trigger.has_value());
    const Stall stall;
    while (trigger->events() == 0) koordlet::test::run(io, pause(50ms));
    // It came while nobody was in wait(): the next wait ends without another one.
    const auto seen = trigger->events();
    CHECK(koordlet::test::run(io, trigger->wait()).has_value());
    CHECK(trigger->events() == seen);
    CHECK(koordlet::test::run(io, trigger->wait()).has_value());
    CHECK(trigger->events() > seen);
  }

  TEST_CASE("a text that the kernel refuses is kInvalid and shown") {
    KOORDLET_SKIP_UNLESS(may_trigger(), "no right to make PSI triggers, or a kernel without PSI");
    asio::io_context io;
    for (const char* text : {"some 2000001 2000000", "most 1 2000000", "some 1000 499999", ""}) {
      CAPTURE(text);
      const auto got = PsiTrigger::open(io.get_executor(), kCpu, text);
      REQUIRE(got.has_error());
      CHECK(got.error().code == Errc::kInvalid);
      CHECK(got.error().context.find(kCpu) != std::string::npos);
    }
  }

  TEST_CASE("a missing pressure file is kNotFound") {
    asio::io_context io;
    const FakeTree tree;
    const auto got =
        PsiTrigger::open(io.get_executor(), tree.path("cpu.pressure"), "some 150000 1000000");
    REQUIRE(got.has_error());
    CHECK(got.error().code == Errc::kNotFound);
  }

  TEST_CASE("a plain file, as of a recorded tree, is refused and left as it was") {
    asio::io_context io;
    const std::string text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
    const FakeTree tree{{"memory.pressure", text}};
    const auto got =
        PsiTrigger::open(io.get_executor(), tree.path("memory.pressure"), "some 150000 1000000");
    REQUIRE(got.has_error());
    CHECK(got.error().code == Errc::kNotSupported);
    CHECK(got.error().context.find("memory.pressure: not a pressure file") != std::string::npos);
    CHECK(tree.read("memory.pressure") == text);
  }

  TEST_CASE("a source that ends is kGone once and for ever, and the loop runs dry") {
    asio::io_context io;
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    auto trigger = PsiTrigger::adopt(io.get_executor(), ends[0], "cg/cpu.pressure");
    REQUIRE(trigger.has_value());
    std::vector<Result<void>> out;
    asio::co_spawn(io, wait_into(*trigger, out), asio::detached);
    io.poll();
    CHECK(out.empty());
    ::close(ends[1]);
    io.restart();
    io.run();  // returns only when nothing is armed any more
    REQUIRE(out.size() == 1);
    REQUIRE(out[0].has_error());
    CHECK(out[0].error().code == Errc::kGone);
    CHECK(out[0].error().context.find("cg/cpu.pressure") != std::string::npos);
    CHECK(trigger->events() == 0);
    const auto again = koordlet::test::run(io, trigger->wait());
    REQUIRE(again.has_error());
    CHECK(again.error().code == Errc::kGone);
    CHECK(::fcntl(ends[0], F_GETFD) == -1);
  }

  TEST_CASE("a cancelled wait leaves the trigger armed, its destruction closes it") {
    asio::io_context io;
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    std::optional<PsiTrigger> trigger;
    {
      auto made = PsiTrigger::adopt(io.get_executor(), ends[0], "x");
      REQUIRE(made.has_value());
      trigger.emplace(std::move(*made));
    }
    TaskGroup group{io.get_executor(), nullptr};
    std::vector<Result<void>> out;
    group.spawn("t", wait_into(*trigger, out));
    io.poll();
    group.request_stop();
    io.restart();
    io.poll();
    REQUIRE(out.size() == 1);
    REQUIRE(out[0].has_error());
    CHECK(out[0].error().code == Errc::kIo);
    CHECK(::fcntl(ends[0], F_GETFD) != -1);
    trigger.reset();
    io.restart();
    io.run();
    CHECK(::fcntl(ends[0], F_GETFD) == -1);
    ::close(ends[1]);
  }
}
