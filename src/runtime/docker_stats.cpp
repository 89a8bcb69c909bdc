#include <algorithm>
#include <optional>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "runtime/docker_client.hpp"

namespace koordlet::runtime {
namespace {

namespace json = boost::json;
using Path = std::initializer_list<std::string_view>;
using Number = std::optional<std::int64_t>;

Error expected(Path path, std::string_view what) {
  return {Errc::kParse, fmt::format("{}: expected {}", fmt::join(path, "."), what)};
}

/// nullopt: not there, or null. A value of another type is an error, not an absence.
Result<Number> number(const json::value& root, Path path) {
  const auto* here = &root;
  for (const auto key : path) {
    const auto* object = here->if_object();
    if (object == nullptr) return expected(path, "an object on the way there");
    here = object->if_contains(key);
    if (here == nullptr || here->is_null()) return Number{};
  }
  const auto* value = here->if_int64();
  if (value == nullptr || *value < 0) return expected(path, "a whole number of 0 or more");
  return Number{*value};
}

/// Digits only, all of them; -1 for anything else.
int digits(std::string_view text) {
  int out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    out = out * 10 + (c - '0');
  }
  return text.empty() ? -1 : out;
}

/// "Z", "+02:00" or "-02:00".
std::optional<std::chrono::minutes> offset_of(std::string_view text) {
  if (text == "Z") return std::chrono::minutes{0};
  if (text.size() != 6 || text[3] != ':' || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int h = digits(text.substr(1, 2)), m = digits(text.substr(4));
  if (h < 0 || h > 23 || m < 0 || m > 59) return std::nullopt;
  return std::chrono::minutes{(text[0] == '-' ? -1 : 1) * (h * 60 + m)};
}

/// RFC 3339, with up to nine digits of a second. The year 1 is Docker's "never": WallTime{}.
std::optional<WallTime> time_of(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const int y = digits(text.substr(0, 4)), mo = digits(text.substr(5, 2)),
            d = digits(text.substr(8, 2)), h = digits(text.substr(11, 2)),
            mi = digits(text.substr(14, 2)), s = digits(text.substr(17, 2));
  if (y < 0 || mo < 0 || d < 0 || h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 60)
    return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year{y},
                                        std::chrono::month{static_cast<unsigned>(mo)},
                                        std::chrono::day{static_cast<unsigned>(d)}};
  auto rest = text.substr(19);
  std::int64_t ns = 0;
  if (rest[0] == '.') {
    const auto size = std::min(rest.find_first_not_of("0123456789", 1), rest.size()) - 1;
    if (size == 0 || size > 9) return std::nullopt;
    ns = digits(rest.substr(1, size));
    for (auto n = size; n < 9; ++n) ns *= 10;
    rest.remove_prefix(size + 1);
  }
  const auto offset = offset_of(rest);
  if (!day.ok() || !offset) return std::nullopt;
  if (y == 1) return WallTime{};
  if (y < 1970 || y > 2200) return std::nullopt;  // WallTime ends in 2262
  return std::chrono::sys_days{day} + std::chrono::hours{h} + std::chrono::minutes{mi} +
         std::chrono::seconds{s} - *offset +
         std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds{ns});
}

Result<WallTime> time_at(const json::value& root, std::string_view key) {
  const auto* value = root.get_object().if_contains(key);
  const auto* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr) return expected({key}, "the time of the reading");
  const auto out = time_of({text->data(), text->size()});
  if (!out) return expected({key}, "a time as 2026-01-02T03:04:05Z");
  return *out;
}

/// The first of these that is there: cgroup v1 tells the sums of the subtree apart from the
/// cgroup's own, v2 has sums only.
Result<Number> first_of(const json::value& root, Path keys) {
  for (const auto key : keys) {
    const auto out = number(root, {"memory_stats", "stats", key});
    if (!out || *out) return out;
  }
  return Number{};
}

}  // namespace

Result<ContainerStats> parse_docker_stats(std::string_view text) {
  boost::system::error_code ec;
  const auto root = json::parse({text.data(), text.size()}, ec);
  if (ec || !root.is_object()) return Error{Errc::kParse, "expected a JSON object of statistics"};
  const auto read = time_at(root, "read");
  if (!read) return read.error();
  const auto cpu = number(root, {"cpu_stats", "cpu_usage", "total_usage"});
  if (!cpu) return cpu.error();
  const auto usage = number(root, {"memory_stats", "usage"});
  if (!usage) return usage.error();
  const auto inactive = first_of(root, {"total_inactive_file", "inactive_file"});
  if (!inactive) return inactive.error();
  const auto rss = first_of(root, {"total_rss", "rss", "anon"});
  if (!rss) return rss.error();
  if (*read == WallTime{}) return Error{Errc::kGone, "the container does not run"};
  ContainerStats out;
  out.at = *read;
  if (*cpu) out.cpu_usage = std::chrono::nanoseconds{**cpu};
  if (*usage) out.memory_usage = Bytes{**usage};
  if (*rss) out.memory_rss = Bytes{**rss};
  if (*usage && *inactive)
    out.memory_working_set = Bytes{std::max<std::int64_t>(0, **usage - **inactive)};
  return out;
}

}  // namespace koordlet::runtime
