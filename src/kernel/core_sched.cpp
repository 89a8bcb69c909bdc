#include "kernel/core_sched.hpp"

#include <cerrno>
#include <sys/prctl.h>
#include <thread>

#include <fmt/format.h>

#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

// linux/prctl.h of 5.14; older headers lack them.
constexpr int kSchedCore = 62;
constexpr unsigned long kGet = 0, kCreate = 1, kShareTo = 2, kShareFrom = 3;
constexpr unsigned long kThreadScope = 0;

int order(unsigned long what, int task, std::uint64_t* out = nullptr) {
  const auto target = reinterpret_cast<unsigned long>(out);
  return ::prctl(kSchedCore, what, task, kThreadScope, target) == 0 ? 0 : errno;
}

Error failure(int err, int task, const char* action) {
  const auto subject = fmt::format("core scheduling: task {}", task);
  if (err == EINVAL || err == ENODEV) {
    return {Errc::kNotSupported,
            fmt::format("{}: {}: this kernel or CPU does not do it (no SMT, or no "
                        "CONFIG_SCHED_CORE)",
                        subject,
                        action)};
  }
  if (err == ESRCH) return {Errc::kNotFound, fmt::format("{}: {}: ended", subject, action)};
  return errno_error(err, subject, action);
}

/// Runs `body` on a thread that ends with it: its cookie goes with it.
template <class Body>
auto on_own_thread(Body body) {
  decltype(body()) out = Error{Errc::kIo, "core scheduling: the helper thread did not run"};
  std::thread{[&] { out = body(); }}.join();
  return out;
}

Result<CookieOutcome> give_to_all(const std::vector<int>& tasks) {
  CookieOutcome out;
  for (const int task : tasks) {
    const int err = order(kShareTo, task);
    if (err == 0) {
      ++out.given;
    } else if (err != ESRCH && out.refused++ == 0) {
      out.error = failure(err, task, "share").context;
    }
  }
  return out;
}

}  // namespace

Result<void> probe_core_sched() {
  std::uint64_t cookie = 0;
  if (const int err = order(kGet, 0, &cookie); err != 0) return failure(err, 0, "ask");
  return {};
}

Result<std::uint64_t> core_cookie(int task) {
  std::uint64_t cookie = 0;
  if (const int err = order(kGet, task, &cookie); err != 0) return failure(err, task, "ask");
  return cookie;
}

Result<std::uint64_t> make_core_cookie(int task) {
  return on_own_thread([task]() -> Result<std::uint64_t> {
    if (const int err = order(kCreate, task); err != 0) return failure(err, task, "make");
    return core_cookie(task);
  });
}

Result<CookieOutcome> share_core_cookie(int from, const std::vector<int>& to) {
  return on_own_thread([&]() -> Result<CookieOutcome> {
    if (const int err = order(kShareFrom, from); err != 0) return failure(err, from, "take");
    return give_to_all(to);
  });
}

Result<CookieOutcome> clear_core_cookie(const std::vector<int>& tasks) {
  return on_own_thread([&]() -> Result<CookieOutcome> {
    const auto own = core_cookie(0);
    if (!own) return own.error();
    // A thread of a daemon that has a cookie itself has no "none" to give.
    if (*own != 0) {
      return Error{Errc::kNotSupported, "core scheduling: koordlet itself has a cookie"};
    }
    return give_to_all(tasks);
  });
}

}  // namespace koordlet::kernel
