#include "net/grpc_client.hpp"

#include <charconv>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::net {
namespace {

constexpr std::size_t kPrefix = 5;
constexpr std::size_t kShownMessage = 200;

Errc code_of(std::uint64_t status) {
  switch (status) {
    case 3:  // INVALID_ARGUMENT
      return Errc::kInvalid;
    case 4:   // DEADLINE_EXCEEDED
    case 8:   // RESOURCE_EXHAUSTED
    case 14:  // UNAVAILABLE
      return Errc::kBusy;
    case 5:  // NOT_FOUND
      return Errc::kNotFound;
    case 7:   // PERMISSION_DENIED
    case 16:  // UNAUTHENTICATED
      return Errc::kDenied;
    case 12:  // UNIMPLEMENTED
      return Errc::kNotSupported;
    default:
      return Errc::kIo;
  }
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// The status stands in the trailers, or in the headers of an answer without a body.
Result<std::string> message_of(const Http2Answer& answer) {
  if (answer.status != 200)
    return Error{Errc::kIo, fmt::format("expected HTTP 200, got {}", answer.status)};
  const auto* status = find_header(answer.trailers, "grpc-status");
  const auto* text = find_header(answer.trailers, "grpc-message");
  if (status == nullptr) {
    status = find_header(answer.headers, "grpc-status");
    text = find_header(answer.headers, "grpc-message");
  }
  if (status == nullptr) return Error{Errc::kParse, "expected a grpc-status"};
  const auto code = parse_u64(*status);
  if (!code) return Error{Errc::kParse, fmt::format("grpc-status: {}", code.error().context)};
  if (*code == 0) return grpc_unframe(answer.body);
  return Error{code_of(*code),
               fmt::format("status {}{}{}",
                           *code,
                           text != nullptr ? ": " : "",
                           text != nullptr ? grpc_unescape(*text).substr(0, kShownMessage) : "")};
}

}  // namespace

std::string grpc_frame(std::string_view message) {
  std::string out(kPrefix, '\0');
  const auto size = static_cast<std::uint32_t>(message.size());
  for (int i = 0; i < 4; ++i) out[1 + i] = static_cast<char>(size >> (24 - 8 * i));
  out += message;
  return out;
}

Result<std::string> grpc_unframe(std::string_view body) {
  if (body.size() < kPrefix)
    return Error{Errc::kParse, fmt::format("expected a message, got {} bytes", body.size())};
  if (body[0] != 0) return Error{Errc::kParse, "expected a message that is not compressed"};
  std::uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(body[1 + i]);
  if (body.size() - kPrefix != size) {
    return Error{
        Errc::kParse,
        fmt::format("expected a message of {} bytes, got {}", size, body.size() - kPrefix)};
  }
  return std::string{body.substr(kPrefix)};
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

boost::asio::awaitable<Result<std::string>> grpc_call(Http2Client& client,
                                                      std::string path,
                                                      std::string message,
                                                      std::chrono::milliseconds timeout) {
  Http2Request request;
  request.path = path;
  request.headers = {{"content-type", "application/grpc"},
                     {"te", "trailers"},
                     {"grpc-timeout", fmt::format("{}m", timeout.count())}};
  request.body = grpc_frame(message);
  auto answer = co_await client.post(std::move(request));
  if (!answer) co_return wrap(path, answer.error());
  auto out = message_of(*answer);
  if (!out) co_return wrap(path, out.error());
  co_return out;
}

}  // namespace koordlet::net
