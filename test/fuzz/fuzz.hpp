#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Shared by the fuzz targets: each is one program whose LLVMFuzzerTestOneInput is called with
/// bytes, and which ends the process when a rule does not hold of them.
namespace koordlet::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process when `holds` is false; `rule` says what should have been.
inline void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "rule broken: %s\n", rule);
  std::abort();
}

/// Numbers and pieces off the front of an input: zeros and empty pieces when it is used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_{bytes} {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto out = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return out;
  }
  std::uint64_t number(int bytes = 8) {
    std::uint64_t out = 0;
    for (int i = 0; i < bytes; ++i) out = out << 8 | byte();
    return out;
  }
  /// 0 to `below` - 1.
  std::size_t index(std::size_t below) { return below == 0 ? 0 : number(2) % below; }
  bool flag() { return (byte() & 1) != 0; }
  /// Its length is the first byte.
  std::string_view piece() {
    const auto out = rest_.substr(0, byte());
    rest_.remove_prefix(out.size());
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace koordlet::fuzz
