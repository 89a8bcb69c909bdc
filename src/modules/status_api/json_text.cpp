#include "modules/status_api/json_text.hpp"

#include <algorithm>
#include <ctime>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace koordlet::status_api {

namespace {

/// Length of the valid sequence at the front, 0 when there is none (RFC 3629: no overlong forms,
/// surrogates or values above U+10FFFF).
std::size_t sequence_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || s.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

/// Bytes at the front that are valid UTF-8.
std::size_t valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto length = sequence_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string_view title(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
  }
  return "Error";
}

}  // namespace

std::string utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto good = valid_prefix(text);
    out += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    out += "\xEF\xBF\xBD";
    text.remove_prefix(1);
  }
  return out;
}

json::value text_value(std::string_view text, const json::storage_ptr& sp) {
  if (valid_prefix(text) == text.size()) return json::value(json::string(text, sp), sp);
  return json::value(json::string(utf8(text), sp), sp);
}

json::value text_or_null(std::string_view text) {
  if (text.empty()) return nullptr;
  return text_value(text, {});
}

json::array text_array(const std::vector<std::string>& lines, std::size_t max) {
  json::array out;
  for (std::size_t i = 0; i < std::min(lines.size(), max); ++i) {
    out.emplace_back(text_value(lines[i], {}));
  }
  return out;
}

std::string rfc3339(WallTime t) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(t.time_since_epoch()).count();
  const auto rest = ((ms % 1000) + 1000) % 1000;
  const std::time_t seconds = (ms - rest) / 1000;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                     parts.tm_year + 1900,
                     parts.tm_mon + 1,
                     parts.tm_mday,
                     parts.tm_hour,
                     parts.tm_min,
                     parts.tm_sec,
                     rest);
}

json::value wall_of(const StatusView& view, MonoTime t) {
  if (t == MonoTime{}) return nullptr;
  const auto back = std::chrono::duration_cast<WallTime::duration>(view.now - t);
  return json::value(rfc3339(view.wall - back));
}

json::value age_ms(const StatusView& view, MonoTime t) {
  if (t == MonoTime{}) return nullptr;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(view.now - t).count();
  return std::max<std::int64_t>(age, 0);
}

json::value integer(const std::optional<std::int64_t>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

std::optional<std::int64_t> milli_of(const CpuMax& max) {
  const auto& quota = max.quota.bound();
  if (!quota || max.period.count() <= 0) return std::nullopt;
  const auto milli = static_cast<__int128>(quota->count()) * 1000 / max.period.count();
  return static_cast<std::int64_t>(milli);
}

json::value cpu_limit(CgroupFile file, std::string_view canonical) {
  if (file != CgroupFile::kCpuMax && file != CgroupFile::kCpuset) return nullptr;
  const auto value = parse_cgroup_value(file, canonical);
  if (!value) return nullptr;
  if (const auto* max = std::get_if<CpuMax>(&*value)) {
    const auto milli = milli_of(*max);
    return milli ? json::value(*milli) : json::value("max");
  }
  // An empty set in the file means "as the parent": no bound of its own.
  const auto count = std::get<CpuSet>(*value).count();
  return count > 0 ? json::value(std::int64_t{count} * 1000) : json::value("max");
}

std::string cgroup_text(const CgroupPath& path) { return "/" + path.str(); }

json::object outcome(const Outcome& outcome) {
  return {{"cgroup", cgroup_text(outcome.key.path)},
          {"file", to_string(outcome.key.file)},
          {"item", text_or_null(outcome.key.item)},
          {"kind", to_string(outcome.kind)},
          {"value", text_value(outcome.value, {})},
          {"error", text_or_null(outcome.error)}};
}

json::object proposal(const Proposal& proposal) {
  return {{"plugin", text_value(proposal.plugin, {})},
          {"role", to_string(proposal.role)},
          {"value", to_string(proposal.value)},
          {"reason", text_value(proposal.reason, {})}};
}

net::HttpResponse json_response(unsigned status, const json::value& body) {
  net::HttpResponse out;
  out.status = status;
  out.body = json::serialize(body);
  out.body += '\n';
  return out;
}

net::HttpResponse problem(unsigned status, std::string_view detail) {
  auto out = json_response(status,
                           json::object{{"type", "about:blank"},
                                        {"title", title(status)},
                                        {"status", status},
                                        {"detail", text_value(detail, {})}});
  out.content_type = "application/problem+json";
  return out;
}

}  // namespace koordlet::status_api
