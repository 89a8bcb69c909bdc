#include "net/grpc_metadata.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace koordlet::net {
namespace {

using std::chrono::nanoseconds;
constexpr std::size_t kMostDigits = 8;
constexpr std::int64_t kMost = 99'999'999;

struct Unit {
  char name;
  nanoseconds size;
};
constexpr std::array<Unit, 6> kUnits{{{'n', nanoseconds{1}},
                                      {'u', std::chrono::microseconds{1}},
                                      {'m', std::chrono::milliseconds{1}},
                                      {'S', std::chrono::seconds{1}},
                                      {'M', std::chrono::minutes{1}},
                                      {'H', std::chrono::hours{1}}}};
constexpr std::array<std::string_view, 5> kHop{
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};

}  // namespace

std::optional<nanoseconds> parse_grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  std::int64_t count = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    count = count * 10 + (c - '0');
  }
  const auto unit = std::find_if(
      kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == text.back(); });
  if (unit == kUnits.end() || count == 0) return std::nullopt;
  const auto most = nanoseconds::max().count() / unit->size.count();
  return count > most ? nanoseconds::max() : count * unit->size;
}

std::string exact_grpc_timeout(nanoseconds timeout) {
  const auto ns = std::max<std::int64_t>(1, timeout.count());
  for (const auto& unit : kUnits)
    if (const auto n = ns / unit.size.count(); n <= kMost) return fmt::format("{}{}", n, unit.name);
  return fmt::format("{}H", kMost);
}

std::string grpc_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 0x20 && c <= 0x7e && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Http2Headers without_hop_headers(Http2Headers headers) {
  std::erase_if(headers, [](const auto& h) {
    return std::find(kHop.begin(), kHop.end(), h.first) != kHop.end();
  });
  return headers;
}

Http2Headers grpc_trailers(int status, std::string_view words) {
  return {{"grpc-status", std::to_string(status)}, {"grpc-message", grpc_escape(words)}};
}

Http2Headers grpc_status_only(int status, std::string_view words) {
  Http2Headers out{{":status", "200"}, {"content-type", "application/grpc"}};
  for (auto& header : grpc_trailers(status, words)) out.push_back(std::move(header));
  return out;
}

}  // namespace koordlet::net
