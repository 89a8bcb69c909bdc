#include "app/kubelet_cpus_file.hpp"

#include <boost/json/parse.hpp>

#include "k8s/node_topology.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {

KubeletCpus read_kubelet_cpus(const std::string& file) {
  KubeletCpus out;
  if (file.empty()) return out;
  const auto text = kernel::read_file(file);
  if (!text) {
    if (text.error().code != Errc::kNotFound) out.fault = text.error().context;
    return out;
  }
  boost::system::error_code ec;
  const auto json = boost::json::parse(*text, ec);
  if (ec) {
    out.fault = file + ": not JSON: " + ec.message();
    return out;
  }
  auto state = k8s::decode_cpu_manager_state(json);
  if (!state) {
    out.fault = file + ": " + state.error().context;
    return out;
  }
  out.policy = state->policy;
  out.exclusive = std::move(state->pods);
  if (!state->faults.empty()) out.fault = file + ": " + state->faults.front();
  return out;
}

}  // namespace koordlet::app
