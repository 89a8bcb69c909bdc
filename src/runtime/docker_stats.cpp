#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "runtime/docker_client.hpp"

namespace koordlet::runtime {
namespace {

namespace json = boost::json;

const json::value* at(const json::value& root, std::initializer_list<std::string_view> path) {
  const auto* here = &root;
  for (const auto key : path) {
    const auto* object = here->if_object();
    here = object == nullptr ? nullptr : object->if_contains(key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

/// nullopt inside: not there. A value of another type is an error, not an absence.
Result<std::optional<std::int64_t>> number(const json::value& root,
                                           std::initializer_list<std::string_view> path) {
  const auto* value = at(root, path);
  if (value == nullptr || value->is_null()) return std::optional<std::int64_t>{};
  const bool fits = value->is_int64() && value->get_int64() >= 0;
  if (!fits) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected a whole number of 0 or more", fmt::join(path, "."))};
  }
  return std::optional{value->get_int64()};
}

/// "2026-01-02T03:04:05.678901234Z"; nullopt for anything else.
std::optional<WallTime> time_of(std::string_view text) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, used = 0;
  const std::string whole{text.substr(0, 40)};
  if (std::sscanf(whole.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6)
    return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year{y},
                                        std::chrono::month{static_cast<unsigned>(mo)},
                                        std::chrono::day{static_cast<unsigned>(d)}};
  if (!day.ok() || h > 23 || mi > 59 || s > 60 || !whole.ends_with('Z')) return std::nullopt;
  std::int64_t ns = 0, scale = 100'000'000;
  for (std::size_t i = static_cast<std::size_t>(used) + 1; i + 1 < whole.size(); ++i) {
    if (whole[i] < '0' || whole[i] > '9') return std::nullopt;
    ns += (whole[i] - '0') * scale;
    scale /= 10;
  }
  return std::chrono::sys_days{day} + std::chrono::hours{h} + std::chrono::minutes{mi} +
         std::chrono::seconds{s} +
         std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds{ns});
}

}  // namespace

Result<ContainerStats> parse_docker_stats(std::string_view text) {
  boost::system::error_code ec;
  const auto root = json::parse({text.data(), text.size()}, ec);
  if (ec || !root.is_object()) return Error{Errc::kParse, "expected a JSON object of statistics"};
  ContainerStats out;
  const auto* read = at(root, {"read"});
  if (read == nullptr || !read->is_string())
    return Error{Errc::kParse, "read: expected the time of the reading"};
  const auto time = time_of({read->get_string().data(), read->get_string().size()});
  if (!time) return Error{Errc::kParse, "read: expected a time as 2026-01-02T03:04:05Z"};
  out.at = *time;
  const auto cpu = number(root, {"cpu_stats", "cpu_usage", "total_usage"});
  const auto usage = number(root, {"memory_stats", "usage"});
  auto inactive = number(root, {"memory_stats", "stats", "inactive_file"});  // cgroup v2
  const auto total_inactive = number(root, {"memory_stats", "stats", "total_inactive_file"});
  if (!cpu) return cpu.error();
  if (!usage) return usage.error();
  if (!inactive) return inactive.error();
  if (!total_inactive) return total_inactive.error();
  if (*total_inactive) inactive = *total_inactive;  // v1: of the whole subtree
  if (*cpu) out.cpu_usage = std::chrono::nanoseconds{**cpu};
  if (*usage) out.memory_usage = Bytes{**usage};
  if (*usage && *inactive)
    out.memory_working_set = Bytes{std::max<std::int64_t>(0, **usage - **inactive)};
  return out;
}

}  // namespace koordlet::runtime
