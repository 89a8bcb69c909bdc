#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// The framing of the NRI socket: several connections share one stream of bytes. A frame is
/// u32 connection, u32 length (both big endian), payload. Borders of frames mean nothing to what
/// they carry. Pure.
namespace koordlet::net {

/// The peer copies a frame into a buffer of this size and gives the connection up when it does not
/// fit.
inline constexpr std::size_t kMuxMostWritten = 4096;
/// Of a frame that is read: the longest message of ttrpc with its header.
inline constexpr std::size_t kMuxMostRead = 4'194'304 + 10;

/// Puts `payload` onto `out` as frames of at most kMuxMostWritten bytes; nothing when it is empty.
void append_mux_frames(std::string& out, std::uint32_t connection, std::string_view payload);

/// Bytes of one connection; they point into what was fed.
struct MuxPart {
  std::uint32_t connection = 0;
  std::string_view bytes;
};

/// Takes frames apart as they come. Keeps only the header that it is in the middle of: payload is
/// handed on at once.
class MuxReader {
 public:
  /// Puts the payload in `bytes` onto `out`, in order. kRange: a frame longer than kMuxMostRead;
  /// the stream cannot be read on.
  Result<void> feed(std::string_view bytes, std::vector<MuxPart>& out);

 private:
  std::string header_;  ///< its bytes so far
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  ///< payload bytes to come
};

}  // namespace koordlet::net
