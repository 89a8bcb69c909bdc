#include "reactor/watchdog.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include "reactor/stuck_dump.hpp"
#include "reactor/task_group.hpp"
#include "support/async.hpp"

using namespace std::chrono_literals;
using koordlet::reactor::StuckDump;
using koordlet::reactor::TaskGroup;
using koordlet::reactor::Watchdog;
namespace asio = boost::asio;

namespace {

/// A file in memory that takes the stack.
class Sink {
 public:
  Sink() : fd_{::memfd_create("stack", MFD_CLOEXEC)} { REQUIRE(fd_ >= 0); }
  ~Sink() { ::close(fd_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  int fd() const { return fd_; }
  std::string text() const {
    std::array<char, 65536> bytes{};
    const ssize_t size = ::pread(fd_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(size > 0 ? size : 0)};
  }

 private:
  int fd_;
};

void block(std::chrono::milliseconds d) {
  const auto end = std::chrono::steady_clock::now() + d;
  while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_until(end);
}

void burn_cpu(std::chrono::milliseconds d) {
  timespec t{};
  const auto used = [&t] {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
  };
  const auto start = used();
  while (used() - start < d) {
  }
}

/// Runs the loop until the watchdog has made `checks` more checks.
void run_checks(asio::io_context& io, const Watchdog& dog, std::uint64_t checks) {
  const auto goal = dog.stats().checks + checks;
  io.restart();
  while (dog.stats().checks < goal) io.run_one();
}

}  // namespace

TEST_SUITE("reactor/watchdog") {
  TEST_CASE("a blocked loop shows as lateness, and the check goes on afterwards") {
    asio::io_context io;
    Watchdog dog{{.interval = 10ms, .stuck_after = 0ms, .dump_fd = 2}};
    TaskGroup group{io.get_executor(), nullptr};
    group.spawn("watchdog", dog.run());
    run_checks(io, dog, 1);
    block(100ms);
    const auto before = dog.stats().checks;
    run_checks(io, dog, 1);
    // Blocked for 100 ms right after a check whose successor was due 10 ms later at most.
    CHECK(dog.stats().last_late >= 80ms);
    CHECK(dog.stats().max_late >= dog.stats().last_late);
    CHECK(dog.stats().checks == before + 1);
    const auto worst = dog.stats().max_late;
    run_checks(io, dog, 1);
    CHECK(dog.stats().max_late >= worst);
    dog.reset_max();
    CHECK(dog.stats().max_late == 0us);
    group.request_stop();
    io.restart();
    io.run();
    CHECK(group.live() == 0);
  }

  TEST_CASE("drive measures the CPU time of the longest handler") {
    asio::io_context io;
    Watchdog dog{{.interval = 10ms, .stuck_after = 0ms, .dump_fd = 2}};
    int ran = 0;
    asio::post(io, [&ran] { ++ran; });
    asio::post(io, [] { burn_cpu(20ms); });
    asio::post(io, [&ran] { ++ran; });
    dog.drive(io);
    CHECK(ran == 2);
    CHECK(dog.stats().longest_handler >= 20ms);
    dog.reset_max();
    CHECK(dog.stats().longest_handler == 0us);
  }

  TEST_CASE("a stuck loop writes its stack once") {
    asio::io_context io;
    const Sink sink;
    Watchdog dog{{.interval = 10ms, .stuck_after = 50ms, .dump_fd = sink.fd()}};
    TaskGroup group{io.get_executor(), nullptr};
    group.spawn("watchdog", dog.run());
    run_checks(io, dog, 1);
    const auto before = StuckDump::written();
    block(300ms);
    CHECK(StuckDump::written() == before + 1);
    run_checks(io, dog, 1);
    CHECK(dog.stats().stuck >= 1);
    const std::string text = sink.text();
    CHECK(text.find("the loop is stuck") != std::string::npos);
    CHECK(text.find(program_invocation_short_name) != std::string::npos);
    group.request_stop();
    io.restart();
    io.run();
    CHECK(group.live() == 0);
    // Its task has ended: no alarm is left behind.
    const auto after = StuckDump::written();
    block(100ms);
    CHECK(StuckDump::written() == after);
  }

  TEST_CASE("bad options and a second dump are refused") {
    CHECK_THROWS_AS((Watchdog{{.interval = 0ms, .stuck_after = 0ms, .dump_fd = 2}}),
                    std::invalid_argument);
    CHECK_THROWS_AS((Watchdog{{.interval = 100ms, .stuck_after = 150ms, .dump_fd = 2}}),
                    std::invalid_argument);
    const Sink sink;
    const StuckDump first{sink.fd()};
    CHECK_THROWS_AS(StuckDump{sink.fd()}, std::logic_error);
  }

  TEST_CASE("a disarmed dump stays silent") {
    const Sink sink;
    StuckDump dump{sink.fd()};
    dump.arm(20ms);
    dump.disarm();
    block(60ms);
    CHECK(sink.text().empty());
  }
}
