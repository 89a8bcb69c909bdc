#include "net/request_target.hpp"

#include <algorithm>
#include <optional>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::net {
namespace {

constexpr std::string_view kScheme = "http://";

bool is_printable(char c) { return c >= 0x21 && c <= 0x7e; }

std::optional<int> hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

Error fault(std::string_view what) {
  return {Errc::kParse, fmt::format("request target: {}", what)};
}

Result<std::string> decode(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '%') {
      const auto high = i + 2 < raw.size() ? hex(raw[i + 1]) : std::nullopt;
      const auto low = i + 2 < raw.size() ? hex(raw[i + 2]) : std::nullopt;
      if (!high || !low) return fault("bad percent escape");
      c = static_cast<char>(*high * 16 + *low);
      // It would make two components of what the sender meant as one.
      if (c == '/') return fault("escaped slash");
      i += 2;
      if (c == ' ') {
        out.push_back(c);
        continue;
      }
    }
    if (!is_printable(c)) return fault("a byte that is not printable ASCII");
    out.push_back(c);
  }
  return out;
}

Result<std::string> normalise(std::string_view decoded) {
  std::string out;
  while (!decoded.empty()) {
    const auto slash = decoded.find('/');
    const auto part = decoded.substr(0, slash);
    decoded.remove_prefix(slash == std::string_view::npos ? decoded.size() : slash + 1);
    if (part == "..") return fault("'..' component");
    if (part.empty() || part == ".") continue;
    out += '/';
    out += part;
  }
  if (out.empty()) out = "/";
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(x) == lower(y);
  });
}

}  // namespace

Result<RequestTarget> parse_target(std::string_view raw) {
  RequestTarget out;
  if (raw.starts_with(kScheme)) {
    raw.remove_prefix(kScheme.size());
    const auto end = std::min(raw.find_first_of("/?"), raw.size());
    out.authority = std::string{raw.substr(0, end)};
    if (out.authority.empty()) return fault("no host");
    raw.remove_prefix(end);
    if (raw.empty() || raw.front() == '?') {
      out.path = "/";
    }
  }
  if (out.path.empty() && (raw.empty() || raw.front() != '/'))
    return fault("does not start with '/'");
  if (raw.find('#') != std::string_view::npos) return fault("fragment");
  const auto question = std::min(raw.find('?'), raw.size());
  if (question < raw.size()) {
    out.query = std::string{raw.substr(question + 1)};
    if (!std::all_of(out.query.begin(), out.query.end(), is_printable))
      return fault("a byte that is not printable ASCII");
  }
  const auto decoded = decode(raw.substr(0, question));
  if (!decoded) return decoded.error();
  auto path = normalise(*decoded);
  if (!path) return path.error();
  out.path = std::move(*path);
  return out;
}

bool names_loopback(std::string_view host) {
  const auto bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const auto colon = host.find(':', bracket);
  if (colon != std::string_view::npos) {
    const auto port = parse_u64(host.substr(colon + 1));
    if (!port || *port > 65535) return false;
    host = host.substr(0, colon);
  }
  if (equal_ignoring_case(host, "localhost")) return true;
  const bool v6 = host.starts_with('[');
  if (v6 && !host.ends_with(']')) return false;
  boost::system::error_code ec;
  const std::string text{v6 ? host.substr(1, host.size() - 2) : host};
  const auto address = boost::asio::ip::make_address(text, ec);
  return !ec && address.is_v6() == v6 && address.is_loopback();
}

}  // namespace koordlet::net
