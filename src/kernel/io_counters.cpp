#include "kernel/io_counters.hpp"

#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/lines.hpp"

namespace koordlet::kernel {
namespace {

struct Key {
  std::string_view name;
  std::uint64_t IoCounters::*to;
};
constexpr Key kV2Keys[] = {{"rbytes", &IoCounters::read_bytes},
                           {"wbytes", &IoCounters::write_bytes},
                           {"rios", &IoCounters::reads},
                           {"wios", &IoCounters::writes}};
constexpr unsigned kAllKeys = 0b1111;
/// What the kernel prints for a device that is on its way out.
constexpr std::string_view kNameless = "(unknown)";

/// "rbytes=1 wbytes=2 ..."; which of the keys were there, as bits.
Result<unsigned> parse_values(std::string_view rest, IoCounters& out) {
  unsigned seen = 0;
  while (const auto field = next_field(rest)) {
    const auto equals = field->find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = field->substr(0, equals);
    for (unsigned i = 0; i < std::size(kV2Keys); ++i) {
      if (kV2Keys[i].name != name) continue;
      const auto n = parse_u64(field->substr(equals + 1));
      if (!n) return Error{Errc::kParse, fmt::format("{}: {}", name, n.error().context)};
      out.*kV2Keys[i].to = *n;
      seen |= 1u << i;
    }
  }
  return seen;
}

/// The device that the values of a line belong to; nullopt: none that has a number. Some kernels
/// print devices without values, and then the next one on the same line: the last one counts.
Result<std::optional<DeviceNumber>> take_device(std::string_view& line) {
  std::optional<DeviceNumber> out;
  for (bool first = true;; first = false) {
    auto rest = line;
    const auto field = next_field(rest);
    if (!field || (!first && field->find('=') != std::string_view::npos)) break;
    if (*field == kNameless) {
      out.reset();
    } else if (const auto device = parse_device_number(*field)) {
      out = *device;
    } else if (first) {
      return device.error();
    } else {
      break;  // a word that a later kernel may print among the values
    }
    line = rest;
  }
  return out;
}

/// What the two files of v1 say of a device, as bits: it counts when all is there.
enum Half : unsigned { kReadBytes = 1, kWriteBytes = 2, kReads = 4, kWrites = 8 };
struct Device {
  IoCounters counters;
  unsigned seen = 0;
};
using Devices = std::map<DeviceNumber, Device>;

struct BlkioFile {
  std::uint64_t IoCounters::*read;
  std::uint64_t IoCounters::*write;
  unsigned read_bit, write_bit;
};
constexpr BlkioFile kServiceBytes{
    &IoCounters::read_bytes, &IoCounters::write_bytes, kReadBytes, kWriteBytes};
constexpr BlkioFile kServiced{&IoCounters::reads, &IoCounters::writes, kReads, kWrites};

/// Lines of "MAJ:MIN Read 123".
Result<void> parse_blkio_file(std::string_view text, const BlkioFile& file, Devices& out) {
  if (auto whole = require_whole_lines(text); !whole) return whole;
  while (auto line = next_line(text)) {
    const auto device = next_field(*line);
    if (!device || *device == "Total" || *device == kNameless) continue;
    const auto op = next_field(*line), value = next_field(*line);
    const auto number = parse_device_number(*device);
    if (!number) return number.error();
    if (!op || !value) return Error{Errc::kParse, fmt::format("{}: expected 'Read 1'", *device)};
    const auto n = parse_u64(*value);
    if (!n) return Error{Errc::kParse, fmt::format("{} {}: {}", *device, *op, n.error().context)};
    auto& at = out[*number];
    // Sync, Async, Discard and Total are others' sums.
    const bool read = *op == "Read";
    if (!read && *op != "Write") continue;
    at.counters.*(read ? file.read : file.write) = *n;
    at.seen |= read ? file.read_bit : file.write_bit;
  }
  const unsigned both = file.read_bit | file.write_bit;
  for (const auto& [number, device] : out) {
    const auto here = device.seen & both;
    if (here != both && (here != 0 || device.seen == 0)) {
      return Error{Errc::kParse, fmt::format("{}: expected Read and Write", to_string(number))};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<IoCounters>> parse_io_stat(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::vector<IoCounters> out;
  while (auto line = next_line(text)) {
    if (trim(*line).empty()) continue;
    const auto device = take_device(*line);
    if (!device) return device.error();
    if (!*device) continue;
    IoCounters counters;
    counters.device = **device;
    const auto seen = parse_values(*line, counters);
    if (!seen) return wrap(to_string(counters.device), seen.error());
    if (*seen == 0) continue;
    if (*seen != kAllKeys) {
      return Error{
          Errc::kParse,
          fmt::format("{}: expected rbytes, wbytes, rios and wios", to_string(counters.device))};
    }
    out.push_back(counters);
  }
  return out;
}

Result<std::vector<IoCounters>> parse_blkio(std::string_view service_bytes,
                                            std::string_view serviced) {
  Devices devices;
  auto ok = parse_blkio_file(service_bytes, kServiceBytes, devices);
  if (!ok) return wrap("service bytes", ok.error());
  ok = parse_blkio_file(serviced, kServiced, devices);
  if (!ok) return wrap("serviced", ok.error());
  std::vector<IoCounters> out;
  for (const auto& [number, device] : devices) {
    if (device.seen != (kReadBytes | kWriteBytes | kReads | kWrites)) continue;
    out.push_back(device.counters);
    out.back().device = number;
  }
  return out;
}

}  // namespace koordlet::kernel
