#include "policy/blkio.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "policy/block_devices.hpp"

namespace koordlet::policy {
namespace {

/// One cgroup with its blocks.
struct Scope {
  CgroupPath path;
  std::string name;  ///< as in faults and reasons
  const Pod* pod = nullptr;
};

IoMax::Rate rate(std::int64_t n) { return n > 0 ? IoMax::Rate{n} : IoMax::Rate::unlimited(); }

class Writer {
 public:
  Writer(const Snapshot& snap, Decision<BlkIo::State>& out) : snap_{snap}, out_{out} {}

  /// Limits and weight of each disk that a block names.
  void limit(const Scope& scope, const std::vector<IoBlock>& blocks) {
    for (const auto& block : blocks) {
      for (const auto& disk : disks(scope, block)) {
        const IoMax max{rate(block.read_bps),
                        rate(block.write_bps),
                        rate(block.read_iops),
                        rate(block.write_iops)};
        if (max != IoMax{}) propose(scope, CgroupFile::kIoMax, disk, max, block);
        if (block.weight_percent) {
          // The scales differ (1..100 and 1..10000), the default is 100 on both.
          propose(scope, CgroupFile::kIoWeight, disk, Number{*block.weight_percent}, block);
        }
      }
    }
  }

  /// The cost model of each disk: when it counts as busy, and what an IO costs.
  void cost(const Scope& scope, const std::vector<IoBlock>& blocks) {
    for (const auto& block : blocks) {
      const Line qos{fmt::format("enable=1 ctrl=user rpct={} rlat={} wpct={} wlat={}",
                                 block.read_latency_percent,
                                 block.read_latency_us,
                                 block.write_latency_percent,
                                 block.write_latency_us)};
      const Line model{model_text(block)};
      for (const auto& disk : disks(scope, block)) {
        propose(scope, CgroupFile::kIoCostModel, disk, model, block);
        propose(scope, CgroupFile::kIoCostQos, disk, qos, block);
      }
    }
  }

  /// Faults of blocks whose cgroup is not there: what they name does not come back with it.
  void check(const Scope& scope, const std::vector<IoBlock>& blocks) {
    for (const auto& block : blocks) disks(scope, block);
  }

  void fault(std::string line) { out_.state.faults.push_back(std::move(line)); }

 private:
  static std::string model_text(const IoBlock& block) {
    if (!block.user_model) return "ctrl=auto";
    const auto& m = block.model;
    return fmt::format(
        "ctrl=user rbps={} rseqiops={} rrandiops={} wbps={} wseqiops={} wrandiops={}",
        m[0],
        m[1],
        m[2],
        m[3],
        m[4],
        m[5]);
  }

  /// A block that names nothing is one fault, and the others go on.
  std::vector<std::string> disks(const Scope& scope, const IoBlock& block) {
    if (!snap_.storage) {
      const auto line = fmt::format("{}: the disks of this node are not known yet", scope.name);
      if (out_.state.faults.empty() || out_.state.faults.back() != line) fault(line);
      return {};
    }
    auto found = resolve_block(*snap_.storage, block, scope.pod);
    if (found) return *found;
    fault(fmt::format("{}: {}", scope.name, found.error().context));
    return {};
  }

  void propose(const Scope& scope,
               CgroupFile file,
               const std::string& disk,
               CgroupValue value,
               const IoBlock& block) {
    Proposal p;
    p.key = {scope.path, file, disk};
    p.value = std::move(value);
    p.role = Role::kCap;
    p.plugin = BlkIo::kName;
    p.reason = fmt::format("{}: block {}", scope.name, block.name);
    out_.proposals.push_back(std::move(p));
    ++out_.state.settings;
  }

  const Snapshot& snap_;
  Decision<BlkIo::State>& out_;
};

/// The annotation's blocks within the bounds of the node; each that had to be bent is a fault.
std::vector<IoBlock> bounded(const Pod& pod, const BlkIoConfig& config, Writer& writer) {
  auto blocks = pod.io_blocks;
  for (auto& block : blocks) {
    const auto raise = [&](std::int64_t& value, std::int64_t floor, const char* name) {
      if (value == 0 || value >= floor) return;
      writer.fault(fmt::format("pod {}: block {}: {}: {}: expected at least {}, which is taken",
                               full_name(pod),
                               block.name,
                               name,
                               value,
                               floor));
      value = floor;
    };
    raise(block.read_bps, config.pod_min_bps, "readBPS");
    raise(block.write_bps, config.pod_min_bps, "writeBPS");
    raise(block.read_iops, config.pod_min_iops, "readIOPS");
    raise(block.write_iops, config.pod_min_iops, "writeIOPS");
    if (block.weight_percent.value_or(0) > config.pod_max_weight) {
      writer.fault(
          fmt::format("pod {}: block {}: ioWeightPercent: {}: expected at most {}, which is taken",
                      full_name(pod),
                      block.name,
                      *block.weight_percent,
                      config.pod_max_weight));
      block.weight_percent = config.pod_max_weight;
    }
  }
  return blocks;
}

}  // namespace

Decision<BlkIo::State> BlkIo::decide(const Snapshot& snap,
                                     const EffectiveConfig& config,
                                     State /*state*/) {
  Decision<State> out{};
  Writer writer{snap, out};
  const BlkIoConfig& cfg = config.blkio;
  if (snap.be_root) {
    writer.limit({snap.be_root->path, "BE root"}, cfg.be);
  } else {
    writer.check({CgroupPath{}, "BE root"}, cfg.be);
  }
  writer.cost({CgroupPath{}, "root"}, cfg.root);
  if (!cfg.pod_annotations) return out;
  for (const auto& pod : snap.state->pods) {
    // As the original: only pods that carry a QoS class, and only while they run.
    if (pod->io_blocks.empty() || pod->phase != PodPhase::kRunning) continue;
    if (pod->qos == QosClass::kNone) continue;
    const auto name = fmt::format("pod {}", full_name(*pod));
    writer.limit({pod->cgroup, name, pod.get()}, bounded(*pod, cfg, writer));
  }
  return out;
}

}  // namespace koordlet::policy
