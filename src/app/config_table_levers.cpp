#include <optional>

#include "app/config_table.hpp"

namespace koordlet::app {
namespace {

void add_identity(std::vector<Setting>& out) {
  out.push_back(boolean("qos.identity.be_idle",
                        KOORDLET_AT(qos.policy.identity.be_idle),
                        "cpu.idle of BE pods: they run only when nobody else wants to"));
  out.push_back(boolean("qos.identity.core_sched",
                        KOORDLET_AT(qos.policy.identity.core_sched),
                        "BE tasks share a physical core with BE tasks alone; excludes group "
                        "identity"));
}

void add_resctrl(std::vector<Setting>& out) {
#define KOORDLET_RESCTRL(member) KOORDLET_AT(qos.policy.resctrl.member)
  out.push_back(boolean("qos.resctrl.enable",
                        KOORDLET_RESCTRL(be.enable),
                        "BE gets a part of the cache ways and of memory bandwidth; the NodeSLO "
                        "may switch each class on as well"));
  out.push_back(boolean("qos.resctrl.mount",
                        KOORDLET_RESCTRL(mount),
                        "mount resctrl where the CPU has it and nobody "
                        "did"));
  out.push_back(number("qos.resctrl.be_start_percent",
                       KOORDLET_RESCTRL(be.start_percent),
                       0,
                       99,
                       "first cache way of BE; below be_end_percent"));
  out.push_back(number("qos.resctrl.be_end_percent",
                       KOORDLET_RESCTRL(be.end_percent),
                       1,
                       100,
                       "last cache way of BE"));
  out.push_back(number("qos.resctrl.be_mba_percent",
                       KOORDLET_RESCTRL(be.mba_percent),
                       1,
                       100,
                       "memory bandwidth of BE"));
#undef KOORDLET_RESCTRL
}

void add_blkio(std::vector<Setting>& out) {
#define KOORDLET_BLKIO(member) KOORDLET_AT(qos.policy.blkio.member)
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  const auto rate = [&out](std::string name, auto at, std::string about) {
    out.push_back(number("qos.blkio." + name, at, 0, kMost, std::move(about)));
  };
  out.push_back(boolean("qos.blkio.enable",
                        KOORDLET_BLKIO(enable),
                        "limit the BE class on these devices; blocks of the NodeSLO go before"));
  out.push_back(words("qos.blkio.devices",
                      KOORDLET_BLKIO(devices),
                      TextRule::kAny,
                      "disks or partitions, as sda,nvme0n1"));
  rate("be_read_bps", KOORDLET_BLKIO(be_read_bps), "bytes a second that BE reads; 0: no limit");
  rate("be_write_bps", KOORDLET_BLKIO(be_write_bps), "bytes a second that BE writes; 0: no limit");
  rate("be_read_iops", KOORDLET_BLKIO(be_read_iops), "reads a second of BE; 0: no limit");
  rate("be_write_iops", KOORDLET_BLKIO(be_write_iops), "writes a second of BE; 0: no limit");
  out.push_back(number("qos.blkio.be_weight",
                       KOORDLET_BLKIO(be_weight),
                       1,
                       100,
                       "share of BE while a disk is busy; 100: left alone"));
  out.push_back(boolean("qos.blkio.pod_annotations",
                        KOORDLET_BLKIO(bounds.pod_annotations),
                        "obey koordinator.sh/blkioQOS of pods, within the next three"));
  out.push_back(number("qos.blkio.pod_max_weight",
                       KOORDLET_BLKIO(bounds.pod_max_weight),
                       1,
                       100,
                       "most weight that a pod may give itself"));
  out.push_back(number("qos.blkio.pod_min_bps",
                       KOORDLET_BLKIO(bounds.pod_min_bps),
                       1,
                       kMost,
                       "least limit in bytes a second that a pod may give itself"));
  out.push_back(number("qos.blkio.pod_min_iops",
                       KOORDLET_BLKIO(bounds.pod_min_iops),
                       1,
                       1'000'000'000,
                       "the same in operations"));
#undef KOORDLET_BLKIO
}

void add_system(std::vector<Setting>& out) {
#define KOORDLET_SYSTEM(member) KOORDLET_AT(qos.policy.system.values.member)
  const auto flag = [&out](std::string name, auto at, std::string about) {
    out.push_back(
        choice<std::optional<bool>>("qos.system." + name,
                                    at,
                                    {{"keep", std::nullopt}, {"on", true}, {"off", false}},
                                    std::move(about)));
  };
  out.push_back(optional_number("qos.system.min_free_kbytes_factor",
                                KOORDLET_SYSTEM(min_free_kbytes_factor),
                                1,
                                10'000,
                                "vm.min_free_kbytes = node memory in KiB x factor / 10000"));
  out.push_back(optional_number("qos.system.watermark_scale_factor",
                                KOORDLET_SYSTEM(watermark_scale_factor),
                                10,
                                400,
                                "vm.watermark_scale_factor"));
  out.push_back(optional_number("qos.system.idle_saver_wmark",
                                KOORDLET_SYSTEM(idle_saver_wmark),
                                0,
                                2'000'000'000,
                                "kernel.sched_idle_saver_wmark in ns, vendor kernels"));
  flag("memcg_reap_background",
       KOORDLET_SYSTEM(memcg_reap_background),
       "background reclaim of dead memory cgroups, vendor kernels");
  flag("group_identity_enabled",
       KOORDLET_SYSTEM(group_identity_enabled),
       "master switch of cpu.bvt_warp_ns, vendor kernels");
  flag("page_cache_limit_enabled",
       KOORDLET_SYSTEM(page_cache_limit_enabled),
       "master switch of the page cache limit, vendor kernels");
  out.push_back(words("qos.system.sched_features",
                      KOORDLET_AT(qos.policy.system.sched_features),
                      TextRule::kAny,
                      "scheduler features to switch, as NEXT_BUDDY,NO_LB_BIAS"));
#undef KOORDLET_SYSTEM
}

}  // namespace

void add_levers(std::vector<Setting>& out) {
  add_identity(out);
  add_resctrl(out);
  add_blkio(out);
  add_system(out);
}

}  // namespace koordlet::app
