#pragma once

#include <chrono>
#include <cstdint>

namespace koordlet::reactor {

/// A one-shot alarm on the calling thread that writes this thread's stack to a descriptor: the part
/// of Watchdog that deals in signals. One object a process at a time (std::logic_error otherwise).
class StuckDump {
 public:
  /// `fd` must stay open. No timer left throws boost::system::system_error.
  explicit StuckDump(int fd);
  ~StuckDump();
  StuckDump(const StuckDump&) = delete;
  StuckDump& operator=(const StuckDump&) = delete;

  void arm(std::chrono::milliseconds after);  ///< replaces the former alarm; one dump at most
  void disarm();
  static std::uint64_t written();  ///< stacks written by this process

 private:
  void* timer_ = nullptr;  // timer_t
};

}  // namespace koordlet::reactor
