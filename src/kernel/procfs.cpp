#include "kernel/procfs.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/lines.hpp"
#include "kernel/numa.hpp"

namespace koordlet::kernel {
namespace {

using std::chrono::microseconds;

Result<Bytes> parse_kilobytes(std::string_view key, std::string_view rest) {
  const auto number = next_field(rest);
  const auto unit = next_field(rest);
  if (!number || !unit || *unit != "kB") {
    return Error{Errc::kParse, fmt::format("{}: expected '<number> kB'", key)};
  }
  const auto n = parse_u64(*number);
  if (!n) return Error{Errc::kParse, fmt::format("{}: {}", key, n.error().context)};
  constexpr std::int64_t kMaxKb = std::numeric_limits<std::int64_t>::max() / 1024;
  if (*n > static_cast<std::uint64_t>(kMaxKb)) {
    return Error{Errc::kParse, fmt::format("{}: expected a size, got {} kB", key, *n)};
  }
  return Bytes{static_cast<std::int64_t>(*n) * 1024};
}

Result<double> parse_percent(std::string_view key, std::string_view text) {
  double value = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  // Written so that "nan" fails as well.
  if (ec != std::errc{} || stop != end || !(value >= 0 && value <= 100)) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected 0..100 percent, got '{}'", key, text.substr(0, 40))};
  }
  return value;
}

/// "avg10=0.00 avg60=0.00 avg300=0.00 total=0"; keys that later kernels may add are skipped.
Result<Psi::Line> parse_psi_line(std::string_view rest) {
  Psi::Line line;
  std::optional<std::int64_t> total;
  struct Average {
    std::string_view key;
    double* to;
    bool seen;
  };
  std::array<Average, 3> averages{{{"avg10", &line.avg10, false},
                                   {"avg60", &line.avg60, false},
                                   {"avg300", &line.avg300, false}}};
  while (const auto field = next_field(rest)) {
    const auto equals = field->find('=');
    if (equals == std::string_view::npos) continue;
    const auto key = field->substr(0, equals);
    const auto value = field->substr(equals + 1);
    if (key == "total") {
      const auto n = parse_i64(value);
      if (!n) return Error{Errc::kParse, "total: " + n.error().context};
      if (*n < 0) return Error{Errc::kParse, fmt::format("total: expected 0 or more, got {}", *n)};
      total = *n;
    }
    for (auto& average : averages) {
      if (key != average.key) continue;
      const auto percent = parse_percent(key, value);
      if (!percent) return percent.error();
      *average.to = *percent;
      average.seen = true;
    }
  }
  for (const auto& average : averages) {
    if (!average.seen) return Error{Errc::kParse, fmt::format("expected {}=", average.key)};
  }
  if (!total) return Error{Errc::kParse, "expected total="};
  line.total = microseconds{*total};
  return line;
}

template <class Parse>
auto read_kept(std::optional<KeptFile>& kept,
               const std::string& path,
               Parse&& parse,
               bool may_be_empty = false) -> decltype(parse(std::string_view{})) {
  if (!kept) {
    auto opened = KeptFile::open(path, may_be_empty);
    if (!opened) return opened.error();
    kept = std::move(*opened);
  }
  const auto text = kept->read();
  if (!text) {
    kept.reset();
    return text.error();
  }
  auto value = parse(*text);
  if (!value) return wrap(path, value.error());
  return value;
}

constexpr std::array<std::string_view, 3> kPressureFiles{"cpu", "memory", "io"};

}  // namespace

Result<CpuTicks> parse_proc_stat(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  while (auto line = next_line(text)) {
    if (const auto label = next_field(*line); label != "cpu") continue;
    // user nice system idle iowait irq softirq [steal guest guest_nice]
    constexpr std::size_t kNeeded = 7, kSteal = 7;
    std::array<std::uint64_t, kSteal + 1> column{};
    std::size_t count = 0;
    while (count < column.size()) {
      const auto field = next_field(*line);
      if (!field) break;
      const auto n = parse_u64(*field);
      if (!n) {
        return Error{Errc::kParse,
                     fmt::format("cpu line, column {}: {}", count + 1, n.error().context)};
      }
      column[count++] = *n;
    }
    if (count < kNeeded) {
      return Error{Errc::kParse,
                   fmt::format("cpu line: expected at least {} columns, got {}", kNeeded, count)};
    }
    return CpuTicks{column[0] + column[1] + column[2] + column[5] + column[6], column[kSteal]};
  }
  return Error{Errc::kParse, "expected a line that starts with 'cpu'"};
}

Result<MemInfo> parse_meminfo(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::optional<Bytes> total, available, free;
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (!label) continue;
    auto* const to = *label == "MemTotal:"       ? &total
                     : *label == "MemAvailable:" ? &available
                     : *label == "MemFree:"      ? &free
                                                 : nullptr;
    if (to == nullptr) continue;
    const auto bytes = parse_kilobytes(label->substr(0, label->size() - 1), *line);
    if (!bytes) return bytes.error();
    *to = *bytes;
    if (total && available) return MemInfo{*total, *available, free};
  }
  return Error{Errc::kParse, total ? "expected a MemAvailable line" : "expected a MemTotal line"};
}

Result<Psi> parse_psi(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  Psi out;
  bool some = false;
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (label != "some" && label != "full") continue;
    const auto parsed = parse_psi_line(*line);
    if (!parsed) return wrap(*label, parsed.error());
    if (*label == "some") {
      out.some = *parsed;
      some = true;
    } else {
      out.full = *parsed;
    }
  }
  if (!some) return Error{Errc::kParse, "expected a 'some' line"};
  return out;
}

ProcFs::ProcFs(HostRoots roots) : roots_{std::move(roots)} {}

Result<CpuTicks> ProcFs::stat() {
  stat_text_.clear();
  return read_kept(stat_, roots_.proc + "/stat", [this](std::string_view text) {
    auto ticks = parse_proc_stat(text);
    // The CPU lines come first; the counters of interrupts behind them may be long.
    const auto end = text.find("\nintr");
    if (ticks) stat_text_ = text.substr(0, end == std::string_view::npos ? end : end + 1);
    return ticks;
  });
}

Result<std::map<int, std::uint64_t>> ProcFs::cpu_lines() const {
  if (stat_text_.empty()) return Error{Errc::kNotFound, roots_.proc + "/stat: not read yet"};
  auto lines = parse_cpu_lines(stat_text_);
  if (!lines) return wrap(roots_.proc + "/stat", lines.error());
  return lines;
}

Result<std::vector<DiskCounters>> ProcFs::disks() {
  return read_kept(disks_, roots_.proc + "/diskstats", parse_disk_stats, true);
}

Result<std::vector<NetCounters>> ProcFs::network() {
  auto nets = read_kept(network_, roots_.proc + "/net/dev", parse_net_dev);
  if (nets) std::erase_if(*nets, [](const NetCounters& n) { return n.name == "lo"; });
  return nets;
}

Result<MemInfo> ProcFs::meminfo() {
  return read_kept(meminfo_, roots_.proc + "/meminfo", parse_meminfo);
}

Result<Psi> ProcFs::pressure(std::string_view resource) {
  for (std::size_t i = 0; i < kPressureFiles.size(); ++i) {
    if (resource != kPressureFiles[i]) continue;
    return read_kept(pressure_[i], fmt::format("{}/pressure/{}", roots_.proc, resource), parse_psi);
  }
  return Error{
      Errc::kRange,
      fmt::format("pressure: expected cpu, memory or io, got '{}'", resource.substr(0, 40))};
}

long ProcFs::ticks_per_second() { return ::sysconf(_SC_CLK_TCK); }

}  // namespace koordlet::kernel
