#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"

/// Files of "key value" lines (cpu.stat, memory.stat), read by key and never by position: new keys
/// appear in the middle.
namespace koordlet::kernel {

struct WantedKey {
  std::string_view key;
  std::optional<std::uint64_t> value = std::nullopt;
};

/// One pass, ended early when all are found; lines of other keys are not looked into. kParse names
/// the key whose value is no number, or says that the content is cut.
Result<void> read_keys(std::string_view text, std::span<WantedKey> wanted);
/// kParse names the first key without a value.
Result<void> require_all(std::span<const WantedKey> wanted);

}  // namespace koordlet::kernel
