#pragma once

#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "net/http2_client.hpp"

namespace koordlet::net {

inline constexpr std::size_t kGrpcPrefix = 5;  ///< bytes before each message

/// One message as gRPC frames it: a flag byte (0: not compressed), 4 bytes of length in network
/// order, the message.
std::string grpc_frame(std::string_view message);
/// The one message of a unary answer. kParse: shorter or longer than its prefix says, or
/// compressed.
Result<std::string> grpc_unframe(std::string_view prefix, std::string message);
/// "%20" and the like of grpc-message, undone; what is no escape stays.
std::string grpc_unescape(std::string_view text);
/// Value of the header grpc-timeout: at most 8 digits and a unit; never 0.
std::string grpc_timeout(std::chrono::milliseconds timeout);
/// The message, or the call's status as an error.
Result<std::string> grpc_message_of(Http2Answer answer);

/// Unary call: `path` is "/package.Service/Method". Errors: those of Http2Client, and the call's
/// status as a code: UNIMPLEMENTED kNotSupported, NOT_FOUND kNotFound, PERMISSION_DENIED and
/// UNAUTHENTICATED kDenied, INVALID_ARGUMENT kInvalid, OUT_OF_RANGE kRange, DEADLINE_EXCEEDED,
/// UNAVAILABLE and RESOURCE_EXHAUSTED kBusy, others kIo; an HTTP error without a status counts as
/// the status that gRPC gives it. kParse: no gRPC answer. The context names path and status.
boost::asio::awaitable<Result<std::string>> grpc_call(Http2Client& client,
                                                      std::string path,
                                                      std::string message,
                                                      std::chrono::milliseconds timeout);

}  // namespace koordlet::net
