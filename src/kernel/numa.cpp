#include "kernel/numa.hpp"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "base/cpu_set.hpp"
#include "base/parse.hpp"
#include "kernel/fd.hpp"
#include "kernel/lines.hpp"

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

constexpr std::int64_t kMostNodes = 1 << 20;

/// "N0=12 N1=3", each times `unit`.
Result<std::map<int, Bytes>> parse_nodes(std::string_view rest, std::int64_t unit) {
  std::map<int, Bytes> out;
  while (const auto field = next_field(rest)) {
    const auto equals = field->find('=');
    if (!field->starts_with('N') || equals == std::string_view::npos) {
      return Error{Errc::kParse,
                   fmt::format("expected 'N<node>=<count>', got '{}'", field->substr(0, 40))};
    }
    const auto node = whole("node", field->substr(1, equals - 1), kMostNodes);
    if (!node) return node.error();
    const auto count = whole(
        *field, field->substr(equals + 1), std::numeric_limits<std::int64_t>::max() / 4 / unit);
    if (!count) return count.error();
    out[static_cast<int>(*node)] = Bytes{*count * unit};
  }
  if (out.empty()) return Error{Errc::kParse, "expected at least one node"};
  return out;
}

/// Nodes of accelerators, that no memory of this machine belongs to: <sys>/devices/system/node.
CpuSet nodes_without_memory(const HostRoots& roots) {
  const auto folder = roots.sys + "/devices/system/node/";
  const auto list = [&](const char* name) {
    const auto text = read_file(folder + name);
    const auto nodes = text ? CpuSet::parse(*text) : Result<CpuSet>{CpuSet{}};
    return nodes ? *nodes : CpuSet{};
  };
  return list("has_generic_initiator") - list("has_memory");
}

}  // namespace

Result<NumaUse> parse_numa_use(int node, std::string_view text) {
  if (const auto ok = require_whole_lines(text); !ok) return ok.error();
  struct Key {
    std::string_view name;
    std::optional<std::int64_t> kb = std::nullopt;
  };
  Key keys[] = {
      {"MemTotal:"}, {"MemFree:"}, {"Active(file):"}, {"Inactive(file):"}, {"SReclaimable:"}};
  while (auto line = next_line(text)) {
    const auto word = next_field(*line), id = next_field(*line), key = next_field(*line);
    if (word != "Node" || !id || !key) continue;
    if (*id != fmt::format_int{node}.str())
      return Error{Errc::kParse,
                   fmt::format("expected node {}, got '{}'", node, id->substr(0, 40))};
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
  const auto without = nodes_without_memory(roots);
  std::vector<NumaUse> out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name{entry->d_name};
    if (!name.starts_with("node")) continue;
    const auto id = whole("node", name.substr(4), kMostNodes);
    if (!id || without.contains(static_cast<int>(*id))) continue;
    const auto file = fmt::format("{}/{}/meminfo", folder, name);
    const auto text = read_file(file);
    if (!text) {
      if (text.error().code == Errc::kNotFound) continue;  // went away, or has no memory
      return text.error();
    }
    const auto use = parse_numa_use(static_cast<int>(*id), *text);
    if (!use) return wrap(file, use.error());
    if (use->total.v > 0) out.push_back(*use);  // else only CPUs
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return out;
}

Result<std::map<int, std::uint64_t>> parse_cpu_lines(std::string_view text) {
  if (const auto ok = require_whole_lines(text); !ok) return ok.error();
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
  if (const auto ok = require_whole_lines(text); !ok) return ok.error();
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (!label || !label->starts_with("hierarchical_total=")) continue;
    auto nodes = parse_nodes(*line, page_size);
    if (!nodes) return wrap("hierarchical_total", nodes.error());
    return nodes;
  }
  return Error{Errc::kParse, "expected a line hierarchical_total="};
}

Result<std::map<int, Bytes>> parse_cgroup_numa_v2(std::string_view text) {
  if (const auto ok = require_whole_lines(text); !ok) return ok.error();
  std::map<int, Bytes> anon, file;
  while (auto line = next_line(text)) {
    const auto label = next_field(*line);
    if (label != "anon" && label != "file") continue;
    auto nodes = parse_nodes(*line, 1);
    if (!nodes) return wrap(*label, nodes.error());
    (*label == "anon" ? anon : file) = std::move(*nodes);
  }
  if (anon.empty() || file.empty()) return Error{Errc::kParse, "expected the lines anon and file"};
  for (auto& [node, bytes] : anon) {
    const auto at = file.find(node);
    if (at == file.end() || file.size() != anon.size())
      return Error{Errc::kParse, "expected the same nodes in the lines anon and file"};
    bytes += at->second;
  }
  return anon;
}

}  // namespace koordlet::kernel
