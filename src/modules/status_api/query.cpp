#include "modules/status_api/query.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {

namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    }
  }
  return out;
}

/// FNV-1a: enough to tell a token of ours from a typing error, it protects nothing.
std::uint32_t checksum(std::string_view last, std::string_view filter) {
  std::uint32_t h = 2166136261U;
  const auto mix = [&h](std::string_view text) {
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
    h = (h ^ 0xFFU) * 16777619U;
  };
  mix(last);
  mix(filter);
  return h;
}

Error fault(std::string text) { return Error{Errc::kParse, std::move(text)}; }

}  // namespace

Result<Parameters> parse_query(std::string_view query,
                               const std::vector<std::string_view>& allowed) {
  Parameters out;
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (part.empty()) continue;
    const auto equals = std::min(part.find('='), part.size());
    const auto name = percent_decode(part.substr(0, equals));
    const auto value = percent_decode(part.substr(std::min(equals + 1, part.size())));
    if (!name || !value) return fault(fmt::format("query: '{}': bad percent code", utf8(part)));
    if (std::find(allowed.begin(), allowed.end(), *name) == allowed.end()) {
      return fault(allowed.empty()
                       ? fmt::format("query: '{}': this endpoint takes no parameter", utf8(*name))
                       : fmt::format("query: '{}': unknown parameter: expected {}",
                                     utf8(*name),
                                     fmt::join(allowed, ", ")));
    }
    if (!out.emplace(*name, *value).second) {
      return fault(fmt::format("query: '{}': given twice", *name));
    }
  }
  return out;
}

std::string make_token(std::string_view last, std::string_view filter) {
  std::string out;
  out.reserve(last.size() * 2 + 9);
  for (const char c : last) {
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  }
  fmt::format_to(std::back_inserter(out), ".{:08x}", checksum(last, filter));
  return out;
}

Result<std::string> read_token(std::string_view token, std::string_view filter) {
  const auto bad = [] {
    return fault(
        "continue: not a token of this list: take 'continue' of the page before, with the "
        "same filter, or start without it");
  };
  const auto dot = token.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot % 2 != 0 || dot > 2 * kMaxTokenText)
    return bad();
  std::string last;
  for (std::size_t i = 0; i < dot; i += 2) {
    const auto high = hex_digit(token[i]);
    const auto low = hex_digit(token[i + 1]);
    if (!high || !low) return bad();
    last += static_cast<char>(*high * 16 + *low);
  }
  if (make_token(last, filter) != token) return bad();
  return last;
}

Result<Page> parse_page(const Parameters& parameters, std::string_view filter) {
  Page page;
  if (const auto at = parameters.find("limit"); at != parameters.end()) {
    const auto limit = parse_i64(at->second);
    if (!limit || *limit < 1 || *limit > Page::kMaxLimit) {
      return fault(fmt::format(
          "limit: '{}': expected a whole number 1..{}", utf8(at->second), Page::kMaxLimit));
    }
    page.limit = *limit;
  }
  if (const auto at = parameters.find("continue"); at != parameters.end()) {
    auto after = read_token(at->second, filter);
    if (!after) return after.error();
    page.after = std::move(*after);
  }
  return page;
}

}  // namespace koordlet::status_api
