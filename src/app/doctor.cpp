#include "app/doctor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/doctor_checks.hpp"
#include "app/text_table.hpp"
#include "kernel/host.hpp"
#include "kernel/probe.hpp"

namespace koordlet::app {
namespace {

constexpr std::uint64_t kWantedDescriptors = 16'384;  // kept-open counters and control files
constexpr std::uint64_t kWantedWatches = 8'192;       // a watch a pod and container folder
constexpr std::uint64_t kWantedInstances = 16;
constexpr std::uint64_t kWantedFreeBytes = 512ull << 20;

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
  out.push_back(capability(
      "CAP_SYS_RESOURCE", kernel::kCapSysResource, "PSI triggers have windows of 2 s and more"));
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
  out.push_back(check_systemd(config));
  check_rights(roots, out);
  out.push_back(check_store(config.store.folder));
  check_signals(config, out);
  out.push_back(check_descriptors());
  out.push_back(check_inotify(roots));
  return out;
}

}  // namespace koordlet::app
