#include "kernel/io_counters.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/parse.hpp"

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

/// "rbytes=1 wbytes=2 ..."; false when there is none of the four.
Result<bool> parse_values(std::string_view rest, IoCounters& out) {
  bool any = false;
  while (const auto field = next_field(rest)) {
    const auto equals = field->find('=');
    const auto name = field->substr(0, equals);
    for (const auto& key : kV2Keys) {
      if (key.name != name || equals == std::string_view::npos) continue;
      const auto n = parse_u64(field->substr(equals + 1));
      if (!n) return Error{Errc::kParse, fmt::format("{}: {}", name, n.error().context)};
      out.*key.to = *n;
      any = true;
    }
  }
  return any;
}

/// One file of v1: "MAJ:MIN Read 123". `read` and `write` say which members it fills.
Result<void> parse_blkio_file(std::string_view text,
                              std::uint64_t IoCounters::*read,
                              std::uint64_t IoCounters::*write,
                              std::map<DeviceNumber, IoCounters>& out) {
  while (auto line = next_line(text)) {
    const auto device = next_field(*line);
    if (!device || *device == "Total") continue;
    const auto op = next_field(*line), value = next_field(*line);
    const auto number = parse_device_number(*device);
    if (!number) return number.error();
    if (!op || !value) return Error{Errc::kParse, fmt::format("{}: expected 'Read 1'", *device)};
    if (*op != "Read" && *op != "Write")
      continue;  // Sync, Async, Discard and Total are others' sums
    const auto n = parse_u64(*value);
    if (!n) return Error{Errc::kParse, fmt::format("{} {}: {}", *device, *op, n.error().context)};
    auto& counters = out[*number];
    counters.device = *number;
    counters.*(*op == "Read" ? read : write) = *n;
  }
  return {};
}

}  // namespace

Result<std::vector<IoCounters>> parse_io_stat(std::string_view text) {
  std::vector<IoCounters> out;
  while (auto line = next_line(text)) {
    // Some kernels print devices without values, and then the next one on the same line.
    IoCounters current;
    const auto device = next_field(*line);
    if (!device) continue;
    const auto number = parse_device_number(*device);
    if (!number) return number.error();
    current.device = *number;
    auto rest = *line;
    while (const auto field = next_field(rest)) {
      const auto next = parse_device_number(*field);
      if (!next) break;
      current.device = *next;
      *line = rest;
    }
    const auto any = parse_values(*line, current);
    if (!any) return wrap(to_string(current.device), any.error());
    if (*any) out.push_back(current);
  }
  return out;
}

Result<std::vector<IoCounters>> parse_blkio(std::string_view service_bytes,
                                            std::string_view serviced) {
  std::map<DeviceNumber, IoCounters> devices;
  auto ok =
      parse_blkio_file(service_bytes, &IoCounters::read_bytes, &IoCounters::write_bytes, devices);
  if (!ok) return wrap("service bytes", ok.error());
  ok = parse_blkio_file(serviced, &IoCounters::reads, &IoCounters::writes, devices);
  if (!ok) return wrap("serviced", ok.error());
  std::vector<IoCounters> out;
  for (const auto& [number, counters] : devices) out.push_back(counters);
  return out;
}

}  // namespace koordlet::kernel
