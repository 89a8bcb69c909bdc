#include "reactor/inotify.hpp"

#include <cerrno>
#include <cstring>
#include <sys/inotify.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace koordlet::reactor {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kBufferBytes = 16 * 1024;  // about 300 events a read

}  // namespace

Inotify::Inotify(const asio::any_io_executor& ex) : fd_{ex} {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0)
    throw boost::system::system_error{errno, boost::system::system_category(), "inotify_init1"};
  boost::system::error_code ec;
  fd_.assign(fd, ec);
  if (ec) {
    ::close(fd);
    throw boost::system::system_error{ec, "inotify"};
  }
}

Result<void> Inotify::watch(const std::string& dir, std::uint32_t mask) {
  const int wd = ::inotify_add_watch(fd_.native_handle(), dir.c_str(), mask | IN_ONLYDIR);
  if (wd < 0) return errno_error(errno, dir, "inotify watch");
  // The kernel hands out one wd an inode: a second name for it takes the first one's place.
  if (const auto other = by_wd_.find(wd); other != by_wd_.end() && other->second != dir)
    by_dir_.erase(other->second);
  if (const auto former = by_dir_.find(dir); former != by_dir_.end() && former->second != wd) {
    ::inotify_rm_watch(fd_.native_handle(), former->second);  // the directory was made anew
    by_wd_.erase(former->second);
  }
  by_wd_[wd] = dir;
  by_dir_[dir] = wd;
  return {};
}

void Inotify::unwatch(const std::string& dir) {
  const auto found = by_dir_.find(dir);
  if (found == by_dir_.end()) return;
  // Fails only when the directory has just gone, which ends the watch as well.
  ::inotify_rm_watch(fd_.native_handle(), found->second);
  by_wd_.erase(found->second);
  by_dir_.erase(found);
}

void Inotify::take_events(const char* data, std::size_t size, std::vector<Event>& out) {
  for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
    inotify_event head;
    std::memcpy(&head, data + at, sizeof head);
    const char* name = data + at + sizeof head;
    at += sizeof head + head.len;
    if (at > size) return;
    if ((head.mask & IN_Q_OVERFLOW) != 0) {
      out.push_back({"", "", head.mask, true});
      continue;
    }
    const auto found = by_wd_.find(head.wd);
    if (found == by_wd_.end()) continue;  // of a watch that was taken back
    // The kernel pads the name with NUL bytes.
    out.push_back({found->second, std::string(name, ::strnlen(name, head.len)), head.mask, false});
    if ((head.mask & IN_IGNORED) != 0) {
      by_dir_.erase(found->second);
      by_wd_.erase(found);
    }
  }
}

asio::awaitable<Result<std::vector<Inotify::Event>>> Inotify::read() {
  constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
  std::vector<char> bytes(kBufferBytes);
  std::vector<Event> events;
  while (events.empty()) {
    const auto target = asio::buffer(bytes);
    const auto [ec, size] = co_await fd_.async_read_some(target, kUseEc);
    if (ec) co_return errno_error(ec.value(), "inotify", "read");
    take_events(bytes.data(), size, events);
  }
  co_return events;
}

}  // namespace koordlet::reactor
