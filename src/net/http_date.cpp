#include "net/http_date.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "base/parse.hpp"

namespace koordlet::net {
namespace {

constexpr std::size_t kLongest = 40;  // "Wednesday, 06-Nov-94 08:49:37 GMT" is 33
// Within what nanoseconds since 1970 can say, and differences of two as well.
constexpr int kFirstYear = 1970, kLastYear = 2200;
constexpr std::array<std::string_view, 12> kMonths{
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(at), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::optional<int> number(std::string_view text, int below) {
  const auto value = parse_u64(text);
  if (!value || *value >= static_cast<std::uint64_t>(below)) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<std::chrono::seconds> time_of_day(std::string_view text) {
  const auto parts = split(text, ":");
  if (parts.size() != 3) return std::nullopt;
  const auto hour = number(parts[0], 24), minute = number(parts[1], 60);
  const auto second = number(parts[2], 61);  // leap second
  if (!hour || !minute || !second) return std::nullopt;
  return std::chrono::hours{*hour} + std::chrono::minutes{*minute} + std::chrono::seconds{*second};
}

std::optional<int> year_of(std::string_view text) {
  const auto year = number(text, 10000);
  if (!year || (text.size() != 2 && text.size() != 4)) return std::nullopt;
  if (text.size() == 4) return year;
  return *year < 70 ? 2000 + *year : 1900 + *year;
}

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text) {
  if (text.size() > kLongest) return std::nullopt;
  const auto parts = split(text, " ,-");
  const bool c_form = parts.size() == 5;  // asctime(): the year comes last, no zone
  if (!c_form && (parts.size() != 6 || parts[5] != "GMT")) return std::nullopt;
  const auto month = std::find(kMonths.begin(), kMonths.end(), parts[c_form ? 1 : 2]);
  const auto day = number(parts[c_form ? 2 : 1], 32);
  const auto year = year_of(parts[c_form ? 4 : 3]);
  const auto time = time_of_day(parts[c_form ? 3 : 4]);
  if (month == kMonths.end() || !day || !year || !time) return std::nullopt;
  if (*year < kFirstYear || *year > kLastYear) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year{*year},
      std::chrono::month{static_cast<unsigned>(month - kMonths.begin()) + 1},
      std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return WallTime{std::chrono::sys_days{date}.time_since_epoch() + *time};
}

}  // namespace koordlet::net
