// What a runtime waits for: answers of the NRI plugin with its hooks, bytes in to bytes out, on a
// node of 500 containers. The floor reads the same request and writes the same answer.
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "bench/cri_calls.hpp"
#include "bench/report.hpp"
#include "modules/runtime_hooks/runtime_hooks.hpp"
#include "runtime/nri_messages.hpp"
#include "runtime/nri_plugin.hpp"
#include "runtime/nri_requests.hpp"

namespace {

using namespace koordlet;
using bench::quantile;

constexpr int kContainers = 500, kRounds = 20;
constexpr std::size_t kPartBytes = 1u << 20;

HookPod pod_of(int n) {
  HookPod out;
  out.id = fmt::format("sandbox-{}", n);
  out.uid = fmt::format("uid-{}", n);
  out.ns = "jobs";
  out.name = fmt::format("job-{}", n);
  out.labels["koordinator.sh/qosClass"] = n % 2 == 0 ? "BE" : "LS";
  const auto* tier = n % 2 == 0 ? "besteffort" : "burstable";
  out.cgroup_parent = CgroupPath::parse(fmt::format("kubepods/{}/pod{}", tier, out.uid)).value();
  out.annotations["node.koordinator.sh/extended-resource-spec"] =
      R"({"containers":{"app":{"requests":{"kubernetes.io/batch-cpu":"500"},)"
      R"("limits":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"}}}})";
  return out;
}

HookContainer container_of(int n) {
  HookContainer out;
  out.id = fmt::format("container-{}", n);
  out.pod_id = fmt::format("sandbox-{}", n);
  out.name = "app";
  out.state = HookContainer::State::kRunning;
  for (int i = 0; i < 40; ++i) out.env.push_back({fmt::format("SERVICE_{}_HOST", i), "10.0.0.1"});
  out.resources.cpu_shares = 2;
  return out;
}

/// The state knows half of the BE pods: the others go by their sandbox.
std::shared_ptr<NodeState> state_of() {
  auto out = std::make_shared<NodeState>();
  out->version = 1;
  for (int n = 0; n < kContainers; n += 4) {
    const auto from = pod_of(n);
    Pod pod;
    pod.uid = from.uid;
    pod.ns = from.ns;
    pod.name = from.name;
    pod.labels = from.labels;
    pod.annotations = from.annotations;
    out->pods.push_back(std::make_shared<const Pod>(std::move(pod)));
  }
  std::sort(out->pods.begin(), out->pods.end(), [](auto& a, auto& b) { return a->uid < b->uid; });
  return out;
}

double us_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

net::TtrpcRequest request_of(const char* method, std::string body) {
  return {"nri.pkg.api.v1alpha1.Plugin", method, std::move(body), {}};
}

}  // namespace

int main() {
  const SystemClock clock;
  RuntimeHooks hooks{{}, {}, clock};
  hooks.push(state_of(), {}, true);
  runtime::NriPlugin plugin{{}, hooks, clock};
  HookInventory inventory;
  for (int n = 0; n < kContainers; ++n) {
    inventory.pods.push_back(pod_of(n));
    inventory.containers.push_back(container_of(n));
  }
  const auto parts = runtime::encode_synchronize_parts(inventory, kPartBytes);
  std::vector<double> sync, steps, sync_floor, create, create_floor;
  for (int round = 0; round < kRounds; ++round) {
    double whole = 0;
    for (const auto& part : parts) {
      std::optional<net::TtrpcResponse> done;
      whole += us_of([&] { done = plugin.begin_answer(request_of("Synchronize", part)); });
      while (!done) {
        steps.push_back(us_of([&] { done = plugin.step(); }));
        whole += steps.back();
      }
    }
    sync.push_back(whole);
    sync_floor.push_back(us_of([&] {
      for (const auto& part : parts) runtime::decode_synchronize(part).value();
    }));
    for (int n = 0; n < kContainers; ++n) {
      auto body = runtime::encode_container_request(inventory.pods[n], inventory.containers[n]);
      std::string answer;
      create_floor.push_back(us_of([&] {
        runtime::decode_container_request(body).value();
        answer = runtime::encode_creation({}, {});
      }));
      const auto request = request_of("CreateContainer", std::move(body));
      create.push_back(us_of([&] { answer = plugin.answer(request).payload; }));
    }
  }
  bench::print("nri_create",
               quantile(create, 0.5),
               "us (median, 500 containers)",
               quantile(create_floor, 0.5));
  bench::print("nri_create_p99", quantile(create, 0.99), "us (p99)", quantile(create_floor, 0.99));
  bench::print("nri_synchronize",
               quantile(sync, 0.5) / 1000,
               "ms (median, 500 containers)",
               quantile(sync_floor, 0.5) / 1000);
  bench::print(
      "nri_synchronize_step", quantile(steps, 1) / 1000, "ms (longest hold of the loop)", 0);
  return plugin.counters().failures == 0 ? 0 : 1;
}
