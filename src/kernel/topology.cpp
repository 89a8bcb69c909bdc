#include <dirent.h>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"
#include "kernel/procfs.hpp"

namespace koordlet::kernel {
namespace {

Result<CpuSet> read_list(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto set = CpuSet::parse(*text);
  if (!set) return Error{Errc::kParse, fmt::format("{}: {}", path, set.error().context)};
  return *set;
}

/// One small number; 0 where the file is missing, or where firmware left the id unknown (-1).
Result<int> read_id(const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    if (text.error().code == Errc::kNotFound) return 0;
    return text.error();
  }
  const auto n = parse_i64(trim(*text));
  if (!n || *n > std::numeric_limits<int>::max()) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected an id, got '{}'", path, trim(*text).substr(0, 40))};
  }
  return *n < 0 ? 0 : static_cast<int>(*n);
}

/// CPU -> NUMA node. Ids may have gaps; a node without CPUs (memory only, generic initiator) adds
/// nothing. A kernel without NUMA has no such folder.
Result<std::map<int, int>> read_numa(const std::string& folder) {
  std::map<int, int> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir(folder.c_str()), ::closedir};
  if (!dir) return out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name{entry->d_name};
    if (!name.starts_with("node")) continue;
    const auto node = parse_u64(name.substr(4));
    if (!node || *node > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) continue;
    const auto cpus = read_list(fmt::format("{}/{}/cpulist", folder, name));
    if (!cpus) {
      if (cpus.error().code == Errc::kNotFound) continue;
      return cpus.error();
    }
    for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
      if (cpus->contains(cpu)) out[cpu] = static_cast<int>(*node);
    }
  }
  return out;
}

}  // namespace

Result<std::vector<CpuInfo>> read_topology(const HostRoots& roots) {
  const auto system = roots.sys + "/devices/system";
  const auto online = read_list(system + "/cpu/online");
  if (!online) return online.error();
  const auto numa = read_numa(system + "/node");
  if (!numa) return numa.error();

  // The kernel numbers cores anew in each socket (and, on some, in each die).
  std::map<std::tuple<int, int, int>, int> core_index;
  std::vector<CpuInfo> out;
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!online->contains(cpu)) continue;
    const auto folder = fmt::format("{}/cpu/cpu{}/topology", system, cpu);
    const auto core = read_id(folder + "/core_id");
    if (!core) return core.error();
    const auto die = read_id(folder + "/die_id");
    if (!die) return die.error();
    const auto socket = read_id(folder + "/physical_package_id");
    if (!socket) return socket.error();
    const auto next = static_cast<int>(core_index.size());
    const auto index = core_index.emplace(std::tuple{*socket, *die, *core}, next).first->second;
    const auto node = numa->find(cpu);
    out.push_back({cpu, index, *socket, node == numa->end() ? 0 : node->second});
  }
  return out;
}

}  // namespace koordlet::kernel
