#include "net/grpc_client.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/grpc_status.hpp"
#include "net/unix_connect.hpp"

namespace koordlet::net {
namespace {

constexpr std::size_t kShownWords = 200;
constexpr std::uint64_t kUnknown = 2, kUnauthenticated = 16;

/// The status that an HTTP status stands for when the peer (a plain web server) gives none.
std::uint64_t status_of_http(unsigned http) {
  switch (http) {
    case 400:
      return 13;
    case 401:
      return kUnauthenticated;
    case 403:
      return 7;
    case 404:
      return 12;
    case 429:
    case 502:
    case 503:
    case 504:
      return 14;
    default:
      return kUnknown;
  }
}

/// `prefix` is whole.
std::size_t message_size(std::string_view prefix) {
  std::uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(prefix[1 + i]);
  return size;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string grpc_frame(std::string_view message) {
  std::string out(kGrpcPrefix, '\0');
  const auto size = static_cast<std::uint32_t>(message.size());
  for (int i = 0; i < 4; ++i) out[1 + i] = static_cast<char>(size >> (24 - 8 * i));
  out += message;
  return out;
}

Result<std::string> grpc_unframe(std::string_view prefix, std::string message) {
  if (prefix.size() != kGrpcPrefix)
    return Error{Errc::kParse, fmt::format("expected a message, got {} bytes", prefix.size())};
  if (prefix[0] != 0) return Error{Errc::kParse, "expected a message that is not compressed"};
  const auto size = message_size(prefix);
  if (message.size() == size) return message;
  return Error{Errc::kParse,
               fmt::format("expected a message of {} bytes, got {}", size, message.size())};
}

std::string grpc_unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

std::string grpc_timeout(std::chrono::milliseconds timeout) {
  constexpr std::int64_t kMost = 99'999'999;
  const auto ms = std::max<std::int64_t>(1, timeout.count());
  if (ms <= kMost) return fmt::format("{}m", ms);
  return fmt::format("{}S", std::min(kMost, ms / 1000));
}

Result<std::string> grpc_message_of(Http2Answer answer) {
  const auto* status = find_header(answer.trailers, "grpc-status");
  const auto* words = find_header(answer.trailers, "grpc-message");
  if (status == nullptr) {  // an answer of one header block has them there
    status = find_header(answer.headers, "grpc-status");
    words = find_header(answer.headers, "grpc-message");
  }
  if (status == nullptr && answer.status == 200)
    return Error{Errc::kParse, "expected a grpc-status"};
  if (status == nullptr) {
    return Error{errc_of_status(status_of_http(answer.status)),
                 fmt::format("expected a grpc-status, got HTTP {}", answer.status)};
  }
  const auto code = parse_u64(*status);
  if (!code) {
    return Error{
        Errc::kParse,
        fmt::format("grpc-status: expected a number, got '{}'", printable(*status, kShownWords))};
  }
  if (*code == 0) return grpc_unframe(answer.prefix, std::move(answer.body));
  auto shown = fmt::format("status {}", *code);
  if (words != nullptr) shown += ": " + printable(grpc_unescape(*words), kShownWords);
  return Error{errc_of_status(*code), shown};
}

boost::asio::awaitable<Result<std::string>> grpc_call(Http2Client& client,
                                                      std::string path,
                                                      std::string message,
                                                      std::chrono::milliseconds timeout) {
  Http2Request request;
  request.path = path;
  request.headers = {{"content-type", "application/grpc"},
                     {"te", "trailers"},
                     {"grpc-timeout", grpc_timeout(timeout)}};
  request.body = grpc_frame(message);
  request.timeout = timeout;
  request.prefix = kGrpcPrefix;
  request.size_after = &message_size;
  auto answer = co_await client.post(std::move(request));
  if (!answer) co_return wrap(path, answer.error());
  auto out = grpc_message_of(std::move(*answer));
  if (!out) co_return wrap(path, out.error());
  co_return out;
}

}  // namespace koordlet::net
