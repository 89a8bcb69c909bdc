#include "net/ttrpc.hpp"

#include <ttrpc.pb.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/big_endian.hpp"
#include "net/grpc_status.hpp"
#include "net/protobuf.hpp"

namespace koordlet::net {
namespace {

constexpr std::size_t kMostWords = 1024;  // of a status

template <class Message>
bool parse(Message& into, std::string_view body) {
  return body.size() <= kTtrpcMostBody && parse_message(into, body);
}

}  // namespace

std::string ttrpc_bytes(TtrpcType type, std::uint32_t stream, std::string_view body) {
  std::string out;
  out.reserve(kTtrpcHeader + body.size());
  append_u32(out, static_cast<std::uint32_t>(body.size()));
  append_u32(out, stream);
  out += static_cast<char>(type);
  out += '\0';  // no flags
  out += body;
  return out;
}

void TtrpcReader::begin() {
  const auto type = static_cast<TtrpcType>(header_[8]);
  left_ = read_u32(header_, 0);
  message_ = {};
  message_.type = type;
  message_.stream = read_u32(header_, 4);
  message_.oversized = left_ > kTtrpcMostBody;
  const bool known = type == TtrpcType::kRequest || type == TtrpcType::kResponse;
  kept_ = known && !message_.oversized;
}

void TtrpcReader::feed(std::string_view bytes, std::vector<TtrpcMessage>& out) {
  while (!bytes.empty()) {
    if (header_.size() < kTtrpcHeader) {
      const auto part = bytes.substr(0, kTtrpcHeader - header_.size());
      header_ += part;
      bytes.remove_prefix(part.size());
      if (header_.size() < kTtrpcHeader) return;
      begin();
    }
    const auto part = bytes.substr(0, left_);
    if (kept_) message_.body += part;
    bytes.remove_prefix(part.size());
    left_ -= part.size();
    if (left_ != 0) return;
    header_.clear();
    const bool known =
        kept_ || message_.type == TtrpcType::kRequest || message_.type == TtrpcType::kResponse;
    if (known) out.push_back(std::move(message_));
  }
}

Result<void> TtrpcStreams::accept(std::uint32_t stream) {
  if (stream % 2 == 0)
    return Error{Errc::kInvalid, fmt::format("stream {}: expected an odd number", stream)};
  if (stream <= last_)
    return Error{Errc::kInvalid, fmt::format("stream {}: expected one above {}", stream, last_)};
  last_ = stream;
  return {};
}

std::string encode(const TtrpcRequest& request) {
  ttrpc::Request out;
  out.set_service(request.service);
  out.set_method(request.method);
  out.set_payload(request.payload);
  if (request.timeout) out.set_timeout_nano(request.timeout->count());
  return out.SerializeAsString();
}

std::string encode(const TtrpcResponse& response) {
  ttrpc::Response out;
  if (response.status != kStatusOk) {
    out.mutable_status()->set_code(response.status);
    out.mutable_status()->set_message(printable(response.message, kMostWords));
  } else {
    out.set_payload(response.payload);
  }
  if (out.ByteSizeLong() <= kTtrpcMostBody) return out.SerializeAsString();
  return encode(TtrpcResponse{
      kStatusResourceExhausted,
      fmt::format(
          "response: expected at most {} bytes, got {}", kTtrpcMostBody, out.ByteSizeLong()),
      {}});
}

Result<TtrpcRequest> decode_request(std::string_view body) {
  ttrpc::Request in;
  if (!parse(in, body)) return Error{Errc::kParse, "expected a ttrpc Request"};
  if (in.service().empty() || in.method().empty())
    return Error{Errc::kParse, "ttrpc Request: expected a service and a method"};
  TtrpcRequest out;
  out.service = std::move(*in.mutable_service());
  out.method = std::move(*in.mutable_method());
  out.payload = std::move(*in.mutable_payload());
  if (in.timeout_nano() > 0) out.timeout = std::chrono::nanoseconds{in.timeout_nano()};
  return out;
}

Result<TtrpcResponse> decode_response(std::string_view body) {
  ttrpc::Response in;
  if (!parse(in, body)) return Error{Errc::kParse, "expected a ttrpc Response"};
  TtrpcResponse out;
  out.status = in.status().code();
  out.message = in.status().message();
  out.payload = std::move(*in.mutable_payload());
  return out;
}

}  // namespace koordlet::net
