#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "net/http2_client.hpp"

/// What a proxy must know of the headers of gRPC. Pure.
namespace koordlet::net {

/// Value of grpc-timeout: 1 to 8 digits and one of H, M, S, m, u, n. nullopt: anything else, and 0.
std::optional<std::chrono::nanoseconds> parse_grpc_timeout(std::string_view text);
/// The finest unit that holds it in 8 digits, rounded down; at least "1n".
std::string exact_grpc_timeout(std::chrono::nanoseconds timeout);
/// `text` as grpc-message carries it: bytes outside of 0x20..0x7e, and '%', become "%XX".
std::string grpc_escape(std::string_view text);
/// Without those that are about one connection only (RFC 9113, 8.2.2).
Http2Headers without_hop_headers(Http2Headers headers);
/// An answer that is nothing but a status ("Trailers-Only").
Http2Headers grpc_status_only(int status, std::string_view words);
/// The same behind an answer that has begun.
Http2Headers grpc_trailers(int status, std::string_view words);

}  // namespace koordlet::net
