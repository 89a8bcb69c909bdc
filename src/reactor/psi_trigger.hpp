#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"

namespace koordlet::reactor {

/// One PSI trigger of the kernel: an event when tasks stalled longer than a threshold within a
/// window, at most one a window. The wait on the descriptor is always armed, because the kernel
/// hands an event to whoever polls at that moment: events that come while nobody is in wait() are
/// counted and make the next wait() return at once. One thread; destroying it removes the trigger.
class PsiTrigger {
 public:
  /// `path`: "/proc/pressure/cpu" or a cgroup's "cpu.pressure". `trigger`: "some 150000 1000000"
  /// (stall and window in us; the kernel takes windows of 500 ms to 10 s).
  /// kNotFound: no such file (cgroup gone, or a kernel without PSI); kNotSupported: booted with
  /// psi=0, or a file that is none of procfs or cgroupfs, which is left as it is; kDenied: no right
  /// to make triggers (CAP_SYS_RESOURCE); kInvalid: the kernel refused the text (without that right
  /// also every window that is no multiple of 2 s).
  static Result<PsiTrigger> open(const boost::asio::any_io_executor& ex,
                                 const std::string& path,
                                 const std::string& trigger);
  /// Takes over a descriptor that behaves as a trigger does: POLLPRI once an event (it must not
  /// stay set), POLLERR or POLLHUP at its end.
  static Result<PsiTrigger> adopt(const boost::asio::any_io_executor& ex, int fd, std::string name);

  PsiTrigger(PsiTrigger&&) noexcept;
  PsiTrigger& operator=(PsiTrigger&&) noexcept;
  ~PsiTrigger();

  /// The next event. kGone: the trigger's source went away (cgroup removed); from then on every
  /// call fails the same way, and the descriptor is closed. After a cancel kIo with ECANCELED; the
  /// trigger stays armed.
  boost::asio::awaitable<Result<void>> wait();
  std::uint64_t events() const;  ///< since open

 private:
  struct State;
  explicit PsiTrigger(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace koordlet::reactor
