#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernel/perf_group.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::uint64_t kMostValues = 64;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kHead = 3;  // words before the values: nr, enabled, running

/// The event's value in its CPU's reading; nullptr: it is not there.
const PerfGroupReading::Value* value_of(const PerfCpuReading& cpu, std::size_t event) {
  if (event >= cpu.ids.size()) return nullptr;
  const auto& values = cpu.reading.values;
  const auto at = std::find_if(
      values.begin(), values.end(), [&](const auto& v) { return v.id == cpu.ids[event]; });
  return at == values.end() ? nullptr : &*at;
}

Result<std::optional<double>> sum_event(std::span<const PerfCpuReading> cpus, std::size_t event) {
  double sum = 0;
  bool had_time = false, ran = false;
  for (const auto& cpu : cpus) {
    const auto* value = value_of(cpu, event);
    if (value == nullptr)
      return Error{Errc::kParse, fmt::format("perf group: no value of event {}", event)};
    const auto& r = cpu.reading;
    if (r.enabled_ns == 0) continue;  // no task of the cgroup was on this CPU
    had_time = true;
    const auto count = scaled(value->value, r.enabled_ns, r.running_ns);
    if (!count) continue;
    ran = true;
    sum += *count;
  }
  if (had_time && !ran) return std::optional<double>{};
  return std::optional<double>{sum};
}

}  // namespace

Result<PerfGroupReading> parse_perf_group(std::span<const std::byte> bytes) {
  if (bytes.size() < kHead * kWord) {
    return Error{
        Errc::kParse,
        fmt::format("perf group: expected {} bytes or more, got {}", kHead * kWord, bytes.size())};
  }
  const auto word = [&](std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + index * kWord, kWord);
    return value;
  };
  const auto count = word(0);
  if (count > kMostValues || bytes.size() < (kHead + 2 * count) * kWord) {
    return Error{Errc::kParse,
                 fmt::format("perf group: {} values in {} bytes", count, bytes.size())};
  }
  PerfGroupReading out;
  out.enabled_ns = word(1);
  out.running_ns = word(2);
  for (std::size_t i = 0; i < count; ++i)
    out.values.push_back({word(kHead + 2 * i), word(kHead + 2 * i + 1)});
  return out;
}

std::optional<double> scaled(std::uint64_t value,
                             std::uint64_t enabled_ns,
                             std::uint64_t running_ns) {
  if (enabled_ns == 0 || running_ns == 0) return std::nullopt;
  if (running_ns >= enabled_ns) return static_cast<double>(value);  // it ran all the time
  return static_cast<double>(value) * static_cast<double>(enabled_ns) /
         static_cast<double>(running_ns);
}

Result<PerfCounts> sum_counts(std::span<const PerfCpuReading> cpus, std::size_t events) {
  PerfCounts out;
  for (std::size_t event = 0; event < events; ++event) {
    const auto sum = sum_event(cpus, event);
    if (!sum) return sum.error();
    out.values.push_back(*sum);
  }
  return out;
}

}  // namespace koordlet::kernel
