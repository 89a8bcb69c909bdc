#pragma once

#include <chrono>
#include <cstdint>

#include <boost/asio/awaitable.hpp>

namespace boost::asio {
class io_context;
}

namespace koordlet::reactor {

/// Watches the loop from inside: how late a periodic deadline wakes up (what every other timer of
/// the loop suffers), how much CPU the longest handler took, and, from a signal handler, where the
/// loop is when it does not come back for `stuck_after`. One object with a dump a process at a
/// time; loop thread only.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::chrono::milliseconds interval{100};  ///< of the check, above 0
    /// A loop that is silent for so long writes its stack; zero: never. At least 2 intervals.
    std::chrono::milliseconds stuck_after{2000};
    int dump_fd = 2;  ///< where the stack goes; must stay open
  };
  struct Stats {
    std::chrono::microseconds last_late{0};
    std::chrono::microseconds max_late{0};
    /// CPU time, over handlers that drive() ran. A handler that sleeps in the kernel shows up as
    /// lateness instead.
    std::chrono::microseconds longest_handler{0};
    std::uint64_t checks = 0;
    std::uint64_t stuck = 0;  ///< stacks written
  };

  Watchdog() : Watchdog{Options{}} {}
  /// Options out of range throw std::invalid_argument; two dumping objects throw std::logic_error.
  explicit Watchdog(Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The periodic check, until cancelled; a task of the daemon. Missed deadlines are skipped.
  boost::asio::awaitable<void> run();
  /// In place of io.run(): the same, with each handler measured (two clock reads a handler).
  void drive(boost::asio::io_context& io);

  Stats stats() const;
  void reset_max();  ///< max_late and longest_handler start anew, for "worst since last report"

 private:
  void note(Clock::duration late);

  Options options_;
  Stats stats_;
};

}  // namespace koordlet::reactor
