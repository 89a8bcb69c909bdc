#include "base/cgroup.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet {
namespace {

constexpr std::size_t kMaxComponent = 255;  // NAME_MAX
constexpr std::size_t kMaxPath = 4095;      // PATH_MAX without the NUL

bool is_component(std::string_view c) {
  if (c.empty() || c.size() > kMaxComponent || c == "." || c == "..") return false;
  return std::all_of(c.begin(), c.end(), [](char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || ch == '.' || ch == ':' || ch == '@' || ch == '-';
  });
}

std::string bytes_text(const MemoryBound& b) {
  return b.is_unlimited() ? "max" : fmt::format("{}", b.bound()->v);
}

Result<CgroupValue> parse_cpu_max(std::string_view text) {
  std::string_view rest = text;
  const auto quota = next_field(rest);
  const auto period = next_field(rest);
  if (!quota || !period || next_field(rest)) {
    return Error{Errc::kParse,
                 fmt::format("cpu.max: expected '<quota|max> <period>', got '{}'", trim(text))};
  }
  const auto p = parse_i64(*period);
  if (!p) return wrap("cpu.max period", p.error());
  if (*p <= 0)
    return Error{Errc::kRange, fmt::format("cpu.max: expected a period above 0, got {}", *p)};
  CpuMax out;
  out.period = std::chrono::microseconds{*p};
  if (*quota == "max") return CgroupValue{out};
  const auto q = parse_i64(*quota);
  if (!q) return wrap("cpu.max quota", q.error());
  if (*q <= 0)
    return Error{Errc::kRange, fmt::format("cpu.max: expected a quota above 0, got {}", *q)};
  out.quota = Limit{std::chrono::microseconds{*q}};
  return CgroupValue{out};
}

Result<CgroupValue> parse_bytes(std::string_view text) {
  text = trim(text);
  if (text == "max") return CgroupValue{MemoryBound::unlimited()};
  const auto n = parse_i64(text);
  if (!n) return n.error();
  if (*n < 0) return Error{Errc::kRange, fmt::format("expected bytes, 0 or more, got {}", *n)};
  return CgroupValue{MemoryBound{Bytes{*n}}};
}

std::string rate_text(const IoMax::Rate& rate) {
  return rate.bound() ? fmt::format("{}", *rate.bound()) : "max";
}

/// Keys in any order, each at most once; one that is absent is unlimited.
Result<CgroupValue> parse_io_max(std::string_view text) {
  IoMax out;
  const std::array<std::pair<std::string_view, IoMax::Rate*>, 4> fields{{
      {"rbps", &out.read_bytes},
      {"wbps", &out.write_bytes},
      {"riops", &out.read_ops},
      {"wiops", &out.write_ops},
  }};
  std::array<bool, 4> seen{};
  auto rest = trim(text);
  const auto refuse = [&] {
    return Error{Errc::kParse,
                 fmt::format("io.max: expected rbps=, wbps=, riops=, wiops= with a number or max, "
                             "got '{}'",
                             trim(text).substr(0, 200))};
  };
  while (const auto word = next_field(rest)) {
    const auto equals = word->find('=');
    if (equals == std::string_view::npos) return refuse();
    const auto key = word->substr(0, equals);
    const auto value = word->substr(equals + 1);
    const auto at = std::find_if(
        fields.begin(), fields.end(), [key](const auto& field) { return field.first == key; });
    if (at == fields.end()) return refuse();
    const auto index = static_cast<std::size_t>(at - fields.begin());
    if (std::exchange(seen[index], true)) return refuse();
    if (value == "max") continue;
    const auto n = parse_i64(value);
    if (!n || *n < 0) return refuse();
    *at->second = IoMax::Rate{*n};
  }
  return CgroupValue{out};
}

/// Words of printable characters, with one blank between two.
Result<CgroupValue> parse_line(CgroupFile file, std::string_view text) {
  Line out;
  auto rest = trim(text);
  while (const auto word = next_field(rest)) {
    if (!out.v.empty()) out.v += ' ';
    out.v += *word;
  }
  const bool printable =
      std::all_of(out.v.begin(), out.v.end(), [](char c) { return c >= ' ' && c <= '~'; });
  constexpr std::size_t kMaxLine = 500;
  if (!printable || out.v.empty() || out.v.size() > kMaxLine) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected 1 to {} printable characters, got {}",
                             to_string(file),
                             kMaxLine,
                             out.v.size())};
  }
  return CgroupValue{std::move(out)};
}

}  // namespace

std::string_view to_string(CgroupVersion v) { return v == CgroupVersion::kV1 ? "v1" : "v2"; }
std::string_view to_string(CgroupDriver d) {
  return d == CgroupDriver::kCgroupfs ? "cgroupfs" : "systemd";
}

std::string_view to_string(KubeQos q) {
  switch (q) {
    case KubeQos::kGuaranteed:
      return "Guaranteed";
    case KubeQos::kBurstable:
      return "Burstable";
    case KubeQos::kBestEffort:
      return "BestEffort";
  }
  return "?";
}

Result<CgroupPath> CgroupPath::parse(std::string_view text) {
  CgroupPath out;
  if (text.empty()) return out;
  const auto refuse = [&] {
    return Error{
        Errc::kRange,
        fmt::format("cgroup path: expected components of [A-Za-z0-9_.:@-] joined by '/', got '{}'",
                    text.substr(0, 80))};
  };
  if (text.size() > kMaxPath) return refuse();
  for (auto rest = text;;) {
    const auto slash = rest.find('/');
    if (!is_component(rest.substr(0, slash))) return refuse();
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  out.text_ = text;
  return out;
}

int CgroupPath::depth() const {
  return text_.empty() ? 0 : 1 + static_cast<int>(std::count(text_.begin(), text_.end(), '/'));
}

CgroupPath CgroupPath::parent() const {
  CgroupPath out;
  const auto slash = text_.rfind('/');
  if (slash != std::string::npos) out.text_ = text_.substr(0, slash);
  return out;
}

std::string_view CgroupPath::name() const {
  const auto slash = text_.rfind('/');
  return slash == std::string::npos ? std::string_view{text_}
                                    : std::string_view{text_}.substr(slash + 1);
}

CgroupPath CgroupPath::child(std::string_view component) const {
  if (!is_component(component)) {
    throw std::invalid_argument{fmt::format("not a cgroup path component: '{}'", component)};
  }
  CgroupPath out;
  out.text_ = text_.empty() ? std::string{component} : fmt::format("{}/{}", text_, component);
  return out;
}

bool CgroupPath::is_ancestor_of(const CgroupPath& other) const {
  if (text_.empty()) return !other.text_.empty();
  return other.text_.size() > text_.size() && other.text_[text_.size()] == '/' &&
         other.text_.starts_with(text_);
}

std::string to_string(const CgroupValue& value) {
  struct Visitor {
    std::string operator()(const CpuMax& c) const {
      const auto& q = c.quota.bound();
      return q ? fmt::format("{} {}", q->count(), c.period.count())
               : fmt::format("max {}", c.period.count());
    }
    std::string operator()(const CpuSet& s) const { return s.to_string(); }
    std::string operator()(const MemoryBound& b) const { return bytes_text(b); }
    std::string operator()(const Number& n) const { return fmt::format("{}", n.v); }
    std::string operator()(const IoMax& io) const {
      return fmt::format("rbps={} wbps={} riops={} wiops={}",
                         rate_text(io.read_bytes),
                         rate_text(io.write_bytes),
                         rate_text(io.read_ops),
                         rate_text(io.write_ops));
    }
    std::string operator()(const Line& line) const { return line.v; }
  };
  return std::visit(Visitor{}, value);
}

Result<CgroupValue> parse_cgroup_value(CgroupFile file, std::string_view text) {
  switch (traits_of(file).value) {
    case ValueKind::kCpuMax:
      return parse_cpu_max(text);
    case ValueKind::kCpuSet: {
      const auto set = CpuSet::parse(text);
      if (!set) return wrap(to_string(file), set.error());
      return CgroupValue{*set};
    }
    case ValueKind::kBytes: {
      auto bytes = parse_bytes(text);
      if (!bytes) return wrap(to_string(file), bytes.error());
      return bytes;
    }
    case ValueKind::kNumber: {
      const auto n = parse_i64(trim(text));
      if (!n) return wrap(to_string(file), n.error());
      return CgroupValue{Number{*n}};
    }
    case ValueKind::kIoMax:
      return parse_io_max(text);
    case ValueKind::kLine:
      return parse_line(file, text);
  }
  return Error{Errc::kParse, "unknown cgroup file"};
}

bool holds_type_of(CgroupFile file, const CgroupValue& value) {
  // The alternatives stand in the order of ValueKind.
  return value.index() == static_cast<std::size_t>(traits_of(file).value);
}

std::string to_string(const CgroupKey& key) {
  if (key.item.empty()) return fmt::format("/{} {}", key.path.str(), to_string(key.file));
  return fmt::format("/{} {} {}", key.path.str(), to_string(key.file), key.item);
}
std::ostream& operator<<(std::ostream& os, const CgroupKey& key) { return os << to_string(key); }
std::ostream& operator<<(std::ostream& os, const CgroupValue& value) {
  return os << to_string(value);
}

}  // namespace koordlet
