#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/doctor_checks.hpp"
#include "kernel/cgroup_counters.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_iterator.hpp"
#include "kernel/cold_memory.hpp"
#include "kernel/fd.hpp"
#include "kernel/host.hpp"
#include "kernel/perf_group.hpp"
#include "kernel/probe.hpp"
#include "kernel/procfs.hpp"
#include "kernel/sched_latency.hpp"

namespace koordlet::app {
namespace {

constexpr const char* kResources[] = {"cpu", "memory", "io"};

/// The first of the three that cannot be read and understood.
template <class Read>
Result<void> read_all(Read&& read) {
  for (const auto* resource : kResources) {
    const auto psi = read(resource);
    if (!psi) return psi.error();
  }
  return {};
}

Check check_node_psi(const kernel::HostRoots& roots) {
  const std::string name = "psi of the node";
  kernel::ProcFs proc{roots};
  const auto psi = read_all([&](const char* resource) { return proc.pressure(resource); });
  if (psi) return yes(name, "cpu, memory and io pressure");
  const std::string instead = "; the node's stalls are unknown meanwhile";
  switch (psi.error().code) {
    case Errc::kNotFound:
      return no(name,
                psi.error().context,
                "use a kernel with CONFIG_PSI, or check [host] proc_root" + instead);
    case Errc::kNotSupported:
      return no(name, psi.error().context, "boot with psi=1" + instead);
    default:
      break;
  }
  return no(name, psi.error().context, "look at the file, and at [host] proc_root" + instead);
}

/// cgroup v1 has them on vendor kernels alone, in the cpuacct hierarchy.
Check check_cgroup_psi(const kernel::HostRoots& roots, CgroupVersion version) {
  const std::string name = "psi of cgroups";
  const bool v1 = version == CgroupVersion::kV1;
  kernel::CgroupCounters counters{roots, version, 3};
  const auto psi =
      read_all([&](const char* resource) { return counters.pressure(CgroupPath{}, resource); });
  if (psi) return yes(name, v1 ? "cpu, memory and io pressure in cpuacct" : "cpu, memory and io");
  const auto file = roots.cgroup + (v1 ? "/cpuacct" : "") + "/cpu.pressure";
  const bool there = ::access(file.c_str(), F_OK) == 0;
  if (v1 && !there) {
    return not_applicable(
        name, "cgroup v1 of this kernel has none: pods are judged by run-queue waits and CPI");
  }
  const std::string instead = "; pods are judged by run-queue waits and CPI meanwhile";
  if (there && psi.error().code != Errc::kNotSupported)
    return no(name, psi.error().context, "look at the file, and at [host] cgroup_root" + instead);
  return no(
      name,
      psi.error().context,
      (there ? "boot with psi=1" : "use a kernel with CONFIG_PSI, and boot with psi=1") + instead);
}

/// Windows of less than 2 s need CAP_SYS_RESOURCE.
Check check_psi_triggers(const kernel::HostRoots& roots) {
  const std::string name = "psi triggers";
  const auto trigger = kernel::probe_psi_trigger(roots);
  if (trigger) {
    return yes(name,
               fmt::format("windows of {} ms and more{}",
                           trigger->count(),
                           trigger->count() < 2000 ? "" : "; shorter ones need CAP_SYS_RESOURCE"));
  }
  const auto code = trigger.error().code;
  const std::string what = code == Errc::kNotFound ? "use a kernel with CONFIG_PSI"
                           : code == Errc::kNotSupported
                               ? "boot with psi=1"
                               : "grant CAP_SYS_RESOURCE, and write access to the pressure files";
  return no(name, trigger.error().context, what + "; ticks come each second meanwhile");
}

Check check_btf(const kernel::HostRoots& roots) {
  const auto file = roots.sys + "/kernel/btf/vmlinux";
  const bool there = kernel::has_btf(roots);
  return yes_or_no("btf",
                   there,
                   there ? "kernel types" : file + ": not there",
                   "use a kernel with CONFIG_DEBUG_INFO_BTF, or check [host] sys_root; no BPF "
                   "program loads meanwhile, and plain files are read");
}

std::string bpf_advice(const Error& e, std::string_view kernel) {
  if (e.code == Errc::kDenied) return "grant CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN)";
  return fmt::format("use a kernel {} with BTF, and grant CAP_BPF and CAP_PERFMON", kernel);
}

/// By loading it: BTF alone does not say whether this kernel takes the programs.
Check check_run_queue(CgroupVersion version) {
  const std::string name = "bpf run-queue latency";
  const auto probe = kernel::SchedLatency::open(version);
  if (probe) return yes(name, "programs load");
  return no(name,
            probe.error().context,
            bpf_advice(probe.error(), "of 5.8 or later") +
                "; the schedstat of each thread is read meanwhile: a sum without percentiles");
}

Check check_iterator(const kernel::HostRoots& roots, CgroupVersion version) {
  const std::string name = "bpf cgroup iterator";
  if (version == CgroupVersion::kV1)
    return not_applicable(name, "cgroup v2 only: counters are read from files");
  const auto iterator = kernel::CgroupIterator::open(roots.cgroup);
  if (iterator) return yes(name, (*iterator)->variant());
  return no(name,
            iterator.error().context,
            bpf_advice(iterator.error(), "of 6.1 or later") +
                "; counters are read from files, one by one, meanwhile");
}

Check check_perf(const kernel::HostRoots& roots) {
  const std::string name = "perf counters";
  const auto perf = kernel::probe_perf_events(kernel::interference_events(roots));
  if (perf) return yes(name, "cycles, instructions, cache misses as one group");
  if (perf.error().code == Errc::kNotFound || perf.error().code == Errc::kNotSupported) {
    return not_applicable(
        name, "this machine has no hardware counters: CPI and cache misses are not measured");
  }
  return no(name,
            perf.error().context,
            "grant CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0; CPI and cache misses are "
            "not measured meanwhile");
}

Check check_resctrl(const kernel::HostRoots& roots) {
  const std::string name = "resctrl";
  const std::string mount = kernel::resctrl_mount_point(roots);
  switch (kernel::probe_resctrl(roots)) {
    case kernel::Resctrl::kMounted:
      return yes(name, mount);
    case kernel::Resctrl::kNotMounted:
      return no(name,
                "not mounted",
                fmt::format("mount -t resctrl resctrl {}; cache and memory bandwidth of groups "
                            "are not measured meanwhile",
                            mount));
    case kernel::Resctrl::kUnsupported:
      break;
  }
  return not_applicable(name,
                        "neither this CPU nor this kernel offers it: cache and memory bandwidth of "
                        "groups are not measured");
}

Check check_cold_memory(const kernel::HostRoots& roots, CgroupVersion version) {
  const std::string name = "cold memory";
  if (!kernel::has_kidled(roots))
    return not_applicable(name, "no kidled (vendor kernels only): idle pages are not counted");
  const auto cold = kernel::read_cold_memory(roots, version, CgroupPath{});
  if (cold) return yes(name, "kidled");
  if (cold.error().code == Errc::kNotSupported)
    return not_applicable(name, "kidled counts by cgroup v1 only: idle pages are not counted");
  return no(name,
            cold.error().context,
            "look at the file and at <sys>/kernel/mm/kidled; idle pages are not counted meanwhile");
}

/// Somebody listens there.
Result<void> probe_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return errno_error(ENAMETOOLONG, path, "connect");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const kernel::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return errno_error(errno, path, "socket");
  const int rc = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc != 0 && errno != EAGAIN) return errno_error(errno, path, "connect");
  return {};
}

/// Asked only for containers whose cgroup cannot be read.
Check check_runtime(std::string name, const std::string& key, const std::string& path) {
  if (path.empty())
    return not_applicable(std::move(name), fmt::format("{} is empty: it is not asked", key));
  const auto answer = probe_socket(path);
  if (answer) return yes(std::move(name), path);
  const auto detail = answer.error().context;
  if (answer.error().code == Errc::kNotFound && key == "collect.docker_socket")
    return not_applicable(std::move(name), path + ": not there; needed for Docker's containers");
  return no(std::move(name),
            detail,
            fmt::format("start the runtime and mount its socket, or set {}; containers whose "
                        "cgroup cannot be read have no sample meanwhile",
                        key));
}

/// Without it containers start as the kubelet made them, and the ticks put files right afterwards.
Check check_nri(const Config& config) {
  const std::string name = "runtime (NRI)";
  if (!config.hooks.nri) return not_applicable(name, "hooks.nri is false: it is not used");
  const auto& socket = config.hooks.connection.socket;
  const auto answer = probe_socket(socket);
  if (answer) return yes(name, socket);
  return no(name,
            answer.error().context,
            "enable NRI in the runtime (containerd 1.7: [plugins.\"io.containerd.nri.v1.nri\"] "
            "disable = false) and mount its socket, or set hooks.socket; containers start without "
            "koordlet's values meanwhile");
}

}  // namespace

void check_signals(const Config& config, std::vector<Check>& out) {
  const kernel::HostRoots& roots = config.host;
  const auto version = kernel::detect_cgroup_version(roots);
  out.push_back(check_node_psi(roots));
  if (version) out.push_back(check_cgroup_psi(roots, *version));
  out.push_back(check_psi_triggers(roots));
  out.push_back(check_btf(roots));
  if (version) {
    out.push_back(check_run_queue(*version));
    out.push_back(check_iterator(roots, *version));
  }
  out.push_back(check_perf(roots));
  out.push_back(check_resctrl(roots));
  if (version) out.push_back(check_cold_memory(roots, *version));
  out.push_back(check_runtime("runtime (CRI)", "collect.cri_socket", config.collect.cri_socket));
  out.push_back(check_nri(config));
  out.push_back(
      check_runtime("runtime (Docker)", "collect.docker_socket", config.collect.docker_socket));
}

}  // namespace koordlet::app
