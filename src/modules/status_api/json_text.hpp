#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/cgroup.hpp"
#include "base/clock.hpp"
#include "modules/status_api/status_view.hpp"
#include "net/http_server.hpp"

/// Spelling of answers. Rules for every field: unknown is null, unlimited is the text "max", ages
/// are whole milliseconds, times RFC 3339 in UTC, sizes bytes, CPU milli-cores.
namespace koordlet::status_api {

namespace json = boost::json;

/// Text from outside as valid UTF-8: each byte that is not part of a valid sequence becomes U+FFFD.
std::string utf8(std::string_view text);
json::value text_value(std::string_view text, const json::storage_ptr& sp);
json::value text_or_null(std::string_view text);  ///< "" is null
/// The first `max` lines; the rest is left out.
json::array text_array(const std::vector<std::string>& lines, std::size_t max = SIZE_MAX);

std::string rfc3339(WallTime t);  ///< "2026-01-02T03:04:05.678Z"
/// Wall time of a monotonic one, as seen from the view's pair of clocks; null for the default
/// MonoTime (never).
json::value wall_of(const StatusView& view, MonoTime t);
json::value age_ms(const StatusView& view, MonoTime t);  ///< null for never, not below 0

template <class Quantity>
json::value quantity(const std::optional<Quantity>& q) {
  return q ? json::value(q->v) : json::value(nullptr);
}
json::value integer(const std::optional<std::int64_t>& v);

/// quota x 1000 / period; nullopt for unlimited.
std::optional<std::int64_t> milli_of(const CpuMax& max);
/// The CPU bound that a canonical cpu.max or cpuset text states, in milli-cores: a number, "max",
/// or null when the text is neither.
json::value cpu_limit(CgroupFile file, std::string_view canonical);

std::string cgroup_text(const CgroupPath& path);  ///< "/kubepods/pod1"; "/" for the root
json::object outcome(const Outcome& outcome);
json::object proposal(const Proposal& proposal);

net::HttpResponse json_response(unsigned status, const json::value& body);
/// RFC 9457: {"type": "about:blank", "title", "status", "detail"}.
net::HttpResponse problem(unsigned status, std::string_view detail);

}  // namespace koordlet::status_api
