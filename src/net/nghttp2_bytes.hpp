#pragma once

#include <cstdint>
#include <nghttp2/nghttp2.h>
#include <string>
#include <string_view>
#include <vector>

#include "net/http2_client.hpp"

/// Between nghttp2's pointers and our texts.
namespace koordlet::net {

/// Points into `headers`, in their order.
inline std::vector<nghttp2_nv> fields_of(const Http2Headers& headers) {
  const auto bytes = [](const std::string& s) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(s.data()));
  };
  std::vector<nghttp2_nv> out;
  out.reserve(headers.size());
  for (const auto& [name, value] : headers)
    out.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  return out;
}

inline std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// What the session has to send, about 256 KiB at most, in the place of `out`. 0, or nghttp2's
/// error.
inline int fill_outbox(nghttp2_session* session, std::string& out) {
  constexpr std::size_t kOutbox = 256 * 1024;  // bytes handed to one write
  out.clear();
  while (out.size() < kOutbox) {
    const std::uint8_t* data = nullptr;
    const auto n = nghttp2_session_mem_send(session, &data);
    if (n < 0) return static_cast<int>(n);
    if (n == 0) break;
    out.append(view(data, static_cast<std::size_t>(n)));
  }
  return 0;
}

}  // namespace koordlet::net
