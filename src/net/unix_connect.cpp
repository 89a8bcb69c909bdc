#include "net/unix_connect.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::net {
namespace asio = boost::asio;

Result<asio::local::stream_protocol::socket> connect_unix(const asio::any_io_executor& ex,
                                                          const std::string& path) {
  sockaddr_un at{};
  if (path.empty() || path.size() >= sizeof at.sun_path || path.find('\0') != std::string::npos) {
    return Error{Errc::kRange,
                 fmt::format("socket '{}': expected a path of 1 to {} bytes",
                             printable(path, sizeof at.sun_path),
                             sizeof at.sun_path - 1)};
  }
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.data(), path.size());
  kernel::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return errno_error(errno, path, "socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    if (errno == ECONNREFUSED) return Error{Errc::kBusy, path + ": nobody listens there"};
    return errno_error(errno, path, "connect");
  }
  asio::local::stream_protocol::socket out{ex};
  boost::system::error_code ec;
  out.assign(asio::local::stream_protocol{}, fd.get(), ec);
  if (ec) return Error{Errc::kIo, fmt::format("{}: socket: {}", path, ec.message())};
  fd.release();
  return out;
}

}  // namespace koordlet::net
