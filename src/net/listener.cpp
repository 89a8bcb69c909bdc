#include "net/listener.hpp"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
namespace {

constexpr int kBacklog = 128;

Result<asio::ip::tcp::endpoint> parse_address(const std::string& text) {
  const Error fault{Errc::kParse,
                    fmt::format("listen '{}': expected 127.0.0.1:PORT or [::1]:PORT", text)};
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return fault;
  const auto port = parse_u64(std::string_view{text}.substr(colon + 1));
  if (!port || *port > 65535) return fault;
  std::string host = text.substr(0, colon);
  const bool v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (v6) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  boost::system::error_code ec;
  const auto address = asio::ip::make_address(host, ec);
  if (ec || address.is_v6() != v6) return fault;
  if (!address.is_loopback())
    return Error{Errc::kDenied,
                 fmt::format("listen '{}': only loopback addresses are allowed", text)};
  return asio::ip::tcp::endpoint{address, static_cast<unsigned short>(*port)};
}

std::string to_text(const asio::ip::tcp::endpoint& at) {
  return at.address().is_v6() ? fmt::format("[{}]:{}", at.address().to_string(), at.port())
                              : fmt::format("{}:{}", at.address().to_string(), at.port());
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un out{};
  if (path.empty() || path.size() >= sizeof out.sun_path)
    return Error{Errc::kRange, fmt::format("socket '{}': expected a path of 1 to 107 bytes", path)};
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

Result<void> make_parents(const std::string& path) {
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const auto folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS)
      return errno_error(errno, folder, "mkdir");
  }
  return {};
}

/// Makes way for a new socket at `path`: removes one that nobody serves any more.
Result<void> clear_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return errno_error(errno, path, "stat");
  }
  if (!S_ISSOCK(info.st_mode)) return Error{Errc::kInvalid, path + ": exists and is not a socket"};
  const kernel::Fd probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!probe) return errno_error(errno, path, "socket");
  const auto* target = reinterpret_cast<const sockaddr*>(&address);
  // EAGAIN: its backlog is full, so somebody does serve it.
  if (::connect(probe.get(), target, sizeof address) == 0 || errno == EAGAIN)
    return Error{Errc::kBusy, path + ": another process is listening there"};
  if (errno != ECONNREFUSED) return errno_error(errno, path, "connect");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error(errno, path, "unlink");
  return {};
}

Result<void> bind_and_listen(int fd, const sockaddr* at, socklen_t size, const std::string& name) {
  if (::bind(fd, at, size) != 0 || ::listen(fd, kBacklog) != 0) {
    if (errno == EADDRINUSE) return Error{Errc::kBusy, name + ": address already in use"};
    return errno_error(errno, name, "listen");
  }
  return {};
}

}  // namespace

Listener::Listener(Listener&& o) noexcept
    : fd_{std::move(o.fd_)},
      address_{std::move(o.address_)},
      path_{std::exchange(o.path_, {})},
      device_{o.device_},
      inode_{o.inode_} {}

Listener::~Listener() {
  if (path_.empty()) return;
  // A successor may have put its own socket there: that one stays.
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
    ::unlink(path_.c_str());
}

Result<void> Listener::take(int fd) {
  boost::system::error_code ec;
  fd_.assign(fd, ec);
  if (!ec) return {};
  ::close(fd);
  return errno_error(ec.value(), address_, "watch");
}

Result<Listener> Listener::tcp(const asio::any_io_executor& ex, const std::string& address) {
  const auto at = parse_address(address);
  if (!at) return at.error();
  kernel::Fd fd{::socket(at->protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return errno_error(errno, address, "socket");
  // A restart need not wait for the last connections' TIME_WAIT; a live listener still refuses us.
  const int on = 1;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
    return errno_error(errno, address, "SO_REUSEADDR");
  const auto bound =
      bind_and_listen(fd.get(), at->data(), static_cast<socklen_t>(at->size()), address);
  if (!bound) return bound.error();
  asio::ip::tcp::endpoint actual;
  auto size = static_cast<socklen_t>(actual.capacity());
  if (::getsockname(fd.get(), actual.data(), &size) != 0)
    return errno_error(errno, address, "getsockname");
  actual.resize(size);

  Listener out{ex};
  out.address_ = to_text(actual);
  const auto taken = out.take(fd.release());
  if (!taken) return taken.error();
  return out;
}

Result<Listener> Listener::unix_socket(const asio::any_io_executor& ex, const std::string& path) {
  const auto at = unix_address(path);
  if (!at) return at.error();
  const auto parents = make_parents(path);
  if (!parents) return parents.error();
  const auto clear = clear_stale(path, *at);
  if (!clear) return clear.error();
  kernel::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return errno_error(errno, path, "socket");
  // bind() takes the file's mode from the socket: there is no moment with wider rights.
  if (::fchmod(fd.get(), 0600) != 0) return errno_error(errno, path, "chmod 0600");
  const auto bound =
      bind_and_listen(fd.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at, path);
  if (!bound) return bound.error();

  Listener out{ex};
  out.address_ = path;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_error(errno, path, "stat");
  out.path_ = path;
  out.device_ = info.st_dev;
  out.inode_ = info.st_ino;
  const auto taken = out.take(fd.release());
  if (!taken) return taken.error();
  return out;
}

}  // namespace koordlet::net
