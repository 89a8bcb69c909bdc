#include "net/nri_mux.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "net/big_endian.hpp"

namespace koordlet::net {
namespace {

constexpr std::size_t kHeader = 8;

}  // namespace

void append_mux_frames(std::string& out, std::uint32_t connection, std::string_view payload) {
  while (!payload.empty()) {
    const auto part = payload.substr(0, kMuxMostWritten);
    append_u32(out, connection);
    append_u32(out, static_cast<std::uint32_t>(part.size()));
    out += part;
    payload.remove_prefix(part.size());
  }
}

Result<void> MuxReader::feed(std::string_view bytes, std::vector<MuxPart>& out) {
  while (!bytes.empty()) {
    if (left_ == 0) {
      const auto part = bytes.substr(0, kHeader - header_.size());
      header_ += part;
      bytes.remove_prefix(part.size());
      if (header_.size() < kHeader) return {};
      connection_ = read_u32(header_, 0);
      left_ = read_u32(header_, 4);
      header_.clear();
      if (left_ > kMuxMostRead) {
        return Error{Errc::kRange,
                     fmt::format("frame of connection {}: expected at most {} bytes, got {}",
                                 connection_,
                                 kMuxMostRead,
                                 left_)};
      }
      continue;
    }
    const auto part = bytes.substr(0, left_);
    out.push_back({connection_, part});
    bytes.remove_prefix(part.size());
    left_ -= part.size();
  }
  return {};
}

}  // namespace koordlet::net
