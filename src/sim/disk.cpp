#include "sim/disk.hpp"

#include <algorithm>

#include "sim/cpu_share.hpp"

namespace koordlet::sim {
namespace {

/// Share of `wanted` that a limit lets through.
double let_through(const IoMax::Rate& limit, double wanted) {
  if (!limit.bound() || wanted <= 0) return 1;
  return std::min(1.0, static_cast<double>(*limit.bound()) / wanted);
}

struct Factors {
  double reads = 1, writes = 1;
};

/// `allowed` of every group within the limits on the way up.
void apply_limits(std::vector<IoGroup>& groups) {
  std::vector<IoLoad> below(groups.size());
  std::vector<Factors> factors(groups.size());
  for (std::size_t i = groups.size(); i-- > 0;) {
    const IoMax& max = groups[i].max;
    below[i] += groups[i].demand;
    factors[i].reads = std::min(let_through(max.read_bytes, below[i].read_bytes),
                                let_through(max.read_ops, below[i].reads));
    factors[i].writes = std::min(let_through(max.write_bytes, below[i].write_bytes),
                                 let_through(max.write_ops, below[i].writes));
    if (groups[i].parent < 0) continue;
    below[static_cast<std::size_t>(groups[i].parent)] +=
        scaled(below[i], factors[i].reads, factors[i].writes);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].parent >= 0) {
      const auto& above = factors[static_cast<std::size_t>(groups[i].parent)];
      factors[i].reads *= above.reads;
      factors[i].writes *= above.writes;
    }
    groups[i].allowed = scaled(groups[i].demand, factors[i].reads, factors[i].writes);
  }
}

}  // namespace

IoLoad& IoLoad::operator+=(const IoLoad& o) {
  read_bytes += o.read_bytes;
  write_bytes += o.write_bytes;
  reads += o.reads;
  writes += o.writes;
  return *this;
}

IoLoad scaled(const IoLoad& load, double reads, double writes) {
  return {
      load.read_bytes * reads, load.write_bytes * writes, load.reads * reads, load.writes * writes};
}

double busy_share(const DiskSpec& disk, const IoLoad& load) {
  return load.ops() / disk.ops_per_second + load.bytes() / disk.bytes_per_second;
}

void share_disk(std::vector<IoGroup>& groups, const DiskSpec& disk, bool by_weight) {
  apply_limits(groups);
  // The disk's time is shared as the CPUs' is: one second of it a second.
  std::vector<ShareGroup> shares(groups.size());
  double asked = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    shares[i].parent = groups[i].parent;
    shares[i].weight = groups[i].weight;
    shares[i].demand = busy_share(disk, groups[i].allowed);
    asked += shares[i].demand;
  }
  if (by_weight) share_cpu(shares, 1);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    double part = asked > 1 ? 1 / asked : 1;
    if (by_weight && shares[i].demand > 0) {
      part = std::clamp(shares[i].given / shares[i].demand, 0.0, 1.0);
    }
    groups[i].given = scaled(groups[i].allowed, part, part);
  }
}

double read_p99_ms(double base_ms, const DiskSpec& disk, const IoLoad& asked) {
  const double busy = busy_share(disk, asked);
  if (asked.ops() <= 0 || busy <= 0) return base_ms;
  const double service_ms = 1000 * busy / asked.ops();
  const double full = base_ms + disk.queue * service_ms;
  return busy < 1 ? std::min(base_ms / (1 - busy), full) : full;
}

}  // namespace koordlet::sim
