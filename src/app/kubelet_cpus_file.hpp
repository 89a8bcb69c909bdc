#pragma once

#include <string>

#include "model/kubelet_cpus.hpp"

namespace koordlet::app {

/// Kubelet's cpu_manager_state. An empty path and a file that is not there (another policy on old
/// kubelets, or not mounted) tell nothing and are no fault; damaged content is a fault, and what
/// can be read of it counts.
KubeletCpus read_kubelet_cpus(const std::string& file);

}  // namespace koordlet::app
