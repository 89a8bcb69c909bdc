#include "kernel/flat_keyed.hpp"

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::kernel {

Result<void> read_keys(std::string_view text, std::span<WantedKey> wanted) {
  auto left = wanted.size();
  while (left > 0) {
    const auto line = next_line(text);
    if (!line) break;
    const auto blank = line->find(' ');
    const auto key = line->substr(0, blank);
    for (auto& want : wanted) {
      if (want.value || want.key != key) continue;
      const auto rest = blank == std::string_view::npos ? std::string_view{} : line->substr(blank);
      const auto n = parse_u64(trim(rest));
      if (!n) return Error{Errc::kParse, fmt::format("{}: {}", want.key, n.error().context)};
      want.value = *n;
      --left;
      break;
    }
  }
  return {};
}

Result<void> require_all(std::span<const WantedKey> wanted) {
  for (const auto& want : wanted) {
    if (!want.value) return Error{Errc::kParse, fmt::format("expected the key {}", want.key)};
  }
  return {};
}

}  // namespace koordlet::kernel
