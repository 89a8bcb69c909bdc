#include "metric_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace koordlet::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxCgroups = 24;
constexpr double kSectorBytes = 512;  // of /proc/diskstats, whatever the device has

struct Reading {
  std::uint64_t value = 0;
  double unit = 0;  // 0: a state; otherwise a counter, times this is a rate by second
};
using Readings = std::map<std::string, Reading>;

void read_stat(Readings& out) {
  constexpr std::string_view kFields[] = {
      "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
  const double milli = 1000.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::ifstream file{"/proc/stat"};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string key;
    std::uint64_t value = 0;
    words >> key;
    if (key.rfind("cpu", 0) == 0) {
      for (const auto field : kFields) {
        if (words >> value) out[key + "_" + std::string{field}] = {value, milli};
      }
    } else if (key == "ctxt" || key == "processes") {
      if (words >> value) out[key] = {value, 1};
    } else if (key == "procs_running" || key == "procs_blocked") {
      if (words >> value) out[key] = {value, 0};
    }
  }
}

void read_meminfo(Readings& out) {
  std::ifstream file{"/proc/meminfo"};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string key, unit;
    std::uint64_t value = 0;
    if (!(words >> key >> value >> unit) || unit != "kB") continue;
    key.pop_back();  // the colon
    out["mem_" + key] = {value * 1024, 0};
  }
}

void read_diskstats(Readings& out) {
  std::ifstream file{"/proc/diskstats"};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string name;
    std::uint64_t major = 0, minor = 0, v[10] = {};
    words >> major >> minor >> name;
    for (auto& x : v) words >> x;
    if (!words || name.rfind("loop", 0) == 0 || name.rfind("ram", 0) == 0) continue;
    out["disk_" + name + "_reads"] = {v[0], 1};
    out["disk_" + name + "_read_bytes"] = {v[2], kSectorBytes};
    out["disk_" + name + "_writes"] = {v[4], 1};
    out["disk_" + name + "_written_bytes"] = {v[6], kSectorBytes};
    out["disk_" + name + "_busy_ms"] = {v[9], 1};
  }
}

void read_net(Readings& out) {
  std::ifstream file{"/proc/net/dev"};
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    auto name = line.substr(0, colon);
    name.erase(0, name.find_first_not_of(' '));
    std::istringstream words{line.substr(colon + 1)};
    std::uint64_t v[10] = {};
    for (auto& x : v) words >> x;
    if (!words) continue;
    out["net_" + name + "_in_bytes"] = {v[0], 1};
    out["net_" + name + "_in_packets"] = {v[1], 1};
    out["net_" + name + "_out_bytes"] = {v[8], 1};
    out["net_" + name + "_out_packets"] = {v[9], 1};
  }
}

void read_one(const fs::path& file, const std::string& name, double unit, Readings& out) {
  std::ifstream in{file};
  std::uint64_t value = 0;
  if (in >> value) out[name] = {value, unit};
}

void read_keyed(const fs::path& file,
                const std::string& name,
                const std::map<std::string, double>& wanted,
                Readings& out) {
  std::ifstream in{file};
  std::string key;
  std::uint64_t value = 0;
  while (in >> key >> value) {
    const auto found = wanted.find(key);
    if (found != wanted.end()) out[name + "_" + key] = {value, found->second};
  }
}

/// Folders below `root`, the shallow ones first.
std::vector<fs::path> cgroups_below(const fs::path& root) {
  std::vector<fs::path> out{root};
  std::error_code ec;
  for (std::size_t i = 0; i < out.size() && out.size() < kMaxCgroups; ++i) {
    std::vector<fs::path> children;
    for (const auto& e : fs::directory_iterator{out[i], ec}) {
      if (e.is_directory(ec)) children.push_back(e.path());
    }
    std::sort(children.begin(), children.end());
    out.insert(out.end(), children.begin(), children.end());
  }
  out.resize(std::min(out.size(), kMaxCgroups));
  return out;
}

std::string name_of(const fs::path& cgroup, const fs::path& root) {
  auto out = "cg_" + fs::relative(cgroup, root).string();
  std::replace(out.begin(), out.end(), ',', '_');
  return out;
}

void read_cgroups(Readings& out) {
  const fs::path v1 = "/sys/fs/cgroup/cpuacct", v1_memory = "/sys/fs/cgroup/memory";
  const fs::path v2 = "/sys/fs/cgroup";
  constexpr double kNsToMilli = 1e-6, kUsToMilli = 1e-3;
  const std::map<std::string, double> stat{{"total_rss", 0},
                                           {"total_cache", 0},
                                           {"total_inactive_file", 0},
                                           {"total_pgfault", 1},
                                           {"anon", 0},
                                           {"file", 0},
                                           {"inactive_file", 0},
                                           {"pgfault", 1}};
  if (fs::exists(v1)) {
    for (const auto& dir : cgroups_below(v1)) {
      read_one(dir / "cpuacct.usage", name_of(dir, v1) + "_cpu", kNsToMilli, out);
    }
    for (const auto& dir : cgroups_below(v1_memory)) {
      const auto name = name_of(dir, v1_memory);
      read_one(dir / "memory.usage_in_bytes", name + "_memory", 0, out);
      read_keyed(dir / "memory.stat", name, stat, out);
    }
    return;
  }
  for (const auto& dir : cgroups_below(v2)) {
    const auto name = name_of(dir, v2);
    read_one(dir / "memory.current", name + "_memory", 0, out);
    read_keyed(dir / "memory.stat", name, stat, out);
    read_keyed(dir / "cpu.stat",
               name,
               {{"usage_usec", kUsToMilli}, {"user_usec", kUsToMilli}, {"system_usec", kUsToMilli}},
               out);
  }
}

Readings read_machine() {
  Readings out;
  read_stat(out);
  read_meminfo(out);
  read_diskstats(out);
  read_net(out);
  read_cgroups(out);
  return out;
}

// Empty: not there, or a counter that started over.
std::string cell(const std::string& name, const Readings& was, const Readings& is, double seconds) {
  const auto now = is.find(name);
  if (now == is.end()) return {};
  const auto& r = now->second;
  if (r.unit == 0) return std::to_string(r.value);
  const auto before = was.find(name);
  if (before == was.end() || before->second.value > r.value) return {};
  const auto change = static_cast<double>(r.value - before->second.value);
  return std::to_string(std::llround(change * r.unit / seconds));
}

}  // namespace

bool record_machine(const std::string& file, std::chrono::seconds length) {
  std::ofstream out{file};
  auto was = read_machine();
  auto was_at = Clock::now();
  std::vector<std::string> names;
  out << "second";
  for (const auto& [name, reading] : was) {
    names.push_back(name);
    out << ',' << name;
  }
  out << '\n';
  const auto start = was_at;
  for (std::int64_t second = 1; out && second <= length.count(); ++second) {
    std::this_thread::sleep_until(start + std::chrono::seconds{second});
    auto is = read_machine();
    const auto at = Clock::now();
    const auto elapsed = std::chrono::duration<double>(at - was_at).count();
    out << second;
    for (const auto& name : names) out << ',' << cell(name, was, is, elapsed);
    out << std::endl;  // what is recorded survives an early end
    was = std::move(is);
    was_at = at;
  }
  return static_cast<bool>(out);
}

}  // namespace koordlet::bench
