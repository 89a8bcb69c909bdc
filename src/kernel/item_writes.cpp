#include "kernel/item_writes.hpp"

#include <fcntl.h>
#include <optional>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"
#include "kernel/item_lines.hpp"

namespace koordlet::kernel {
namespace {

/// "8:16 1048576": the line whose first word is the device.
std::string with_device(std::string_view content,
                        const std::string& device,
                        std::string_view order) {
  std::string out;
  bool done = false;
  while (const auto line = next_line(content)) {
    auto rest = *line;
    const auto word = next_field(rest);
    const bool mine = word && *word == device;
    if (mine && done) continue;
    done = done || mine;
    out += mine ? trim(order) : *line;
    out += '\n';
  }
  return done ? out : fmt::format("{}{}\n", out, trim(order));
}

/// "L3:0=fff;1=fff": `pair` ("1=f") takes the place of what the domain had.
std::string with_pair(std::string_view pairs, std::string_view pair) {
  const auto domain = pair.substr(0, pair.find('='));
  std::string out;
  bool done = false;
  while (!pairs.empty()) {
    const auto end = pairs.find(';');
    const auto one = trim(pairs.substr(0, end));
    pairs = end == std::string_view::npos ? std::string_view{} : pairs.substr(end + 1);
    if (one.empty()) continue;
    const bool mine = trim(one.substr(0, one.find('='))) == domain;
    done = done || mine;
    out += fmt::format("{}{}", out.empty() ? "" : ";", mine ? pair : one);
  }
  return done ? out : fmt::format("{}{}{}", out, out.empty() ? "" : ";", pair);
}

std::string with_domain(std::string_view content, std::string_view name, std::string_view order) {
  const auto pair = trim(order).substr(name.size() + 1);
  std::string out;
  bool done = false;
  while (const auto line = next_line(content)) {
    const auto colon = line->find(':');
    const bool mine = colon != std::string_view::npos && trim(line->substr(0, colon)) == name;
    done = done || mine;
    out += mine ? fmt::format(
                      "{}:{}", line->substr(0, colon), with_pair(line->substr(colon + 1), pair))
                : std::string{*line};
    out += '\n';
  }
  return done ? out : fmt::format("{}{}:{}\n", out, name, pair);
}

std::string with_feature(std::string_view content,
                         const std::string& feature,
                         std::string_view order) {
  std::string out;
  bool done = false;
  while (const auto word = next_field(content)) {
    const bool mine = *word == feature || (word->starts_with("NO_") && word->substr(3) == feature);
    done = done || mine;
    out += fmt::format("{}{}", out.empty() ? "" : " ", mine ? order : *word);
  }
  if (!done) out += fmt::format("{}{}", out.empty() ? "" : " ", order);
  return out + '\n';
}

std::optional<bool> is_plain(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return std::nullopt;  // write-only or gone: the write itself says which
  return !is_kernel_file(fd.get());
}

}  // namespace

std::string with_item(std::string_view content, const CgroupKey& key, std::string_view order) {
  switch (traits_of(key.file).item) {
    case ItemKind::kDevice:
      return with_device(content, key.item, order);
    case ItemKind::kDomain:
      return with_domain(content, schemata_name(key.file), order);
    case ItemKind::kName:
      return with_feature(content, key.item, order);
    case ItemKind::kNone:
      break;
  }
  return std::string{order};
}

Result<void> write_item(const std::string& path, const CgroupKey& key, std::string_view order) {
  if (key.item.empty() || !is_plain(path).value_or(false)) return write_file(path, order);
  const auto content = read_file(path);
  if (!content) return content.error();
  return write_file(path, with_item(*content, key, order));
}

}  // namespace koordlet::kernel
