#include "kernel/disk_stats.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/lines.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::uint64_t kSector = 512;  // whatever the device's own sectors are

Result<std::uint64_t> number(std::string_view what, std::string_view text) {
  auto n = parse_u64(text);
  if (!n) return Error{Errc::kParse, fmt::format("{}: {}", what, n.error().context)};
  return n;
}

/// The first `N` fields of a line as numbers; kParse when there are fewer.
template <std::size_t N>
Result<std::array<std::uint64_t, N>> numbers(std::string_view what, std::string_view rest) {
  std::array<std::uint64_t, N> out{};
  for (std::size_t i = 0; i < N; ++i) {
    const auto field = next_field(rest);
    if (!field) {
      return Error{Errc::kParse,
                   fmt::format("{}: expected at least {} numbers, got {}", what, N, i)};
    }
    const auto n = number(what, *field);
    if (!n) return n.error();
    out[i] = *n;
  }
  return out;
}

Result<std::chrono::milliseconds> time_of(std::string_view what, std::uint64_t ms) {
  if (ms > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 1'000'000))
    return Error{Errc::kParse, fmt::format("{}: expected a time, got {} ms", what, ms)};
  return std::chrono::milliseconds{static_cast<std::int64_t>(ms)};
}

Result<DiskCounters> parse_disk_line(std::string_view line) {
  const auto major = next_field(line), minor = next_field(line), name = next_field(line);
  if (!major || !minor || !name) return Error{Errc::kParse, "expected major, minor and a name"};
  const auto device = parse_device_number(fmt::format("{}:{}", *major, *minor));
  if (!device) return device.error();
  // reads merged sectors ms, writes merged sectors ms, in flight, io ms, weighted ms
  const auto n = numbers<11>(name->substr(0, 64), line);
  if (!n) return n.error();
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max() / kSector;
  if ((*n)[2] > kMost || (*n)[6] > kMost)
    return Error{Errc::kParse, fmt::format("{}: expected a count of sectors", *name)};
  const auto reading = time_of(*name, (*n)[3]);
  const auto writing = time_of(*name, (*n)[7]);
  const auto busy = time_of(*name, (*n)[9]);
  if (!reading) return reading.error();
  if (!writing) return writing.error();
  if (!busy) return busy.error();
  DiskCounters out;
  out.device = *device;
  out.name = std::string{*name};
  out.reads = (*n)[0];
  out.read_bytes = (*n)[2] * kSector;
  out.read_time = *reading;
  out.writes = (*n)[4];
  out.write_bytes = (*n)[6] * kSector;
  out.write_time = *writing;
  out.in_flight = (*n)[8];
  out.io_time = *busy;
  return out;
}

Result<NetCounters> parse_net_line(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return Error{Errc::kParse, "expected '<interface>:'"};
  const auto name = trim(line.substr(0, colon));
  if (name.empty()) return Error{Errc::kParse, "expected the name of an interface"};
  // rx: bytes packets errs drop fifo frame compressed multicast, tx: bytes packets errs drop
  const auto n = numbers<12>(name.substr(0, 64), line.substr(colon + 1));
  if (!n) return n.error();
  NetCounters out;
  out.name = std::string{name};
  out.rx_bytes = (*n)[0];
  out.rx_packets = (*n)[1];
  out.rx_errors = (*n)[2];
  out.rx_dropped = (*n)[3];
  out.tx_bytes = (*n)[8];
  out.tx_packets = (*n)[9];
  out.tx_errors = (*n)[10];
  out.tx_dropped = (*n)[11];
  return out;
}

}  // namespace

std::string to_string(DeviceNumber d) { return fmt::format("{}:{}", d.major, d.minor); }

Result<DeviceNumber> parse_device_number(std::string_view text) {
  const auto colon = text.find(':');
  const auto bad = [&] {
    return Error{Errc::kParse,
                 fmt::format("expected '<major>:<minor>', got '{}'", text.substr(0, 40))};
  };
  if (colon == std::string_view::npos) return bad();
  const auto major = parse_u64(text.substr(0, colon));
  const auto minor = parse_u64(text.substr(colon + 1));
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  if (!major || !minor || *major > kMost || *minor > kMost) return bad();
  return DeviceNumber{static_cast<std::uint32_t>(*major), static_cast<std::uint32_t>(*minor)};
}

Result<std::vector<DiskCounters>> parse_disk_stats(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::vector<DiskCounters> out;
  while (const auto line = next_line(text)) {
    if (trim(*line).empty()) continue;
    auto disk = parse_disk_line(*line);
    if (!disk) return disk.error();
    out.push_back(std::move(*disk));
  }
  return out;
}

Result<std::vector<NetCounters>> parse_net_dev(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::vector<NetCounters> out;
  bool heading = false;
  while (const auto line = next_line(text)) {
    if (trim(*line).empty()) continue;
    if (line->find('|') != std::string_view::npos) {  // the two lines of column names
      heading = true;
      continue;
    }
    auto net = parse_net_line(*line);
    if (!net) return net.error();
    out.push_back(std::move(*net));
  }
  if (!heading) return Error{Errc::kParse, "expected the line of column names"};
  return out;
}

}  // namespace koordlet::kernel
