#include "kernel/item_lines.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::int64_t kDefaultWeight = 100;  // of io.weight and blkio.cost.weight alike

/// The rest of the line whose first word is `name`.
std::optional<std::string_view> line_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto word = next_field(line);
    if (word && *word == name) return trim(line);
  }
  return std::nullopt;
}

Result<CgroupValue> decode_weight(const CgroupKey& key, std::string_view text) {
  auto line = line_of(text, key.item);
  if (!line) line = line_of(text, "default");
  if (!line) return CgroupValue{Number{kDefaultWeight}};
  const auto n = parse_i64(*line);
  if (!n) return Error{Errc::kParse, fmt::format("{}: {}", to_string(key), n.error().context)};
  return CgroupValue{Number{*n}};
}

Result<CgroupValue> decode_or(const CgroupKey& key, std::string_view text, CgroupValue absent) {
  const auto line = line_of(text, key.item);
  if (!line || line->empty()) return absent;
  auto value = parse_cgroup_value(key.file, *line);
  if (!value) return Error{Errc::kParse, value.error().context};
  return value;
}

/// "95.00" as "95": the kernel prints percents with two digits and takes them without.
std::string_view plain_decimal(std::string_view number) {
  const auto point = number.find('.');
  if (point == std::string_view::npos) return number;
  while (number.ends_with('0')) number.remove_suffix(1);
  if (number.ends_with('.')) number.remove_suffix(1);
  return number;
}

/// The kernel prints every parameter, also those that it chose itself and those that a write left
/// out; only what somebody asked for is kept, so that a wish equals what is read back. Dropped:
/// all behind enable=0 and ctrl=auto; model=linear, the only model there is; min and max of the
/// QoS line, which koordlet never writes and which the kernel keeps when a write leaves them out.
Line canonical_cost(CgroupFile file, std::string_view words) {
  std::string out;
  bool closed = false;
  while (const auto word = closed ? std::nullopt : next_field(words)) {
    const auto equals = word->find('=');
    const auto name = word->substr(0, equals);
    if (name == "model" || (file == CgroupFile::kIoCostQos && (name == "min" || name == "max"))) {
      continue;
    }
    out += fmt::format("{}{}", out.empty() ? "" : " ", name);
    if (equals != std::string_view::npos) {
      out += fmt::format("={}", plain_decimal(word->substr(equals + 1)));
    }
    closed = *word == "enable=0" || *word == "ctrl=auto";
  }
  return Line{out};
}

Result<CgroupValue> decode_cost(const CgroupKey& key, std::string_view text, const char* absent) {
  auto value = decode_or(key, text, Line{absent});
  if (!value) return value;
  return CgroupValue{canonical_cost(key.file, std::get<Line>(*value).v)};
}

/// "    L3:0=fff;1=fff": masks are hexadecimal, bandwidth is decimal.
Result<CgroupValue> decode_schemata(const CgroupKey& key, std::string_view text) {
  const auto name = schemata_name(key.file);
  const int base = key.file == CgroupFile::kResctrlMb ? 10 : 16;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != name) continue;
    line.remove_prefix(colon + 1);
    while (!line.empty()) {
      const auto semicolon = line.find(';');
      const auto pair = trim(line.substr(0, semicolon));
      line = semicolon == std::string_view::npos ? std::string_view{} : line.substr(semicolon + 1);
      const auto equals = pair.find('=');
      if (equals == std::string_view::npos) break;
      if (trim(pair.substr(0, equals)) != key.item) continue;
      const auto digits = trim(pair.substr(equals + 1));
      std::int64_t n = 0;
      const auto* last = digits.data() + digits.size();
      const auto got = std::from_chars(digits.data(), last, n, base);
      if (got.ec != std::errc{} || got.ptr != last || n < 0) {
        return Error{Errc::kParse,
                     fmt::format("{}: expected a number, got '{}'", to_string(key), digits)};
      }
      return CgroupValue{Number{n}};
    }
  }
  return Error{
      Errc::kNotSupported,
      fmt::format("{}: this machine has no domain {} of {}", to_string(key), key.item, name)};
}

Result<CgroupValue> decode_feature(const CgroupKey& key, std::string_view text) {
  while (const auto word = next_field(text)) {
    if (*word == key.item) return CgroupValue{Number{1}};
    if (word->starts_with("NO_") && word->substr(3) == key.item) return CgroupValue{Number{0}};
  }
  return Error{
      Errc::kNotSupported,
      fmt::format("{}: this kernel has no scheduler feature {}", to_string(key), key.item)};
}

}  // namespace

std::string_view schemata_name(CgroupFile file) {
  switch (file) {
    case CgroupFile::kResctrlL3Code:
      return "L3CODE";
    case CgroupFile::kResctrlL3Data:
      return "L3DATA";
    case CgroupFile::kResctrlMb:
      return "MB";
    default:
      return "L3";
  }
}

Result<CgroupValue> decode_item(const CgroupKey& key, std::string_view text) {
  switch (key.file) {
    case CgroupFile::kIoMax:
      return decode_or(key, text, IoMax{});
    case CgroupFile::kIoWeight:
      return decode_weight(key, text);
    case CgroupFile::kIoCostQos:
      return decode_cost(key, text, "enable=0");
    case CgroupFile::kIoCostModel:
      return decode_cost(key, text, "ctrl=auto");
    case CgroupFile::kSchedFeature:
      return decode_feature(key, text);
    default:
      return decode_schemata(key, text);
  }
}

Result<IoMax::Rate> decode_rate_v1(std::string_view device, std::string_view text) {
  const auto line = line_of(text, device);
  if (!line) return IoMax::Rate::unlimited();
  const auto n = parse_u64(*line);
  if (!n) return Error{Errc::kParse, fmt::format("device {}: {}", device, n.error().context)};
  if (*n == 0 || *n > std::uint64_t{INT64_MAX}) return IoMax::Rate::unlimited();
  return IoMax::Rate{static_cast<std::int64_t>(*n)};
}

std::string encode_item(const CgroupKey& key, const CgroupValue& value) {
  switch (traits_of(key.file).item) {
    case ItemKind::kDomain: {
      const auto n = std::get<Number>(value).v;
      const auto name = schemata_name(key.file);
      return key.file == CgroupFile::kResctrlMb ? fmt::format("{}:{}={}\n", name, key.item, n)
                                                : fmt::format("{}:{}={:x}\n", name, key.item, n);
    }
    case ItemKind::kName:
      return (std::get<Number>(value).v != 0 ? "" : "NO_") + key.item;
    default:
      return fmt::format("{} {}", key.item, to_string(value));
  }
}

std::string encode_rate_v1(std::string_view device, const IoMax::Rate& rate) {
  return fmt::format("{} {}", device, rate.bound() ? *rate.bound() : 0);
}

}  // namespace koordlet::kernel
