#include "reactor/stuck_dump.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <execinfo.h>
#include <signal.h>
#include <stdexcept>
#include <string_view>
#include <time.h>
#include <unistd.h>

#include <boost/system/system_error.hpp>

// glibc before 2.38 has the field but not its name.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace koordlet::reactor {
namespace {

constexpr int kFrames = 64;

// Statics, because a signal that is already on its way may arrive after the object has gone.
std::atomic<int> g_fd{-1};
std::atomic<std::uint64_t> g_written{0};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

int signal_number() { return SIGRTMIN + 2; }

void say(int fd, std::string_view text) {
  if (::write(fd, text.data(), text.size()) < 0) return;  // nobody left to tell
}

void on_alarm(int) {
  const int saved = errno;
  const int fd = g_fd;
  if (fd >= 0) {
    std::array<void*, kFrames> frames{};
    const int count = ::backtrace(frames.data(), kFrames);
    say(fd, "koordlet: the loop is stuck, stack (addr2line -e PROGRAM ADDRESS):\n");
    ::backtrace_symbols_fd(frames.data(), count, fd);
    ++g_written;
  }
  errno = saved;
}

}  // namespace

StuckDump::StuckDump(int fd) {
  int none = -1;
  if (!g_fd.compare_exchange_strong(none, fd)) throw std::logic_error{"a second StuckDump"};
  // The first call loads the unwinder, which must not happen in the handler.
  std::array<void*, 2> warm_up{};
  ::backtrace(warm_up.data(), static_cast<int>(warm_up.size()));

  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal_number(), &action, nullptr);

  struct sigevent event {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number();
  event.sigev_notify_thread_id = ::gettid();
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
    const int err = errno;
    g_fd = -1;
    throw boost::system::system_error{err, boost::system::system_category(), "timer_create"};
  }
  timer_ = timer;
}

StuckDump::~StuckDump() {
  ::timer_delete(static_cast<timer_t>(timer_));
  g_fd = -1;
  // Not the default action: that would end the process for a signal still on its way.
  ::signal(signal_number(), SIG_IGN);
}

void StuckDump::arm(std::chrono::milliseconds after) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(after);
  struct itimerspec spec {};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = std::chrono::nanoseconds{after - seconds}.count();
  ::timer_settime(static_cast<timer_t>(timer_), 0, &spec, nullptr);
}

void StuckDump::disarm() { arm(std::chrono::milliseconds{0}); }

std::uint64_t StuckDump::written() { return g_written; }

}  // namespace koordlet::reactor
