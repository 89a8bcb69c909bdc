#include "reactor/watchdog.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <time.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "reactor/stuck_dump.hpp"

namespace koordlet::reactor {
namespace asio = boost::asio;
namespace {

std::chrono::nanoseconds thread_cpu() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

}  // namespace

Watchdog::Watchdog(Options options) : options_{options} {
  if (options_.interval <= std::chrono::milliseconds::zero())
    throw std::invalid_argument{"watchdog interval must be above zero"};
  if (options_.stuck_after != std::chrono::milliseconds::zero() &&
      options_.stuck_after < 2 * options_.interval)
    throw std::invalid_argument{"watchdog stuck_after must be at least two intervals"};
}

Watchdog::~Watchdog() = default;

void Watchdog::note(Clock::duration late) {
  stats_.last_late = std::max(std::chrono::duration_cast<std::chrono::microseconds>(late),
                              std::chrono::microseconds{0});
  stats_.max_late = std::max(stats_.max_late, stats_.last_late);
  ++stats_.checks;
}

asio::awaitable<void> Watchdog::run() {
  constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
  // Made here and not in the constructor: the alarm goes to the thread that runs the loop.
  std::optional<StuckDump> dump;
  if (options_.stuck_after > std::chrono::milliseconds::zero()) dump.emplace(options_.dump_fd);
  const std::uint64_t before = StuckDump::written();
  asio::steady_timer timer{co_await asio::this_coro::executor};
  auto deadline = Clock::now() + options_.interval;
  for (;;) {
    if (dump) dump->arm(options_.stuck_after);
    timer.expires_at(deadline);
    const auto [ec] = co_await timer.async_wait(kUseEc);
    if (ec) co_return;
    const auto now = Clock::now();
    note(now - deadline);
    stats_.stuck = StuckDump::written() - before;
    const auto missed = (now - deadline) / options_.interval;
    deadline += (missed + 1) * options_.interval;
  }
}

void Watchdog::drive(asio::io_context& io) {
  // The wait inside run_one costs no CPU, so that the CPU time of the call is the handler's own.
  auto before = thread_cpu();
  while (io.run_one() != 0) {
    const auto after = thread_cpu();
    stats_.longest_handler =
        std::max(stats_.longest_handler,
                 std::chrono::duration_cast<std::chrono::microseconds>(after - before));
    before = after;
  }
}

Watchdog::Stats Watchdog::stats() const { return stats_; }

void Watchdog::reset_max() {
  stats_.max_late = std::chrono::microseconds{0};
  stats_.longest_handler = std::chrono::microseconds{0};
}

}  // namespace koordlet::reactor
