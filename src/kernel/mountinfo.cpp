#include <array>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/lines.hpp"
#include "kernel/storage.hpp"

namespace koordlet::kernel {
namespace {

/// "\\040" is a blank: the kernel writes blanks, tabs, newlines, '#' and backslashes so.
std::string unescape(std::string_view text) {
  std::string out;
  const auto octal = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Cuts off what stands before the next blank. One blank parts two fields, so that a field may be
/// empty (the source of a mount may).
std::optional<std::string_view> cut_field(std::optional<std::string_view>& rest) {
  if (!rest) return std::nullopt;
  const auto blank = rest->find(' ');
  const auto field = rest->substr(0, blank);
  if (blank == std::string_view::npos) {
    rest.reset();
  } else {
    rest->remove_prefix(blank + 1);
  }
  return field;
}

Result<Mount> parse_line(std::string_view line) {
  const auto bad = [&](std::string_view expected) {
    return Error{Errc::kParse, fmt::format("'{}': expected {}", line.substr(0, 80), expected)};
  };
  // id, parent, device, root, mount point, options
  std::optional<std::string_view> rest{line};
  std::array<std::string_view, 6> fields;
  for (auto& field : fields) {
    const auto next = cut_field(rest);
    if (!next || next->empty()) return bad("six fields before the optional ones");
    field = *next;
  }
  // Any number of optional fields, none included, up to the lone dash.
  for (;;) {
    const auto next = cut_field(rest);
    if (!next) return bad("a '-' after the optional fields");
    if (*next == "-") break;
  }
  const auto type = cut_field(rest), source = cut_field(rest), options = cut_field(rest);
  if (!type || type->empty() || !source || !options) return bad("file system, source and options");
  const auto device = parse_device_number(fields[2]);
  if (!device) return bad("<major>:<minor>");
  return Mount{*device, unescape(fields[4]), unescape(*type), unescape(*source)};
}

}  // namespace

Result<std::vector<Mount>> parse_mountinfo(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::vector<Mount> out;
  while (const auto line = next_line(text)) {
    auto mount = parse_line(*line);
    if (!mount) return mount.error();
    out.push_back(std::move(*mount));
  }
  return out;
}

}  // namespace koordlet::kernel
