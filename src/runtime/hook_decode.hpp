#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/cgroup.hpp"
#include "base/cpu_set.hpp"
#include "base/limit.hpp"
#include "base/parse.hpp"
#include "base/result.hpp"

/// How container runtimes spell the values of hooks, in NRI and in the CRI alike. Pure.
namespace koordlet::runtime {

inline constexpr std::size_t kShown = 80;  ///< bytes of a text in a message

/// 0 says nothing, below 0 is "no limit".
template <class Unit>
std::optional<Limit<Unit>> limit_of(std::int64_t value) {
  if (value == 0) return std::nullopt;
  if (value < 0) return Limit<Unit>::unlimited();
  return Limit<Unit>{Unit{value}};
}

/// "" leaves `out` alone.
inline Result<void> read_set(std::optional<CpuSet>& out,
                             const std::string& text,
                             const char* what) {
  const auto set = CpuSet::parse(text);
  if (!set) return wrap(fmt::format("{} '{}'", what, printable(text, kShown)), set.error());
  if (!set->empty()) out = *set;
  return {};
}

/// Runtimes write it as an absolute path. nullopt: none, or no path.
inline std::optional<CgroupPath> path_of(std::string_view text) {
  if (text.starts_with('/')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const auto path = CgroupPath::parse(text);
  if (!path) return std::nullopt;
  return *path;
}

inline Error no_such_message(const char* name) {
  return {Errc::kParse, std::string{"expected a message "} + name};
}

}  // namespace koordlet::runtime
