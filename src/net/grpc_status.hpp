#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace koordlet::net {

/// Status codes of gRPC, which ttrpc shares; those that koordlet says itself.
inline constexpr int kStatusOk = 0;
inline constexpr int kStatusDeadlineExceeded = 4;
inline constexpr int kStatusUnknown = 2;
inline constexpr int kStatusInvalidArgument = 3;
inline constexpr int kStatusResourceExhausted = 8;
inline constexpr int kStatusUnimplemented = 12;
inline constexpr int kStatusInternal = 13;
inline constexpr int kStatusUnavailable = 14;

/// UNIMPLEMENTED kNotSupported, NOT_FOUND kNotFound, PERMISSION_DENIED and UNAUTHENTICATED kDenied,
/// INVALID_ARGUMENT kInvalid, OUT_OF_RANGE kRange, DEADLINE_EXCEEDED, UNAVAILABLE and
/// RESOURCE_EXHAUSTED kBusy, others kIo.
Errc errc_of_status(std::uint64_t status);

}  // namespace koordlet::net
