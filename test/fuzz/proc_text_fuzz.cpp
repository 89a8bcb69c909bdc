#include <array>
#include <string>

#include "fuzz.hpp"
#include "kernel/disk_stats.hpp"
#include "kernel/flat_keyed.hpp"
#include "kernel/io_counters.hpp"
#include "kernel/numa.hpp"
#include "kernel/procfs.hpp"
#include "kernel/storage.hpp"
#include "kernel/task_sched_stat.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using namespace koordlet::kernel;

bool is_whole(std::string_view text) { return text.empty() || text.back() == '\n'; }

template <class T>
void refused_when_cut(const Result<T>& out, std::string_view text) {
  require(out.has_error() || is_whole(text), "cut content is refused");
}

void check_node_files(std::string_view text) {
  refused_when_cut(parse_proc_stat(text), text);
  const auto memory = parse_meminfo(text);
  refused_when_cut(memory, text);
  if (memory)
    require(memory->total.v >= 0 && memory->available.v >= 0, "amounts of memory are not negative");
  const auto psi = parse_psi(text);
  refused_when_cut(psi, text);
  if (psi) require(psi->some.total.count() >= 0, "a stall counter is not negative");
  refused_when_cut(parse_cpu_lines(text), text);
  refused_when_cut(parse_sched_stat(text), text);
}

void check_devices(std::string_view text) {
  const auto disks = parse_disk_stats(text);
  refused_when_cut(disks, text);
  if (disks) {
    for (const auto& disk : *disks) {
      const auto back = parse_device_number(to_string(disk.device));
      require(back.has_value() && *back == disk.device, "a device number comes back");
    }
  }
  refused_when_cut(parse_net_dev(text), text);
  const auto mounts = parse_mountinfo(text);
  refused_when_cut(mounts, text);
  if (mounts) {
    for (const auto& mount : *mounts) require(!mount.fs_type.empty(), "a mount has a type");
  }
  refused_when_cut(parse_io_stat(text), text);
  const auto half = text.size() / 2;
  if (const auto io = parse_blkio(text.substr(0, half), text.substr(half))) {
    for (std::size_t i = 1; i < io->size(); ++i)
      require((*io)[i - 1].device < (*io)[i].device, "devices are ascending");
  }
  static_cast<void>(split_dm_name(text));
}

void check_cgroup_files(std::string_view text) {
  std::array<WantedKey, 3> wanted{{{"usage_usec"}, {"nr_throttled"}, {"anon"}}};
  if (read_keys(text, wanted)) static_cast<void>(require_all(wanted));
  static_cast<void>(parse_numa_use(0, text));
  static_cast<void>(parse_cgroup_numa_v1(text, 4096));
  static_cast<void>(parse_cgroup_numa_v2(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = text_of(data, size);
  check_node_files(text);
  check_devices(text);
  check_cgroup_files(text);
  return 0;
}
