#include <algorithm>
#include <limits>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cpu_info.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr int kMostIndexes = 16;

/// nullopt: the file is not there.
Result<std::optional<std::string>> read_word(const std::string& path) {
  const auto text = read_file(path, 64 * 1024);
  if (text) return std::optional{std::string{trim(*text)}};
  if (text.error().code == Errc::kNotFound) return std::optional<std::string>{};
  return text.error();
}

Error damaged(const std::string& path, std::string_view expected, std::string_view got) {
  return {Errc::kParse,
          fmt::format("{}: expected {}, got '{}'", path, expected, got.substr(0, 40))};
}

/// "32K", "266240K"; other units are not printed by any kernel, but would be plain.
std::optional<Bytes> parse_size(std::string_view text) {
  std::int64_t unit = 1;
  if (!text.empty()) {
    const auto at = std::string_view{"KMG"}.find(text.back());
    if (at != std::string_view::npos) {
      unit = std::int64_t{1} << (10 * (at + 1));
      text.remove_suffix(1);
    }
  }
  const auto n = parse_u64(text);
  if (!n || *n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / unit))
    return std::nullopt;
  return Bytes{static_cast<std::int64_t>(*n) * unit};
}

std::optional<CacheType> parse_type(std::string_view text) {
  if (text == "Data") return CacheType::kData;
  if (text == "Instruction") return CacheType::kInstruction;
  if (text == "Unified") return CacheType::kUnified;
  return std::nullopt;
}

Result<std::optional<int>> read_number(const std::string& path) {
  const auto text = read_word(path);
  if (!text) return text.error();
  if (!*text) return std::optional<int>{};
  const auto n = parse_u64(**text);
  if (!n || *n > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return damaged(path, "a number", **text);
  return std::optional{static_cast<int>(*n)};
}

/// nullopt: the kernel does not say all that makes it up.
Result<std::optional<CpuCache>> read_cache(const std::string& folder, const CpuSet& online) {
  const auto level = read_number(folder + "/level");
  const auto type = read_word(folder + "/type");
  const auto size = read_word(folder + "/size");
  const auto shared = read_word(folder + "/shared_cpu_list");
  const auto id = read_number(folder + "/id");
  if (!level) return level.error();
  if (!type) return type.error();
  if (!size) return size.error();
  if (!shared) return shared.error();
  if (!id) return id.error();
  if (!*level || !*type || !*size || !*shared) return std::optional<CpuCache>{};
  CpuCache out;
  out.level = **level;
  out.id = *id;
  const auto kind = parse_type(**type);
  if (!kind) return damaged(folder + "/type", "Data, Instruction or Unified", **type);
  out.type = *kind;
  const auto bytes = parse_size(**size);
  if (!bytes) return damaged(folder + "/size", "a size such as 32K", **size);
  out.size = *bytes;
  const auto cpus = CpuSet::parse(**shared);
  if (!cpus) return wrap(folder + "/shared_cpu_list", cpus.error());
  out.cpus = *cpus & online;
  return std::optional{out};
}

}  // namespace

std::optional<bool> read_smt_active(const HostRoots& roots) {
  const auto text = read_file(roots.sys + "/devices/system/cpu/smt/active", 64);
  if (!text) return std::nullopt;
  const auto value = trim(*text);
  if (value == "1") return true;
  if (value == "0") return false;
  return std::nullopt;
}

Result<std::vector<CpuCache>> read_caches(const HostRoots& roots) {
  const auto system = roots.sys + "/devices/system/cpu";
  const auto text = read_file(system + "/online");
  if (!text) return text.error();
  const auto online = CpuSet::parse(*text);
  if (!online) return wrap(system + "/online", online.error());

  std::vector<CpuCache> out;
  std::vector<CpuSet> covered(kMostIndexes);  // by index: CPUs whose cache is known already
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!online->contains(cpu)) continue;
    for (int index = 0; index < kMostIndexes; ++index) {
      auto& known = covered[static_cast<std::size_t>(index)];
      if (known.contains(cpu)) continue;
      const auto folder = fmt::format("{}/cpu{}/cache/index{}", system, cpu, index);
      if (::access(folder.c_str(), F_OK) != 0) break;
      const auto cache = read_cache(folder, *online);
      if (!cache) return cache.error();
      if (!*cache) continue;
      known = known | (*cache)->cpus;
      out.push_back(**cache);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const CpuCache& a, const CpuCache& b) {
    return std::tuple{a.level, a.type} < std::tuple{b.level, b.type};
  });
  return out;
}

}  // namespace koordlet::kernel
