#include <algorithm>

#include "sim/node_model.hpp"

/// The disks of the modelled node and who uses them.
namespace koordlet::sim {
namespace {

constexpr double kDefaultWeight = 100;

/// blk-iocost runs on a disk whose line of io.cost.qos says so.
bool by_weight(const CgroupTree& tree, const std::string& disk) {
  const auto* line = tree.peek({CgroupPath{}, CgroupFile::kIoCostQos, disk});
  return line != nullptr && std::get<Line>(*line).v.find("enable=1") != std::string::npos;
}

IoGroup io_group(const CgroupTree& tree,
                 int parent,
                 const CgroupPath& path,
                 const std::string& disk) {
  IoGroup out;
  out.parent = parent;
  if (const auto* max = tree.peek({path, CgroupFile::kIoMax, disk})) {
    out.max = std::get<IoMax>(*max);
  }
  const auto* weight = tree.peek({path, CgroupFile::kIoWeight, disk});
  out.weight =
      weight != nullptr ? static_cast<double>(std::get<Number>(*weight).v) : kDefaultWeight;
  return out;
}

}  // namespace

/// 0 the root, 1 kubepods, 2 Burstable, 3 BestEffort, then each pod in the order of pods_.
std::vector<IoGroup> NodeModel::io_groups(std::size_t disk) const {
  const std::string& number = scenario_.disks[disk].number;
  std::vector<IoGroup> out;
  out.reserve(4 + pods_.size());
  out.emplace_back();
  out.push_back(io_group(tree_, 0, layout_.kubepods(), number));
  for (const auto qos : {KubeQos::kBurstable, KubeQos::kBestEffort}) {
    out.push_back(io_group(tree_, 1, layout_.tier(qos), number));
  }
  for (const auto& p : pods_) {
    const int above = p.pod->kube_qos == KubeQos::kGuaranteed  ? 1
                      : p.pod->kube_qos == KubeQos::kBurstable ? 2
                                                               : 3;
    out.push_back(io_group(tree_, above, p.pod->cgroup, number));
    const auto& io = scenario_.groups[p.group].io;
    if (io && io->disk == disk) out.back().demand = io->load;
  }
  return out;
}

std::vector<IoGroup> NodeModel::shared(std::size_t disk) const {
  auto out = io_groups(disk);
  share_disk(out, scenario_.disks[disk], by_weight(tree_, scenario_.disks[disk].number));
  return out;
}

void NodeModel::use_disks(milliseconds length) {
  const double s = static_cast<double>(length.count()) / 1000;
  for (std::size_t d = 0; d < scenario_.disks.size(); ++d) {
    const auto groups = shared(d);
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const IoLoad& given = groups[4 + i].given;
      pods_[i].io +=
          {given.read_bytes * s, given.write_bytes * s, given.reads * s, given.writes * s};
    }
  }
}

DiskUse NodeModel::disk_use() const {
  DiskUse out;
  for (std::size_t d = 0; d < scenario_.disks.size(); ++d) {
    const DiskSpec& disk = scenario_.disks[d];
    const auto groups = shared(d);
    IoLoad asked;
    for (const auto& g : groups) asked += g.allowed;
    out.busy_percent = std::max(out.busy_percent, 100 * busy_share(disk, asked));
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const IoGroup& g = groups[4 + i];
      if (g.demand.idle()) continue;
      if (pods_[i].pod->qos == QosClass::kBe) {
        out.be_bytes += g.given.bytes();
        out.be_wants = true;
        out.be_held =
            out.be_held || g.allowed.bytes() < g.demand.bytes() || g.allowed.ops() < g.demand.ops();
        continue;
      }
      out.ls_bytes += g.given.bytes();
      if (g.demand.reads <= 0) continue;
      const double base = scenario_.groups[pods_[i].group].io->read_p99_ms;
      out.ls_read_p99_ms = std::max(out.ls_read_p99_ms, read_p99_ms(base, disk, asked));
    }
  }
  return out;
}

}  // namespace koordlet::sim
