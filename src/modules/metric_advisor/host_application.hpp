#pragma once

#include "base/result.hpp"
#include "kernel/cgroup_layout.hpp"
#include "model/node_slo.hpp"

namespace koordlet {

/// Directory of a NodeSLO host application: "host-latency-sensitive/<name>",
/// "host-best-effort/<name>" or "<name>" by QoS when it names no path; else base / parentDir /
/// relativePath. kRange for what is no cgroup path.
Result<CgroupPath> host_application_path(const HostApplication& app,
                                         const kernel::CgroupLayout& layout);

}  // namespace koordlet
