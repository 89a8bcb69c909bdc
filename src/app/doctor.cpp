#include "app/doctor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/text_table.hpp"
#include "kernel/cgroup_iterator.hpp"
#include "kernel/host.hpp"
#include "kernel/perf_group.hpp"
#include "kernel/probe.hpp"
#include "kernel/sched_latency.hpp"

namespace koordlet::app {
namespace {

constexpr std::uint64_t kWantedDescriptors = 16'384;  // kept-open counters and control files
constexpr std::uint64_t kWantedWatches = 8'192;       // a watch a pod and container folder
constexpr std::uint64_t kWantedInstances = 16;
constexpr std::uint64_t kWantedFreeBytes = 512ull << 20;

Check yes(std::string name, std::string detail) {
  return {std::move(name), Answer::kYes, std::move(detail), "", false};
}
Check no(std::string name, std::string detail, std::string advice) {
  return {std::move(name), Answer::kNo, std::move(detail), std::move(advice), false};
}
Check not_applicable(std::string name, std::string detail) {
  return {std::move(name), Answer::kNotApplicable, std::move(detail), "", false};
}
Check required(Check check) {
  check.required = true;
  return check;
}
Check yes_or_no(std::string name, bool ok, std::string detail, std::string advice) {
  return ok ? yes(std::move(name), std::move(detail))
            : no(std::move(name), std::move(detail), std::move(advice));
}

Check check_kernel(const kernel::HostRoots& roots) {
  const auto release = kernel::kernel_release(roots);
  if (release) return yes("kernel", *release);
  return no("kernel", release.error().context, "set [host] proc_root to the host's procfs");
}

void check_controllers(const kernel::HostRoots& roots,
                       CgroupVersion version,
                       std::vector<Check>& out) {
  const auto mounted = kernel::cgroup_controllers(roots, version);
  for (const std::string name : {"cpu", "cpuacct", "cpuset", "memory"}) {
    const std::string title = "controller " + name;
    if (name == "cpuacct" && version == CgroupVersion::kV2) {
      out.push_back(not_applicable(title, "part of cpu in cgroup v2"));
    } else if (!mounted) {
      out.push_back(required(no(title,
                                mounted.error().context,
                                "set [host] cgroup_root to the mounted cgroup file systems")));
    } else {
      const bool there = std::find(mounted->begin(), mounted->end(), name) != mounted->end();
      out.push_back(required(yes_or_no(
          title,
          there,
          there ? "mounted" : fmt::format("not below {}", roots.cgroup),
          version == CgroupVersion::kV2
              ? "look for cgroup_disable= on the kernel command line"
              : fmt::format("mount -t cgroup -o {0} cgroup {1}/{0}", name, roots.cgroup))));
    }
  }
}

void check_cgroup_write(const kernel::HostRoots& roots,
                        CgroupVersion version,
                        std::vector<Check>& out) {
  const auto features = kernel::probe_cgroup_write(roots, version);
  if (!features) {
    out.push_back(required(no("cgroup write",
                              features.error().context,
                              "run as root with a read-write cgroup mount (a container needs "
                              "privileged: true and a host mount)")));
    out.push_back(required(not_applicable("cpu quota", "needs a writable cgroup tree")));
    out.push_back(not_applicable("group identity", "needs a writable cgroup tree"));
    return;
  }
  out.push_back(
      required(yes("cgroup write", "a cgroup was made and removed below " + roots.cgroup)));
  out.push_back(required(
      yes_or_no("cpu quota",
                features->cpu_max,
                features->cpu_max ? "CFS bandwidth control" : "no quota file in a new cgroup",
                version == CgroupVersion::kV2
                    ? fmt::format("echo +cpu > {}/cgroup.subtree_control", roots.cgroup)
                    : "use a kernel with CONFIG_CFS_BANDWIDTH")));
  out.push_back(features->cpu_bvt ? yes("group identity", "cpu.bvt_warp_ns")
                                  : not_applicable("group identity",
                                                   "vendor kernels only; a low weight is used"));
}

/// v1 has no PSI of its cgroups at all.
Check check_cgroup_psi(const kernel::HostRoots& roots, CgroupVersion version) {
  const std::string name = "psi of cgroups";
  if (version == CgroupVersion::kV1) return not_applicable(name, "cgroup v1 has none");
  const auto psi = kernel::probe_cgroup_psi(roots);
  if (psi) return yes(name, "cpu.pressure");
  return no(name, psi.error().context, "boot with psi=1; LS pressure is not seen without it");
}

void check_cgroups(const kernel::HostRoots& roots, std::vector<Check>& out) {
  const auto version = kernel::detect_cgroup_version(roots);
  if (!version) {
    out.push_back(required(no("cgroup",
                              version.error().context,
                              "set [host] cgroup_root to the mounted cgroup file systems")));
    return;
  }
  out.push_back(required(yes("cgroup", std::string{to_string(*version)})));
  const auto driver = kernel::detect_cgroup_driver(roots, *version);
  out.push_back(
      yes_or_no("kubepods tree",
                driver.has_value(),
                driver ? fmt::format("driver {}", to_string(*driver))
                       : fmt::format("no kubepods or kubepods.slice below {}", roots.cgroup),
                "start kubelet, or check [host] cgroup_root; koordlet waits for the tree"));
  check_controllers(roots, *version, out);
  check_cgroup_write(roots, *version, out);
  out.push_back(check_cgroup_psi(roots, *version));
}

Check check_psi(const kernel::HostRoots& roots) {
  const auto psi = kernel::probe_psi(roots);
  if (psi) return yes("psi of the node", "cpu, memory and io pressure");
  return no("psi of the node",
            psi.error().context,
            psi.error().code == Errc::kNotSupported
                ? "boot with psi=1"
                : "use a kernel with CONFIG_PSI, or check [host] proc_root");
}

Check check_btf(const kernel::HostRoots& roots) {
  return yes_or_no("btf",
                   kernel::has_btf(roots),
                   kernel::has_btf(roots) ? "kernel types" : "absent",
                   "use a kernel with CONFIG_DEBUG_INFO_BTF; plain file reading is used meanwhile");
}

/// By loading it: BTF alone does not say whether this kernel takes the programs.
Check check_run_queue(CgroupVersion version) {
  const std::string name = "bpf run-queue latency";
  const auto probe = kernel::SchedLatency::open(version);
  if (probe) return yes(name, "programs load");
  return no(name,
            probe.error().context,
            "grant CAP_BPF and CAP_PERFMON, or a kernel with BTF; schedstat is read meanwhile");
}

Check check_iterator(const kernel::HostRoots& roots, CgroupVersion version) {
  const std::string name = "bpf cgroup iterator";
  if (version == CgroupVersion::kV1) return not_applicable(name, "cgroup v2 only");
  const auto iterator = kernel::CgroupIterator::open(roots.cgroup);
  if (iterator) return yes(name, (*iterator)->variant());
  return no(name, iterator.error().context, "kernel 6.1 or later; files are read meanwhile");
}

/// Windows of less than 2 s need CAP_SYS_RESOURCE.
Check check_psi_triggers(const kernel::HostRoots& roots) {
  const std::string name = "psi triggers";
  const auto trigger = kernel::probe_psi_trigger(roots);
  if (!trigger) {
    return no(name,
              trigger.error().context,
              "grant CAP_SYS_RESOURCE, or boot with psi=1; ticks come each second meanwhile");
  }
  return yes(name, fmt::format("windows of {} ms and more", trigger->count()));
}

Check check_perf(const kernel::HostRoots& roots) {
  const auto perf = kernel::probe_perf_events(kernel::interference_events(roots));
  if (perf) return yes("perf counters", "cycles, instructions, cache misses as one group");
  if (perf.error().code == Errc::kNotFound || perf.error().code == Errc::kNotSupported) {
    return not_applicable("perf counters", "this machine has no hardware counters");
  }
  return no("perf counters",
            perf.error().context,
            "grant CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1");
}

Check check_resctrl(const kernel::HostRoots& roots) {
  const std::string mount = kernel::resctrl_mount_point(roots);
  switch (kernel::probe_resctrl(roots)) {
    case kernel::Resctrl::kMounted:
      return yes("resctrl", mount);
    case kernel::Resctrl::kNotMounted:
      return no("resctrl", "not mounted", fmt::format("mount -t resctrl resctrl {}", mount));
    case kernel::Resctrl::kUnsupported:
      break;
  }
  return not_applicable("resctrl", "neither this CPU nor this kernel offers it");
}

void check_rights(const kernel::HostRoots& roots, std::vector<Check>& out) {
  const auto rights = kernel::read_rights(roots);
  if (!rights) {
    out.push_back(required(no("root", rights.error().context, "check [host] proc_root")));
    return;
  }
  const bool root = rights->effective_uid == 0;
  out.push_back(required(
      yes_or_no("root", root, fmt::format("uid {}", rights->effective_uid), "run as root")));
  const auto capability = [&](std::string name, int bit, std::string without) {
    const bool has = rights->has(bit);
    return yes_or_no(name,
                     has,
                     has ? "effective" : "missing: " + without,
                     fmt::format("add {} to the container's capabilities", name));
  };
  out.push_back(capability("CAP_SYS_ADMIN", kernel::kCapSysAdmin, "no resctrl, no BPF"));
  out.push_back(capability("CAP_SYS_RESOURCE", kernel::kCapSysResource, "no short PSI windows"));
}

Check check_descriptors() {
  const auto limit = kernel::descriptor_limit();
  if (!limit) return no("descriptors", limit.error().context, "raise LimitNOFILE");
  return yes_or_no("descriptors",
                   limit->hard >= kWantedDescriptors,
                   fmt::format("soft {}, hard {}", limit->soft, limit->hard),
                   fmt::format("raise LimitNOFILE to {} or more", kWantedDescriptors));
}

Check check_inotify(const kernel::HostRoots& roots) {
  const auto limits = kernel::inotify_limits(roots);
  if (!limits) return no("inotify", limits.error().context, "check [host] proc_root");
  const bool enough = limits->watches >= kWantedWatches && limits->instances >= kWantedInstances;
  return yes_or_no("inotify",
                   enough,
                   fmt::format("{} instances, {} watches", limits->instances, limits->watches),
                   fmt::format("sysctl fs.inotify.max_user_instances={} "
                               "fs.inotify.max_user_watches={}",
                               std::max(limits->instances, std::uint64_t{128}),
                               std::max(limits->watches, std::uint64_t{65'536})));
}

Check check_store(const std::string& folder) {
  const auto free = kernel::probe_folder_writable(folder);
  if (!free) {
    return required(
        no("store folder", free.error().context, "make the folder writable, or set store.folder"));
  }
  const auto text = bytes_text(static_cast<std::int64_t>(*free));
  if (*free < kWantedFreeBytes) {
    return no("store folder",
              fmt::format("{}: only {} free", folder, text),
              "free some space, or set store.folder to another file system");
  }
  return required(yes("store folder", fmt::format("{}: writable, {} free", folder, text)));
}

}  // namespace

std::vector<Check> examine_host(const Config& config) {
  const kernel::HostRoots& roots = config.host;
  std::vector<Check> out;
  out.push_back(check_kernel(roots));
  check_cgroups(roots, out);
  check_rights(roots, out);
  out.push_back(check_store(config.store.folder));
  out.push_back(check_psi(roots));
  out.push_back(check_psi_triggers(roots));
  out.push_back(check_btf(roots));
  if (const auto version = kernel::detect_cgroup_version(roots)) {
    out.push_back(check_run_queue(*version));
    out.push_back(check_iterator(roots, *version));
  }
  out.push_back(check_perf(roots));
  out.push_back(check_resctrl(roots));
  out.push_back(check_descriptors());
  out.push_back(check_inotify(roots));
  return out;
}

}  // namespace koordlet::app
