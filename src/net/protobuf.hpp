#pragma once

#include <google/protobuf/stubs/logging.h>
#include <limits>
#include <string_view>

namespace koordlet::net {

/// Switches protobuf's own log off in this process: bytes of a peer that are no message, or no
/// UTF-8, are the reader's to name.
inline void silence_protobuf() {
  static const bool once = [] {
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  static_cast<void>(once);
}

/// False: the bytes are no such message; `into` is then of no use.
template <class Message>
bool parse_message(Message& into, std::string_view bytes) {
  silence_protobuf();
  return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         into.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace koordlet::net
