#include "kernel/cpu_info.hpp"

#include <dirent.h>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

/// Value of the first "key : value" line.
std::string cpuinfo_value(std::string_view text, std::string_view key) {
  while (const auto line = next_line(text)) {
    const auto colon = line->find(':');
    if (colon == std::string_view::npos) continue;
    if (trim(line->substr(0, colon)) == key) return std::string{trim(line->substr(colon + 1))};
  }
  return {};
}

/// "1" or "0"; nullopt when the file is missing or holds something else.
std::optional<bool> read_flag(const std::string& path) {
  const auto text = read_file(path, 64);
  if (!text) return std::nullopt;
  const auto value = trim(*text);
  if (value == "1") return true;
  if (value == "0") return false;
  return std::nullopt;
}

/// MemTotal of "Node 0 MemTotal:       1048576 kB".
Result<std::optional<Bytes>> node_total(const std::string& path, std::string_view text) {
  while (const auto line = next_line(text)) {
    const auto at = line->find("MemTotal:");
    if (at == std::string_view::npos) continue;
    auto rest = line->substr(at + 9);
    const auto number = next_field(rest);
    const auto kib = number ? parse_u64(*number) : Result<std::uint64_t>{Error{Errc::kParse, ""}};
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 1024;
    if (!kib || *kib > kMost) {
      return Error{Errc::kParse, fmt::format("{}: MemTotal: expected a number of kB", path)};
    }
    return std::optional{Bytes{static_cast<std::int64_t>(*kib) * 1024}};
  }
  return std::optional<Bytes>{};
}

std::optional<Bytes> huge_pages(const std::string& node, std::int64_t kib) {
  const auto text =
      read_file(fmt::format("{}/hugepages/hugepages-{}kB/nr_hugepages", node, kib), 64);
  if (!text) return std::nullopt;
  const auto count = parse_i64(trim(*text));
  if (!count || *count < 0 || *count > (1LL << 31)) return std::nullopt;
  return Bytes{*count * kib * 1024};
}

}  // namespace

Result<CpuModel> read_cpu_model(const HostRoots& roots) {
  // One block of a few KiB a CPU; the first one is enough, and the same for all.
  const auto text = read_file(roots.proc + "/cpuinfo", 16u << 20);
  if (!text) return text.error();
  CpuModel out;
  out.vendor = cpuinfo_value(*text, "vendor_id");
  out.name = cpuinfo_value(*text, "model name");
  const auto cpu = roots.sys + "/devices/system/cpu";
  if (const auto off = read_flag(cpu + "/intel_pstate/no_turbo")) {
    out.turbo = !*off;
  } else {
    out.turbo = read_flag(cpu + "/cpufreq/boost");
  }
  if (const auto mask = read_file(roots.sys + "/fs/resctrl/info/L3/cbm_mask", 64)) {
    out.l3_mask = trim(*mask);
  }
  return out;
}

Result<std::map<int, NumaNodeMemory>> read_numa_memory(const HostRoots& roots) {
  std::map<int, NumaNodeMemory> out;
  const auto folder = roots.sys + "/devices/system/node";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir(folder.c_str()), ::closedir};
  if (!dir) return out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name{entry->d_name};
    if (!name.starts_with("node")) continue;
    const auto id = parse_u64(name.substr(4));
    if (!id || *id > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) continue;
    const auto node = fmt::format("{}/{}", folder, name);
    const auto text = read_file(node + "/meminfo");
    if (!text) {
      if (text.error().code == Errc::kNotFound) continue;
      return text.error();
    }
    const auto total = node_total(node + "/meminfo", *text);
    if (!total) return total.error();
    out[static_cast<int>(*id)] = {*total, huge_pages(node, 1048576), huge_pages(node, 2048)};
  }
  return out;
}

}  // namespace koordlet::kernel
