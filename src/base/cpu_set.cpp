#include "base/cpu_set.hpp"

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet {
namespace {

Result<int> parse_cpu(std::string_view text) {
  const auto id = parse_u64(text);
  if (!id) return wrap("cpu list", id.error());
  if (*id >= CpuSet::kMaxCpus) {
    return Error{Errc::kRange,
                 fmt::format("cpu list: expected ids below {}, got {}", CpuSet::kMaxCpus, *id)};
  }
  return static_cast<int>(*id);
}

}  // namespace

CpuSet CpuSet::range(int first, int last) {
  CpuSet out;
  for (int cpu = first; cpu <= last; ++cpu) out.add(cpu);
  return out;
}

Result<CpuSet> CpuSet::parse(std::string_view text) {
  CpuSet out;
  text = trim(text);
  if (text.empty()) return out;
  for (;;) {
    const auto comma = text.find(',');
    const auto item = text.substr(0, comma);
    const auto dash = item.find('-');
    const auto first = parse_cpu(item.substr(0, dash));
    if (!first) return first.error();
    const auto last = dash == std::string_view::npos ? first : parse_cpu(item.substr(dash + 1));
    if (!last) return last.error();
    if (*last < *first) {
      return Error{Errc::kParse, fmt::format("cpu list: expected a rising range, got '{}'", item)};
    }
    out = out | range(*first, *last);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string CpuSet::to_string() const {
  std::string out;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!contains(cpu)) continue;
    int last = cpu;
    while (last + 1 < kMaxCpus && contains(last + 1)) ++last;
    if (!out.empty()) out += ',';
    out += last == cpu ? fmt::format("{}", cpu) : fmt::format("{}-{}", cpu, last);
    cpu = last;
  }
  return out;
}

}  // namespace koordlet
