#include "reactor/psi_trigger.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <optional>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace koordlet::reactor {
namespace asio = boost::asio;

struct PsiTrigger::State : std::enable_shared_from_this<State> {
  State(const asio::any_io_executor& ex, std::string what)
      : fd{ex}, wake{ex, asio::steady_timer::time_point::max()}, name{std::move(what)} {}

  asio::posix::stream_descriptor fd;
  asio::steady_timer wake;  ///< cancelled when there is news for wait()
  std::string name;
  std::uint64_t events = 0;
  bool pending = false;
  std::optional<Error> ended;

  void arm() {
    // Weak: the trigger owns its descriptor, not the other way round.
    fd.async_wait(asio::posix::descriptor_base::wait_error,
                  [weak = weak_from_this()](const boost::system::error_code& ec) {
                    if (const auto self = weak.lock()) self->woken(ec);
                  });
  }

  void end(Error why) {
    ended = std::move(why);
    boost::system::error_code ignored;
    fd.close(ignored);
    wake.cancel();
  }

  void woken(const boost::system::error_code& ec) {
    if (ended || !fd.is_open()) return;
    if (ec) return end(errno_error(ec.value(), name, "wait for pressure"));
    // epoll reports the end of the source and an event through the same wait.
    pollfd probe{fd.native_handle(), POLLPRI, 0};
    const int ready = ::poll(&probe, 1, 0);
    if (ready > 0 && (probe.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
      return end({Errc::kGone, name + ": the pressure file is gone"});
    ++events;
    pending = true;
    arm();
    wake.cancel();
  }
};

namespace {
/// A trigger in a recorded tree would be a write into somebody's file.
bool is_pressure_file(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return false;
  const auto type = static_cast<unsigned long>(fs.f_type);
  return type == PROC_SUPER_MAGIC || type == CGROUP_SUPER_MAGIC || type == CGROUP2_SUPER_MAGIC;
}
}  // namespace

PsiTrigger::PsiTrigger(std::shared_ptr<State> state) : state_{std::move(state)} {}
PsiTrigger::PsiTrigger(PsiTrigger&&) noexcept = default;
PsiTrigger& PsiTrigger::operator=(PsiTrigger&&) noexcept = default;
PsiTrigger::~PsiTrigger() = default;

Result<PsiTrigger> PsiTrigger::adopt(const asio::any_io_executor& ex, int fd, std::string name) {
  auto state = std::make_shared<State>(ex, std::move(name));
  boost::system::error_code ec;
  state->fd.assign(fd, ec);
  if (ec) {
    ::close(fd);
    return errno_error(ec.value(), state->name, "watch");
  }
  state->arm();
  return PsiTrigger{std::move(state)};
}

Result<PsiTrigger> PsiTrigger::open(const asio::any_io_executor& ex,
                                    const std::string& path,
                                    const std::string& trigger) {
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno_error(errno, path, "open");
  if (!is_pressure_file(fd)) {
    ::close(fd);
    return Error{Errc::kNotSupported, path + ": not a pressure file of the kernel"};
  }
  // The kernel cuts the last byte off: the text ends with the NUL.
  const ssize_t written = ::write(fd, trigger.c_str(), trigger.size() + 1);
  if (written < 0) {
    const int err = errno;
    ::close(fd);
    return errno_error(err, path, "write trigger '" + trigger + "'");
  }
  return adopt(ex, fd, path);
}

asio::awaitable<Result<void>> PsiTrigger::wait() {
  constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
  const auto state = state_;
  if (!state->pending && !state->ended) {
    co_await state->wake.async_wait(kUseEc);
    if (!state->pending && !state->ended)
      co_return errno_error(ECANCELED, state->name, "wait for pressure");
  }
  Result<void> event;
  if (!std::exchange(state->pending, false)) event = *state->ended;
  co_return event;
}

std::uint64_t PsiTrigger::events() const { return state_->events; }

}  // namespace koordlet::reactor
