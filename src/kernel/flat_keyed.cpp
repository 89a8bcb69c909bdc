#include "kernel/flat_keyed.hpp"

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/lines.hpp"

namespace koordlet::kernel {

namespace {

/// "key 12" or "key" alone; the blank is looked at first, for it is seldom at that place in a line
/// of another key.
bool is_line_of(std::string_view key, std::string_view line) {
  if (line.size() < key.size()) return false;
  return (line.size() == key.size() || line[key.size()] == ' ') && line.starts_with(key);
}

}  // namespace

Result<void> read_keys(std::string_view text, std::span<WantedKey> wanted) {
  if (auto whole = require_whole_lines(text); !whole) return whole;
  auto left = wanted.size();
  while (left > 0) {
    const auto line = next_line(text);
    if (!line) break;
    for (auto& want : wanted) {
      if (!is_line_of(want.key, *line) || want.value) continue;
      const auto n = parse_u64(trim(line->substr(want.key.size())));
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
