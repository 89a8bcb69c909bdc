#include "kernel/cold_memory.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr FileName kIdleFile{"memory", "memory.idle_page_stats", "memory.idle_page_stats"};
/// Clean and dirty file pages and their unevictable kind: what can be taken away.
constexpr std::array<std::string_view, 4> kRows{"cfei", "dfei", "cfui", "dfui"};
constexpr std::size_t kColumns = 8;  // idle for 1, 2, 5, 15, 30, 60, 120, 240 scans

std::string kidled(const HostRoots& roots, std::string_view file) {
  return fmt::format("{}/kernel/mm/kidled/{}", roots.sys, file);
}

}  // namespace

Result<Bytes> parse_idle_page_stats(std::string_view text, std::size_t boundary) {
  std::int64_t sum = 0;
  std::size_t rows = 0;
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (!label || std::find(kRows.begin(), kRows.end(), *label) == kRows.end()) continue;
    ++rows;
    for (std::size_t column = 0; column < kColumns; ++column) {
      const auto field = next_field(*line);
      if (!field) {
        return Error{Errc::kParse,
                     fmt::format("{}: expected {} columns, got {}", *label, kColumns, column)};
      }
      const auto n = parse_i64(*field);
      if (!n || *n < 0 || *n > std::numeric_limits<std::int64_t>::max() / 64) {
        return Error{Errc::kParse,
                     fmt::format("{}: expected bytes, got '{}'", *label, field->substr(0, 40))};
      }
      if (column >= boundary) sum += *n;
    }
  }
  if (rows != kRows.size()) {
    return Error{Errc::kParse,
                 fmt::format("expected the rows cfei, dfei, cfui and dfui, got {} of them", rows)};
  }
  return Bytes{sum};
}

bool has_kidled(const HostRoots& roots) {
  return ::access(kidled(roots, "scan_period_in_seconds").c_str(), R_OK) == 0 &&
         ::access(kidled(roots, "use_hierarchy").c_str(), R_OK) == 0;
}

Result<Bytes> read_cold_memory(const HostRoots& roots,
                               CgroupVersion version,
                               const CgroupPath& cgroup,
                               std::size_t boundary) {
  if (version == CgroupVersion::kV2 || !has_kidled(roots)) {
    return Error{Errc::kNotSupported, "this kernel counts no idle pages (kidled)"};
  }
  const auto file = cgroup_file(roots, version, kIdleFile, cgroup);
  const auto text = read_file(file);
  if (!text) return explain_missing(text.error(), roots, version, kIdleFile.controller, cgroup);
  const auto bytes = parse_idle_page_stats(*text, boundary);
  if (!bytes) return wrap(file, bytes.error());
  return bytes;
}

}  // namespace koordlet::kernel
