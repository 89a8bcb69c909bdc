#include <algorithm>

#include <fmt/format.h>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

std::int64_t permille(double percent) { return static_cast<std::int64_t>(percent * 10 + 0.5); }

/// Loop devices, RAM disks and CD drives say nothing of the machine's disks; partitions count
/// twice.
bool is_whole_disk(const kernel::DiskCounters& d, const std::optional<kernel::StorageInfo>& info) {
  for (const std::string_view prefix : {"loop", "ram", "zram", "sr", "fd"}) {
    if (d.name.starts_with(prefix)) return false;
  }
  if (!info) return true;
  const auto at = std::find_if(info->devices.begin(),
                               info->devices.end(),
                               [&](const kernel::BlockDevice& b) { return b.name == d.name; });
  return at == info->devices.end() || at->disk.empty();
}

std::optional<DiskUsage> disk_usage(const kernel::DiskCounters& before,
                                    const kernel::DiskCounters& now,
                                    std::chrono::nanoseconds elapsed) {
  const auto read = per_second(before.read_bytes, now.read_bytes, elapsed);
  const auto written = per_second(before.write_bytes, now.write_bytes, elapsed);
  const auto reads = per_second(before.reads, now.reads, elapsed);
  const auto writes = per_second(before.writes, now.writes, elapsed);
  if (!read || !written || !reads || !writes || now.io_time < before.io_time) return std::nullopt;
  DiskUsage out;
  out.name = now.name;
  out.rate = {*read, *written, *reads, *writes};
  const auto busy = std::chrono::duration<double>(now.io_time - before.io_time) / elapsed;
  out.busy = Permille{std::min<std::int64_t>(1000, static_cast<std::int64_t>(busy * 1000 + 0.5))};
  const auto requests = (now.reads - before.reads) + (now.writes - before.writes);
  const auto spent = (now.read_time - before.read_time) + (now.write_time - before.write_time);
  if (requests > 0 && spent.count() >= 0) {
    out.await = std::chrono::duration_cast<std::chrono::microseconds>(spent) /
                static_cast<std::int64_t>(requests);
  }
  return out;
}

/// In words: whether the kernel has no PSI, or has it switched off.
Error psi_error(Error e) {
  if (e.code == Errc::kNotFound) {
    e.code = Errc::kNotSupported;
    e.context = "this kernel has no PSI (CONFIG_PSI): " + e.context;
  } else if (e.code == Errc::kNotSupported) {
    e.context = "PSI is switched off (boot with psi=1): " + e.context;
  }
  return e;
}

}  // namespace

void MetricAdvisor::Impl::read_stalls() {
  const auto read = [&](std::string_view resource, StallRate& rate) -> std::optional<StallShare> {
    const auto psi = proc.pressure(resource);
    const auto source = fmt::format("node psi {}", resource);
    if (!psi) {
      fault(source, psi_error(psi.error()));
      return std::nullopt;
    }
    ok(source);
    return rate.update(clock.now(), *psi);
  };
  node_usage.stalls.cpu = read("cpu", cpu_stall);
  node_usage.stalls.memory = read("memory", memory_stall);
  node_usage.stalls.io = read("io", io_stall);
}

void MetricAdvisor::Impl::read_disks() {
  node_usage.disks.clear();
  const auto disks = proc.disks();
  const auto now = clock.now();
  if (!disks) {
    fault("node disks", disks.error());
    disks_at.reset();
    return;
  }
  ok("node disks");
  auto before = std::exchange(disk_base, {});
  for (const auto& d : *disks) {
    if (!is_whole_disk(d, storage)) continue;
    const auto at = before.find(d.name);
    if (disks_at && now > *disks_at && at != before.end()) {
      if (auto use = disk_usage(at->second, d, now - *disks_at))
        node_usage.disks.push_back(std::move(*use));
    }
    disk_base[d.name] = d;
  }
  disks_at = now;
}

void MetricAdvisor::Impl::read_networks() {
  node_usage.networks.clear();
  const auto nets = proc.network();
  const auto now = clock.now();
  if (!nets) {
    fault("node network", nets.error());
    nets_at.reset();
    return;
  }
  ok("node network");
  auto before = std::exchange(net_base, {});
  for (const auto& n : *nets) {
    const auto at = before.find(n.name);
    net_base[n.name] = n;
    if (!nets_at || now <= *nets_at || at == before.end()) continue;
    const auto& b = at->second;
    const auto elapsed = now - *nets_at;
    const auto rx = per_second(b.rx_bytes, n.rx_bytes, elapsed);
    const auto tx = per_second(b.tx_bytes, n.tx_bytes, elapsed);
    const auto rx_packets = per_second(b.rx_packets, n.rx_packets, elapsed);
    const auto tx_packets = per_second(b.tx_packets, n.tx_packets, elapsed);
    const auto dropped =
        per_second(b.rx_dropped + b.tx_dropped, n.rx_dropped + n.tx_dropped, elapsed);
    const auto errors = per_second(b.rx_errors + b.tx_errors, n.rx_errors + n.tx_errors, elapsed);
    if (!rx || !tx || !rx_packets || !tx_packets || !dropped || !errors) continue;
    node_usage.networks.push_back({n.name, *rx, *tx, *rx_packets, *tx_packets, *dropped, *errors});
  }
  nets_at = now;
}

/// Right after stat(): the CPU lines stand in the text it read.
void MetricAdvisor::Impl::read_numa_cpu() {
  for (auto& n : node_usage.numa) n.cpu.reset();
  const auto lines = proc.cpu_lines();
  const auto now = clock.now();
  if (!lines) {
    fault("node cpus", lines.error());
    cpu_base_at.reset();
    return;
  }
  const auto before = std::exchange(cpu_base, *lines);
  const auto before_at = std::exchange(cpu_base_at, now);
  if (!before_at || now <= *before_at) return;
  std::map<int, std::uint64_t> by_node;
  for (const auto& [cpu, ticks] : *lines) {
    const auto base = before.find(cpu);
    const auto node = numa_of_cpu.find(cpu);
    // A CPU that is new or whose ticks went back adds nothing this time.
    if (base == before.end() || node == numa_of_cpu.end() || ticks < base->second) continue;
    by_node[node->second] += ticks - base->second;
  }
  const double hz = static_cast<double>(kernel::ProcFs::ticks_per_second());
  const std::chrono::duration<double> elapsed = now - *before_at;
  for (const auto& [node, ticks] : by_node) {
    auto at = std::find_if(node_usage.numa.begin(), node_usage.numa.end(), [&](const auto& n) {
      return n.node == node;
    });
    if (at == node_usage.numa.end())
      at = node_usage.numa.insert(at, NumaUsage{node, std::nullopt, std::nullopt});
    at->cpu = MilliCpu{
        static_cast<std::int64_t>(static_cast<double>(ticks) / hz / elapsed.count() * 1000 + 0.5)};
  }
}

void MetricAdvisor::Impl::emit_node_usage() {
  const auto stall = [&](std::string_view resource, const std::optional<StallShare>& s) {
    if (!s) return;
    emit("node_psi", fmt::format("{}/10/some", resource), permille(s->some_percent));
    if (s->full_percent)
      emit("node_psi", fmt::format("{}/10/full", resource), permille(*s->full_percent));
  };
  stall("cpu", node_usage.stalls.cpu);
  stall("mem", node_usage.stalls.memory);
  stall("io", node_usage.stalls.io);
  for (const auto& d : node_usage.disks) {
    emit("node_disk_read_bytes", d.name, d.rate.read_bytes);
    emit("node_disk_write_bytes", d.name, d.rate.write_bytes);
    emit("node_disk_busy", d.name, d.busy.v);
    if (d.await) emit("node_disk_await", d.name, d.await->count());
  }
  for (const auto& n : node_usage.networks) {
    emit("node_network_rx_bytes", n.name, n.rx_bytes);
    emit("node_network_tx_bytes", n.name, n.tx_bytes);
  }
  for (const auto& n : node_usage.numa) {
    if (n.cpu) emit("node_numa_cpu_usage", std::to_string(n.node), n.cpu->v);
  }
}

void MetricAdvisor::Impl::read_node_usage(MonoTime now) {
  node_usage.at = now;
  read_stalls();
  read_disks();
  read_networks();
  read_numa_cpu();
  emit_node_usage();
}

}  // namespace koordlet
