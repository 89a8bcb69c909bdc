#include "base/cgroup.hpp"

#include <algorithm>
#include <stdexcept>

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

std::string_view to_string(CgroupFile f) {
  switch (f) {
    case CgroupFile::kCpuMax:
      return "cpu.max";
    case CgroupFile::kCpuWeight:
      return "cpu.weight";
    case CgroupFile::kCpuIdle:
      return "cpu.idle";
    case CgroupFile::kCpuBvt:
      return "cpu.bvt_warp_ns";
    case CgroupFile::kCpuset:
      return "cpuset.cpus";
    case CgroupFile::kMemoryMin:
      return "memory.min";
    case CgroupFile::kMemoryLow:
      return "memory.low";
    case CgroupFile::kMemoryHigh:
      return "memory.high";
    case CgroupFile::kMemoryMax:
      return "memory.max";
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
  };
  return std::visit(Visitor{}, value);
}

Result<CgroupValue> parse_cgroup_value(CgroupFile file, std::string_view text) {
  switch (file) {
    case CgroupFile::kCpuMax:
      return parse_cpu_max(text);
    case CgroupFile::kCpuset: {
      const auto set = CpuSet::parse(text);
      if (!set) return wrap("cpuset.cpus", set.error());
      return CgroupValue{*set};
    }
    case CgroupFile::kMemoryMin:
    case CgroupFile::kMemoryLow:
    case CgroupFile::kMemoryHigh:
    case CgroupFile::kMemoryMax: {
      auto bytes = parse_bytes(text);
      if (!bytes) return wrap(to_string(file), bytes.error());
      return bytes;
    }
    case CgroupFile::kCpuWeight:
    case CgroupFile::kCpuIdle:
    case CgroupFile::kCpuBvt: {
      const auto n = parse_i64(trim(text));
      if (!n) return wrap(to_string(file), n.error());
      return CgroupValue{Number{*n}};
    }
  }
  return Error{Errc::kParse, "unknown cgroup file"};
}

bool holds_type_of(CgroupFile file, const CgroupValue& value) {
  switch (file) {
    case CgroupFile::kCpuMax:
      return std::holds_alternative<CpuMax>(value);
    case CgroupFile::kCpuset:
      return std::holds_alternative<CpuSet>(value);
    case CgroupFile::kMemoryMin:
    case CgroupFile::kMemoryLow:
    case CgroupFile::kMemoryHigh:
    case CgroupFile::kMemoryMax:
      return std::holds_alternative<MemoryBound>(value);
    case CgroupFile::kCpuWeight:
    case CgroupFile::kCpuIdle:
    case CgroupFile::kCpuBvt:
      return std::holds_alternative<Number>(value);
  }
  return false;
}

std::string to_string(const CgroupKey& key) {
  return fmt::format("/{} {}", key.path.str(), to_string(key.file));
}
std::ostream& operator<<(std::ostream& os, const CgroupKey& key) { return os << to_string(key); }
std::ostream& operator<<(std::ostream& os, const CgroupValue& value) {
  return os << to_string(value);
}

}  // namespace koordlet
