#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <fmt/format.h>

#include "modules/status_api/routes.hpp"

/// Views as the daemon would fill them, and requests with parsed answers.
namespace koordlet::test {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr auto kNow = MonoTime{} + seconds{10'000};
/// 2026-01-02T03:04:05Z
inline constexpr auto kWall = WallTime{} + seconds{1'767'323'045};

inline CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }

inline Pod make_pod(std::string uid, std::string name, KubeQos kube_qos, QosClass qos) {
  Pod pod;
  pod.uid = uid;
  pod.ns = "shop";
  pod.name = std::move(name);
  pod.phase = PodPhase::kRunning;
  pod.kube_qos = kube_qos;
  pod.qos = qos;
  const char* tier = kube_qos == KubeQos::kBestEffort  ? "kubepods/besteffort"
                     : kube_qos == KubeQos::kBurstable ? "kubepods/burstable"
                                                       : "kubepods";
  pod.cgroup = path(fmt::format("{}/pod{}", tier, uid));
  return pod;
}

inline Container container_with_request(MilliCpu batch_cpu) {
  Container c;
  c.name = "main";
  c.running = true;
  c.requests.batch_cpu = batch_cpu;
  return c;
}

inline StatusView::HeldFile hold(CgroupKey key, std::string file, std::string value) {
  StatusView::HeldFile held;
  held.key = std::move(key);
  held.file = std::move(file);
  held.raw = value;
  held.value = std::move(value);
  held.original = "max 100000";
  held.plugin = "pressure";
  held.reason = "level HIGH (83.1 % >= 80 %): request 4000m x 300 permille";
  held.since = kNow - seconds{5};
  return held;
}

/// One LS pod "ls-1" (shop/web), one BE pod "be-1" (shop/batch, request 4000m) that is capped to
/// 1200m, one BE pod "be-2" (shop/free) without a request. Level HIGH, 16 CPUs, BE root unlimited.
inline StatusView make_view(CgroupVersion version) {
  StatusView view;
  view.now = kNow;
  view.wall = kWall;
  view.version = "1.2.3";
  view.node_name = "node-a";
  view.boot_id = "b1";
  view.ready = true;
  view.uptime = seconds{100};
  view.cgroup_version = version;
  view.driver = CgroupDriver::kCgroupfs;

  auto batch = make_pod("be-1", "batch", KubeQos::kBestEffort, QosClass::kBe);
  batch.containers.push_back(container_with_request(MilliCpu{4000}));
  auto free = make_pod("be-2", "free", KubeQos::kBestEffort, QosClass::kNone);
  auto web = make_pod("ls-1", "web", KubeQos::kBurstable, QosClass::kNone);
  auto state = std::make_shared<NodeState>();
  auto node = std::make_shared<Node>();
  node->name = "node-a";
  node->cpu_capacity = MilliCpu{16'000};
  state->node = node;
  state->pods = {std::make_shared<const Pod>(batch),
                 std::make_shared<const Pod>(free),
                 std::make_shared<const Pod>(web)};
  state->pods_at = kNow - seconds{2};
  state->node_at = kNow - seconds{3};
  view.state = state;

  NodeSignals signals;
  signals.seq = 7;
  signals.at = kNow - milliseconds{400};
  signals.node_used = MilliCpu{13'000};
  signals.kubepods_used = MilliCpu{12'000};
  signals.be_used = MilliCpu{2'000};
  signals.host_app_used = MilliCpu{300};
  view.signals = signals;
  PodUsage usage;
  usage.at = kNow - seconds{4};
  usage.cpu = MilliCpu{900};
  usage.memory = Bytes{1'048'576};
  usage.throttled = Permille{250};
  view.pods["be-1"] = usage;

  view.qos.profile = "pressure";
  view.qos.level = "HIGH";
  view.qos.level_since = kNow - seconds{5};
  view.qos.use_permyriad = 8125;
  view.qos.factor_permille = 300;
  view.qos.below_exit = 1;
  view.qos.level_by_use = "MID";
  view.qos.raised_by = "pod prod/web: CPU stall 18.0 % of the time";
  view.qos.not_caused_by_be = {"ls-2"};
  view.qos.uncapped = {"be-2"};
  view.qos.ticks = 42;
  view.qos.level_changes = 3;

  view.be_root = BeRoot{path("kubepods/besteffort"), CpuMax{}, CpuSet::range(0, 15)};
  const bool v2 = version == CgroupVersion::kV2;
  const std::string file = v2 ? "/sys/fs/cgroup/kubepods/besteffort/podbe-1/cpu.max"
                              : "/sys/fs/cgroup/cpu/kubepods/besteffort/podbe-1/cpu.cfs_quota_us";
  view.held.push_back(
      hold({path("kubepods/besteffort/podbe-1"), CgroupFile::kCpuMax}, file, "120000 100000"));
  view.ages = {{"node", milliseconds{3000}, false}, {"nodeslo", std::nullopt, false}};
  return view;
}

inline net::HttpRequest get(std::string path, std::string query = {}) {
  net::HttpRequest request;
  request.method = "GET";
  request.path = std::move(path);
  request.query = std::move(query);
  request.host = "localhost";
  return request;
}

/// The answer to a GET, which must have `status`; its JSON.
inline json::object fetch(const StatusView& view,
                          std::string path,
                          std::string query = {},
                          unsigned status = 200) {
  status_api::Router router([&] { return view; }, [] { return std::vector<Outcome>{}; });
  const auto response =
      router.handle(get(std::move(path), std::move(query)), status_api::Surface::kApi);
  if (response.status != status) {
    throw std::runtime_error(fmt::format("status {}: {}", response.status, response.body));
  }
  return json::parse(response.body).as_object();
}

inline std::string text(const json::value& value) { return json::value_to<std::string>(value); }

/// True when one of the lines contains `part`.
inline bool has_line(const json::value& lines, std::string_view part) {
  for (const auto& line : lines.as_array()) {
    if (std::string_view{line.as_string()}.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace koordlet::test
