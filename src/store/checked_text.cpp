#include "store/checked_text.hpp"

#include <fmt/format.h>

#include "store/fnv.hpp"

namespace koordlet::store {
namespace {

constexpr std::string_view kVersion = "v1\n";

}  // namespace

std::string encode_checked(std::string_view text) {
  return fmt::format("{}{:016x}\n{}", kVersion, fnv1a(text), text);
}

std::optional<std::string_view> decode_checked(std::string_view row) {
  constexpr std::size_t kHash = 17;
  if (!row.starts_with(kVersion)) return std::nullopt;
  row.remove_prefix(kVersion.size());
  if (row.size() < kHash) return std::nullopt;
  const auto text = row.substr(kHash);
  if (fmt::format("{:016x}\n", fnv1a(text)) != row.substr(0, kHash)) return std::nullopt;
  return text;
}

}  // namespace koordlet::store
