#include "kernel/cold_memory.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"
#include "kernel/lines.hpp"

namespace koordlet::kernel {
namespace {

constexpr FileName kIdleFile{"memory", "memory.idle_page_stats", "memory.idle_page_stats"};
/// Clean and dirty file pages and their unevictable kind: what can be taken away.
constexpr std::array<std::string_view, 4> kRows{"cfei", "dfei", "cfui", "dfui"};
constexpr std::string_view kBuckets = "# buckets:";
constexpr std::size_t kMostColumns = 32;

std::string kidled(const HostRoots& roots, std::string_view file) {
  return fmt::format("{}/kernel/mm/kidled/{}", roots.sys, file);
}

/// Columns of each row, from "# buckets: 1,2,5,15,30,60,120,240" (idle for so many scans).
std::size_t count_buckets(std::string_view line) {
  const auto list = trim(line.substr(kBuckets.size()));
  return list.empty() ? 0 : static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1;
}

/// The sum from `boundary` on of a row of exactly `columns` numbers.
Result<std::int64_t> sum_row(std::string_view rest, std::size_t columns, std::size_t boundary) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / 256;
  std::int64_t sum = 0;
  std::size_t column = 0;
  for (; const auto field = next_field(rest); ++column) {
    const auto n = parse_i64(*field);
    if (!n || *n < 0 || *n > kMost) {
      return Error{Errc::kParse, fmt::format("expected bytes, got '{}'", field->substr(0, 40))};
    }
    if (column >= boundary && column < columns) sum += *n;
  }
  if (column != columns) {
    return Error{Errc::kParse, fmt::format("expected {} columns, got {}", columns, column)};
  }
  return sum;
}

}  // namespace

Result<Bytes> parse_idle_page_stats(std::string_view text, std::size_t boundary) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::size_t columns = 0;
  std::array<std::optional<std::int64_t>, kRows.size()> sums{};
  while (auto line = next_line(text)) {
    if (line->starts_with(kBuckets)) columns = count_buckets(*line);
    const auto label = next_field(*line);
    const auto* const row = label ? std::find(kRows.begin(), kRows.end(), *label) : kRows.end();
    if (row == kRows.end()) continue;
    if (columns == 0 || columns > kMostColumns || boundary >= columns) {
      return Error{
          Errc::kParse,
          fmt::format("expected a list of more than {} buckets before the rows", boundary)};
    }
    const auto sum = sum_row(*line, columns, boundary);
    if (!sum) return wrap(*label, sum.error());
    sums[static_cast<std::size_t>(row - kRows.begin())] = *sum;
  }
  Bytes cold;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (!sums[i]) return Error{Errc::kParse, fmt::format("expected the row {}", kRows[i])};
    cold += Bytes{*sums[i]};
  }
  return cold;
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
