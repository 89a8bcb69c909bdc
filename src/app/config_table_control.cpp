#include <optional>

#include "app/config_table.hpp"

namespace koordlet::app {

void add_control_plane(std::vector<Setting>& out) {
  const auto path = TextRule::kPathOrNone;
  out.push_back(text("api.kubeconfig",
                     KOORDLET_AT(api.kubeconfig),
                     path,
                     "kubeconfig of the API server; empty: the service account of the pod"));
  out.push_back(duration("api.connect_timeout",
                         KOORDLET_AT(api.connect_timeout),
                         100,
                         kMinute,
                         "name, connection and TLS handshake together"));
  out.push_back(duration("api.request_timeout",
                         KOORDLET_AT(api.request_timeout),
                         100,
                         5 * kMinute,
                         "from a request to the end of its answer"));
  out.push_back(duration("api.watch_timeout",
                         KOORDLET_AT(api.dead_peer),
                         kSecond,
                         10 * kMinute,
                         "a server that no longer acknowledges is given up after this time"));
  out.push_back(duration("api.watch_silence",
                         KOORDLET_AT(states.informer.reflector.silence),
                         kSecond,
                         kHour,
                         "a watch without a byte for so long is opened again"));
  out.push_back(number("api.page_size",
                       KOORDLET_AT(states.informer.reflector.page),
                       1,
                       10'000,
                       "objects in one page of a list"));

  out.push_back(text("kubelet.url",
                     KOORDLET_AT(kubelet.url),
                     TextRule::kUrl,
                     "kubelet, as https://127.0.0.1:10250; empty: its policies are not asked for"));
  out.push_back(text("kubelet.ca_file",
                     KOORDLET_AT(kubelet.ca_file),
                     path,
                     "CA of kubelet's certificate; empty: the system's"));
  out.push_back(text("kubelet.token_file",
                     KOORDLET_AT(kubelet.token_file),
                     path,
                     "bearer token for kubelet; empty: none"));
  out.push_back(text("kubelet.cert_file",
                     KOORDLET_AT(kubelet.cert_file),
                     path,
                     "client certificate for kubelet; with kubelet.key_file"));
  out.push_back(text(
      "kubelet.key_file", KOORDLET_AT(kubelet.key_file), path, "its key; with kubelet.cert_file"));
  out.push_back(text("kubelet.cpu_manager_state",
                     KOORDLET_AT(kubelet.cpu_manager_state),
                     path,
                     "kubelet's own list of CPUs that its static policy gave away, as this process "
                     "sees it; empty: not read"));

  out.push_back(
      boolean("report.enable", KOORDLET_AT(report.enable), "kubernetes source: send NodeMetric"));
  out.push_back(with_flag("nodemetric-report-interval",
                          duration("report.interval",
                                   KOORDLET_AT(report.interval),
                                   0,
                                   kHour,
                                   "between two reports, 10s at least; 0s: what the NodeMetric "
                                   "object says, else 60s")));
  out.push_back(boolean("report.create",
                        KOORDLET_AT(report.create),
                        "make the NodeMetric object when nobody else does"));
  out.push_back(boolean("report.topology",
                        KOORDLET_AT(report.topology),
                        "publish the CPU topology as NodeResourceTopology"));
  out.push_back(boolean("report.high_condition",
                        KOORDLET_AT(report.high_condition),
                        "set the Node condition KoordletHighPressure after so long at HIGH"));
  out.push_back(duration("report.high_condition_after",
                         KOORDLET_AT(report.high_condition_after),
                         kMinute,
                         kHour,
                         "at HIGH before it is set, and below HIGH before it is cleared"));
}

}  // namespace koordlet::app
