#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// ttrpc, as far as calls with one request and one response need it: a 10-byte header (u32 length,
/// u32 stream, both big endian; u8 type, u8 flags) and a protobuf message. Pure.
namespace koordlet::net {

inline constexpr std::size_t kTtrpcHeader = 10;
inline constexpr std::size_t kTtrpcMostBody = 4'194'304;

enum class TtrpcType : std::uint8_t { kRequest = 1, kResponse = 2 };

struct TtrpcMessage {
  TtrpcType type = TtrpcType::kRequest;
  std::uint32_t stream = 0;
  std::string body;
  /// The body was longer than kTtrpcMostBody and was thrown away; the messages behind it are whole.
  bool oversized = false;
};

/// `body` has at most kTtrpcMostBody bytes.
std::string ttrpc_bytes(TtrpcType type, std::uint32_t stream, std::string_view body);

/// Takes messages apart as they come. Keeps one that is not complete, so at most kTtrpcMostBody and
/// only what came of it; messages of other types (data of streams) are skipped, not kept. Flags
/// mean nothing to calls with one request and one response.
class TtrpcReader {
 public:
  void feed(std::string_view bytes, std::vector<TtrpcMessage>& out);

 private:
  void begin();

  std::string header_;  ///< its bytes so far; whole while the body comes
  std::size_t left_ = 0;
  bool kept_ = false;  ///< what comes of the body is
  TtrpcMessage message_;
};

/// A client numbers its streams 1, 3, 5, ...: rising, never again.
class TtrpcStreams {
 public:
  /// kInvalid: even, or not above all that came before.
  Result<void> accept(std::uint32_t stream);

 private:
  std::uint32_t last_ = 0;
};

struct TtrpcRequest {
  std::string service;
  std::string method;
  std::string payload;
  std::optional<std::chrono::nanoseconds> timeout = {};  ///< above 0
  friend bool operator==(const TtrpcRequest&, const TtrpcRequest&) = default;
};
struct TtrpcResponse {
  int status = 0;       ///< a code of gRPC; 0: OK
  std::string message;  ///< of the status
  std::string payload;
  friend bool operator==(const TtrpcResponse&, const TtrpcResponse&) = default;
};

std::string encode(const TtrpcRequest& request);
/// The status' message is cut to 1 KiB of printable text. A response above kTtrpcMostBody becomes
/// status 8.
std::string encode(const TtrpcResponse& response);
/// kParse: no such message, or a request without service or method.
Result<TtrpcRequest> decode_request(std::string_view body);
Result<TtrpcResponse> decode_response(std::string_view body);

}  // namespace koordlet::net
