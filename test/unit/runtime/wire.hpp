#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

/// Protobuf by hand, so that tests do not take the numbers of the fields from the code they test.
namespace koordlet::test {

class WireMessage {
 public:
  WireMessage& number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  WireMessage& bytes(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  WireMessage& part(std::uint32_t field, const WireMessage& value) {
    return bytes(field, value.bytes_);
  }
  WireMessage& raw(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  /// map<string, string>
  WireMessage& entry(std::uint32_t field, std::string_view key, std::string_view value) {
    return part(field, WireMessage{}.bytes(1, key).bytes(2, value));
  }
  /// A message UInt64Value.
  WireMessage& boxed(std::uint32_t field, std::uint64_t value) {
    return part(field, value == 0 ? WireMessage{} : WireMessage{}.number(1, value));
  }
  const std::string& str() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

/// One entry of ListContainerStatsResponse as containerd fills it; its figures grow with `n`.
inline WireMessage container_entry(int n) {
  const auto text = std::to_string(n);
  const auto at = 1'700'000'000'000'000'000u + static_cast<std::uint64_t>(n);
  const auto attributes = WireMessage{}
                              .bytes(1, "id" + text)
                              .part(2, WireMessage{}.bytes(1, "app").number(2, 1))
                              .entry(3, "io.kubernetes.container.name", "app")
                              .entry(3, "io.kubernetes.pod.name", "pod-" + text)
                              .entry(3, "io.kubernetes.pod.namespace", "default")
                              .entry(3, "io.kubernetes.pod.uid", "uid-" + text)
                              .entry(4, "io.kubernetes.container.hash", "5f1c2a9e")
                              .entry(4, "io.kubernetes.container.restartCount", "0");
  const auto cpu = WireMessage{}.number(1, at).boxed(2, 1000u + n).boxed(3, 7);
  const auto memory = WireMessage{}
                          .number(1, at)
                          .boxed(2, 2000u + n)
                          .boxed(3, 11)
                          .boxed(4, 3000u + n)
                          .boxed(5, 4000u + n)
                          .boxed(6, 13)
                          .boxed(7, 17);
  const auto layer = WireMessage{}
                         .number(1, at)
                         .part(2, WireMessage{}.bytes(1, "/var/lib/containerd/snapshots"))
                         .boxed(3, 20480)
                         .boxed(4, 12);
  return WireMessage{}.part(1, attributes).part(2, cpu).part(3, memory).part(4, layer);
}

}  // namespace koordlet::test
