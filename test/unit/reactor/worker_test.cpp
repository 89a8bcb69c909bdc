#include "reactor/worker.hpp"

#include <array>
#include <atomic>
#include <future>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <thread>

#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"

using namespace std::chrono_literals;
using koordlet::reactor::TaskGroup;
using koordlet::reactor::Worker;
namespace asio = boost::asio;

namespace {

/// Keeps the helper busy until opened.
class Gate {
 public:
  void open() { opened_.set_value(); }
  std::function<void()> job() {
    return [this] {
      entered_.set_value();
      opened_.get_future().wait();
    };
  }
  void wait_until_entered() { entered_.get_future().wait(); }

 private:
  std::promise<void> entered_;
  std::promise<void> opened_;
};

struct Threads {
  std::thread::id job;
  std::thread::id after;
};

asio::awaitable<Threads> see_threads(Worker& worker) {
  Threads out;
  auto f = [] { return std::this_thread::get_id(); };
  out.job = co_await worker.run(f);
  out.after = std::this_thread::get_id();
  co_return out;
}

asio::awaitable<void> throwing(Worker& worker) {
  auto f = []() -> int { throw std::runtime_error{"disk on fire"}; };
  co_await worker.run(f);
}

asio::awaitable<std::unique_ptr<int>> move_only(Worker& worker) {
  auto f = [p = std::make_unique<int>(7)]() mutable { return std::move(p); };
  co_return co_await worker.run(std::move(f));
}

asio::awaitable<void> nothing_returned(Worker& worker, int& touched) {
  auto f = [&touched] { touched = 1; };
  co_await worker.run(f);
}

struct Counted {
  std::shared_ptr<std::atomic<int>> ran;
  std::shared_ptr<std::vector<int>> owned = std::make_shared<std::vector<int>>(1000, 1);
  std::size_t operator()() const {
    ++*ran;
    return owned->size();
  }
};

asio::awaitable<void> run_counted(Worker& worker, Counted f, std::string& end) {
  try {
    co_await worker.run(std::move(f));
    end = "result";
  } catch (const boost::system::system_error& e) {
    end = e.code() == asio::error::operation_aborted ? "aborted" : "other";
  }
}

}  // namespace

TEST_SUITE("reactor/worker") {
  TEST_CASE("a job runs on the helper and its result comes back on the loop") {
    asio::io_context io;
    Worker worker{"helper"};
    const Threads seen = koordlet::test::run(io, see_threads(worker));
    CHECK(seen.job != std::this_thread::get_id());
    CHECK(seen.after == std::this_thread::get_id());
  }

  TEST_CASE("an exception of the job comes back") {
    asio::io_context io;
    Worker worker{"helper"};
    CHECK_THROWS_WITH_AS(
        koordlet::test::run(io, throwing(worker)), "disk on fire", std::runtime_error);
    CHECK(worker.failures() == 0);
  }

  TEST_CASE("move-only callables and results, and no result at all") {
    asio::io_context io;
    Worker worker{"helper"};
    const auto p = koordlet::test::run(io, move_only(worker));
    REQUIRE(p != nullptr);
    CHECK(*p == 7);
    int touched = 0;
    koordlet::test::run(io, nothing_returned(worker, touched));
    CHECK(touched == 1);
  }

  TEST_CASE("jobs run in order, and the destructor runs what is queued") {
    std::vector<int> order;
    Gate gate;
    {
      Worker worker{"helper"};
      worker.post(gate.job());
      for (int i = 0; i < 100; ++i) worker.post([&order, i] { order.push_back(i); });
      gate.wait_until_entered();
      CHECK(worker.queued() == 100);
      gate.open();
    }
    REQUIRE(order.size() == 100);
    for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  }

  TEST_CASE("a posted job that throws is counted and the next one runs") {
    std::atomic<int> ran{0};
    asio::io_context io;
    Worker worker{"helper"};
    worker.post([] { throw std::runtime_error{"lost"}; });
    worker.post([&ran] { ++ran; });
    koordlet::test::run(io, see_threads(worker));
    CHECK(ran == 1);
    CHECK(worker.failures() == 1);
  }

  TEST_CASE("busy_for is the age of the running job and zero when idle") {
    asio::io_context io;
    Gate gate;
    Worker worker{"helper"};
    const auto now = std::chrono::steady_clock::now();
    CHECK(worker.busy_for(now + 1h) == 0ms);
    worker.post(gate.job());
    gate.wait_until_entered();
    CHECK(worker.busy_for(std::chrono::steady_clock::now() + 1h) >= 1h);
    CHECK(worker.busy_for(now - 1h) == 0ms);
    gate.open();
    koordlet::test::run(io, see_threads(worker));
    // The result is on its way back before the helper is idle: wait for the helper itself.
    while (worker.busy_for(std::chrono::steady_clock::now() + 1h) != 0ms) std::this_thread::yield();
  }

  TEST_CASE(
      "a coroutine that is cancelled while its job waits or runs ends at once, the job does not") {
    asio::io_context io;
    auto ran = std::make_shared<std::atomic<int>>(0);
    std::string end;
    Gate gate;
    {
      Worker worker{"helper"};
      TaskGroup group{io.get_executor(), nullptr};
      worker.post(gate.job());
      gate.wait_until_entered();
      group.spawn("t", run_counted(worker, Counted{ran}, end));
      io.poll();
      CHECK(end.empty());
      group.request_stop();
      io.restart();
      io.run();
      CHECK(end == "aborted");
      CHECK(group.live() == 0);
      CHECK(*ran == 0);
      gate.open();
    }
    CHECK(*ran == 1);
    io.restart();
    io.run();
  }

  TEST_CASE("a loop that never runs again releases the job's state") {
    auto ran = std::make_shared<std::atomic<int>>(0);
    std::string end;
    {
      asio::io_context io;
      Worker worker{"helper"};
      asio::co_spawn(io, run_counted(worker, Counted{ran}, end), asio::detached);
      io.poll_one();
    }
    CHECK(*ran == 1);
    CHECK(end.empty());
    CHECK(ran.use_count() == 1);
  }

  TEST_CASE("the helper has its name and takes no signals") {
    asio::io_context io;
    Worker worker{"a-name-that-is-too-long"};
    std::promise<std::pair<std::string, bool>> seen;
    worker.post([&seen] {
      std::array<char, 32> name{};
      pthread_getname_np(pthread_self(), name.data(), name.size());
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      seen.set_value({name.data(), sigismember(&mask, SIGTERM) == 1});
    });
    const auto got = seen.get_future().get();
    CHECK(got.first == "a-name-that-is-");
    CHECK(got.second);
    sigset_t mine;
    pthread_sigmask(SIG_BLOCK, nullptr, &mine);
    CHECK(sigismember(&mine, SIGTERM) == 0);
  }
}
