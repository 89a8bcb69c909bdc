#include "support/http_fixture.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <filesystem>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace koordlet::test {

void RunningServer::start(const Prepare& prepare) {
  const auto ready = prepare(server_);
  if (!ready) throw std::runtime_error{ready.error().context};
  group_.spawn("server", server_.run());
  thread_ = std::thread{[this] { io_.run(); }};
}

bool RunningServer::stop() {
  if (!thread_.joinable()) return true;
  boost::asio::post(io_, [this] { group_.request_stop(); });
  thread_.join();  // the loop runs dry only when every task and session has ended
  return group_.live() == 0;
}

RunningServer::~RunningServer() { stop(); }

int RunningServer::port() const {
  const auto text = address();
  return std::stoi(text.substr(text.rfind(':') + 1));
}

Client::Client(int fd) : fd_{fd} {
  const timeval limit{10, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Client::~Client() {
  if (fd_ >= 0) ::close(fd_);
}

Client Client::tcp(int port) {
  Client out{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (port != 0 && !out.connect(port))
    throw std::runtime_error{"connect: " + std::string{std::strerror(errno)}};
  return out;
}

bool Client::connect(int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

Client Client::unix_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.data(), path.size());
  Client out{fd};
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    throw std::runtime_error{"connect: " + std::string{std::strerror(errno)}};
  return out;
}

void Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool Client::more() {
  std::array<char, 65536> chunk;
  const ssize_t size = ::recv(fd_, chunk.data(), chunk.size(), 0);
  if (size <= 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  return true;
}

Client::Answer Client::read(bool with_body) {
  std::size_t end = std::string::npos;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return {};
  Answer out;
  out.head = buffer_.substr(0, end + 4);
  buffer_.erase(0, end + 4);
  static const std::string kLength = "Content-Length: ";
  const auto at = out.head.find(kLength);
  const std::size_t length =
      with_body && at != std::string::npos ? std::stoul(out.head.substr(at + kLength.size())) : 0;
  while (buffer_.size() < length)
    if (!more()) return {};
  out.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  out.status = std::stoi(out.head.substr(9, 3));
  return out;
}

bool Client::closed() {
  if (!buffer_.empty()) return false;
  std::array<char, 1> byte{};
  const ssize_t size = ::recv(fd_, byte.data(), byte.size(), 0);
  return size == 0 || (size < 0 && errno == ECONNRESET);
}

net::HttpResponse echo(const net::HttpRequest& request) {
  return {200,
          "text/plain",
          request.method + " " + request.path + "?" + request.query + "|" + request.host + "|" +
              request.body + "|" + (request.unix_socket ? "unix" : "tcp")};
}

std::string get(std::string_view target, std::string_view host) {
  return "GET " + std::string{target} + " HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n";
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    ++count;
  return count;
}

}  // namespace koordlet::test
