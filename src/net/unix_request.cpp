#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "kernel/fd.hpp"
#include "net/http_server.hpp"

namespace koordlet::net {
namespace http = boost::beast::http;
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kMaxAnswer = 64ULL * 1024 * 1024;
constexpr std::chrono::milliseconds kConnectRetry{10};

struct Peer {
  std::string name;
  Clock::time_point deadline;
  Error late() const { return {Errc::kBusy, name + ": no answer in time"}; }
};

Result<void> wait_for(int fd, short events, const Peer& peer) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(peer.deadline - Clock::now()).count();
    if (left <= 0) return peer.late();
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return errno_error(errno, peer.name, "poll");
  }
}

Result<kernel::Fd> connect_to(const Peer& peer) {
  sockaddr_un at{};
  if (peer.name.empty() || peer.name.size() >= sizeof at.sun_path)
    return Error{Errc::kInvalid,
                 fmt::format("socket '{}': expected a path of 1 to 107 bytes", peer.name)};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, peer.name.data(), peer.name.size());
  kernel::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return errno_error(errno, peer.name, "socket");
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT || errno == ENOTDIR || errno == ENOTSOCK)
      return Error{Errc::kNotFound, peer.name + ": nothing listens there"};
    // A full backlog is EAGAIN and cannot be polled for.
    if (errno != EAGAIN && errno != EINTR) return errno_error(errno, peer.name, "connect");
    if (Clock::now() >= peer.deadline) return peer.late();
    std::this_thread::sleep_for(kConnectRetry);
  }
  return fd;
}

Result<void> send_all(int fd, std::string_view bytes, const Peer& peer) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    // The server may have answered and closed before it read everything.
    if (errno == EPIPE) return {};
    if (errno != EAGAIN && errno != EINTR) return errno_error(errno, peer.name, "send");
    const auto ready = wait_for(fd, POLLOUT, peer);
    if (!ready) return ready.error();
  }
  return {};
}

/// Feeds the parser until the message is whole.
Result<void> receive(int fd, http::response_parser<http::string_body>& parser, const Peer& peer) {
  std::array<char, 65536> chunk;
  std::string unread;
  while (!parser.is_done()) {
    const ssize_t size = ::recv(fd, chunk.data(), chunk.size(), 0);
    if (size < 0 && errno != EAGAIN && errno != EINTR)
      return errno_error(errno, peer.name, "receive");
    if (size < 0) {
      const auto ready = wait_for(fd, POLLIN, peer);
      if (!ready) return ready.error();
      continue;
    }
    if (Clock::now() >= peer.deadline) return peer.late();
    boost::system::error_code ec;
    if (size == 0) {
      if (parser.got_some()) parser.put_eof(ec);  // Beast asserts it
      if (ec || !parser.is_done())
        return Error{Errc::kParse, peer.name + ": the answer ends early"};
      return {};
    }
    unread.append(chunk.data(), static_cast<std::size_t>(size));
    while (!unread.empty() && !parser.is_done()) {
      const std::size_t used = parser.put(boost::asio::buffer(unread), ec);
      unread.erase(0, used);
      if (ec == http::error::need_more || used == 0) break;
      if (ec) break;
    }
    if (ec && ec != http::error::need_more)
      return Error{Errc::kParse,
                   fmt::format("{}: not an HTTP answer: {}", peer.name, ec.message())};
  }
  return {};
}

bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= 16 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool is_target(std::string_view text) {
  return text.starts_with('/') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x21 && c <= 0x7e; });
}

}  // namespace

Result<HttpResponse> unix_request(const std::string& socket,
                                  const std::string& method,
                                  const std::string& target,
                                  std::chrono::milliseconds timeout) {
  if (!is_token(method) || !is_target(target))
    return Error{Errc::kInvalid,
                 fmt::format("request '{} {}': not a request line", method, target)};
  const Peer peer{socket, Clock::now() + timeout};
  const auto fd = connect_to(peer);
  if (!fd) return fd.error();
  const std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
      method,
      target);
  const auto sent = send_all(fd->get(), request, peer);
  if (!sent) return sent.error();

  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(kMaxAnswer);
  parser.skip(method == "HEAD");
  const auto received = receive(fd->get(), parser, peer);
  if (!received) return received.error();
  auto& message = parser.get();
  const auto type = message[http::field::content_type];
  return HttpResponse{
      message.result_int(), std::string{type.data(), type.size()}, std::move(message.body())};
}

}  // namespace koordlet::net
