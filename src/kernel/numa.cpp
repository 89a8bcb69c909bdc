#include "kernel/numa.hpp"

#include <algorithm>
#include <dirent.h>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

Result<std::int64_t> whole(std::string_view what, std::string_view text, std::int64_t most) {
  const auto n = parse_i64(text);
  if (!n || *n < 0 || *n > most) {
    return Error{
        Errc::kParse,
        fmt::format("{}: expected a number of 0 to {}, got '{}'", what, most, text.substr(0, 40))};
  }
  return *n;
}

/// "N0=12 N1=3" behind the first field, times `unit`, added to `out`.
Result<void> add_nodes(std::string_view rest, std::int64_t unit, std::map<int, Bytes>& out) {
  while (const auto field = next_field(rest)) {
    const auto equals = field->find('=');
    if (!field->starts_with('N') || equals == std::string_view::npos) continue;
    const auto node = whole("node", field->substr(1, equals - 1), 1 << 20);
    if (!node) return node.error();
    const auto count = whole(
        *field, field->substr(equals + 1), std::numeric_limits<std::int64_t>::max() / 4 / unit);
    if (!count) return count.error();
    out[static_cast<int>(*node)] += Bytes{*count * unit};
  }
  return {};
}

}  // namespace

Result<NumaUse> parse_numa_use(int node, std::string_view text) {
  struct Key {
    std::string_view name;
    std::optional<std::int64_t> kb = std::nullopt;
  };
  Key keys[] = {
      {"MemTotal:"}, {"MemFree:"}, {"Active(file):"}, {"Inactive(file):"}, {"SReclaimable:"}};
  while (auto line = next_line(text)) {
    const auto word = next_field(*line), id = next_field(*line), key = next_field(*line);
    if (word != "Node" || !id || !key) continue;
    for (auto& k : keys) {
      if (k.name != *key) continue;
      const auto value = next_field(*line), unit = next_field(*line);
      if (!value || unit != "kB")
        return Error{Errc::kParse, fmt::format("{} expected '<number> kB'", *key)};
      const auto n = whole(*key, *value, std::numeric_limits<std::int64_t>::max() / 8 / 1024);
      if (!n) return n.error();
      k.kb = *n;
    }
  }
  for (const auto& k : keys) {
    if (!k.kb) return Error{Errc::kParse, fmt::format("expected a line {}", k.name)};
  }
  const auto free = *keys[1].kb + *keys[2].kb + *keys[3].kb + *keys[4].kb;
  const auto used = std::max<std::int64_t>(0, *keys[0].kb - free);
  return NumaUse{node, Bytes{*keys[0].kb * 1024}, Bytes{used * 1024}};
}

Result<std::vector<NumaUse>> read_numa_use(const HostRoots& roots) {
  const auto folder = roots.sys + "/bus/node/devices";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir(folder.c_str()), ::closedir};
  if (!dir) return errno_error(errno, folder, "open");
  std::vector<NumaUse> out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name{entry->d_name};
    if (!name.starts_with("node")) continue;
    const auto id = whole("node", name.substr(4), 1 << 20);
    if (!id) continue;
    const auto file = fmt::format("{}/{}/meminfo", folder, name);
    const auto text = read_file(file);
    if (!text) {
      if (text.error().code == Errc::kNotFound) continue;  // a generic initiator has no memory
      return text.error();
    }
    const auto use = parse_numa_use(static_cast<int>(*id), *text);
    if (!use) return wrap(file, use.error());
    out.push_back(*use);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return out;
}

Result<std::map<int, std::uint64_t>> parse_cpu_lines(std::string_view text) {
  std::map<int, std::uint64_t> out;
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (!label || !label->starts_with("cpu") || *label == "cpu") continue;
    const auto cpu = whole("cpu", label->substr(3), 1 << 20);
    if (!cpu) return cpu.error();
    // user nice system idle iowait irq softirq
    std::uint64_t used = 0;
    for (int column = 0; column < 7; ++column) {
      const auto field = next_field(*line);
      if (!field) {
        return Error{Errc::kParse,
                     fmt::format("{}: expected at least 7 columns, got {}", *label, column)};
      }
      const auto n = parse_u64(*field);
      if (!n) return Error{Errc::kParse, fmt::format("{}: {}", *label, n.error().context)};
      if (column != 3 && column != 4) used += *n;
    }
    out[static_cast<int>(*cpu)] = used;
  }
  if (out.empty()) return Error{Errc::kParse, "expected lines that start with 'cpu0'"};
  return out;
}

/// The plain lines count the cgroup alone, to which a pod's memory is not charged.
Result<std::map<int, Bytes>> parse_cgroup_numa_v1(std::string_view text, std::int64_t page_size) {
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (!label || !label->starts_with("hierarchical_total=")) continue;
    std::map<int, Bytes> out;
    if (const auto ok = add_nodes(*line, page_size, out); !ok) return ok.error();
    return out;
  }
  return Error{Errc::kParse, "expected a line hierarchical_total="};
}

Result<std::map<int, Bytes>> parse_cgroup_numa_v2(std::string_view text) {
  std::map<int, Bytes> out;
  int seen = 0;
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (label != "anon" && label != "file") continue;
    if (const auto ok = add_nodes(*line, 1, out); !ok) return wrap(*label, ok.error());
    ++seen;
  }
  if (seen != 2) return Error{Errc::kParse, "expected the lines anon and file"};
  return out;
}

}  // namespace koordlet::kernel
