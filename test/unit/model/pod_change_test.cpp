#include "model/pod_change.hpp"

#include <doctest/doctest.h>

using namespace koordlet;

namespace {

Pod pod_of(const std::string& uid, std::int64_t request_milli, bool running = true) {
  Pod pod;
  pod.uid = uid;
  pod.cgroup = CgroupPath::parse("kubepods/burstable/pod" + uid).value();
  Container c;
  c.name = "main";
  c.running = running;
  c.requests.cpu = MilliCpu{request_milli};
  pod.containers.push_back(c);
  return pod;
}

NodeState state_of(std::initializer_list<Pod> pods) {
  NodeState out;
  for (const auto& p : pods) out.pods.push_back(std::make_shared<const Pod>(p));
  return out;
}

using Paths = std::vector<CgroupPath>;

}  // namespace

TEST_SUITE("model/pod_change") {
  TEST_CASE("a running container with another request or limit: its pod was resized") {
    const auto before = state_of({pod_of("a", 1000), pod_of("b", 1000), pod_of("c", 1000)});
    auto c = pod_of("c", 1000);
    c.containers[0].limits.memory = Bytes{4096};
    const auto after = state_of({pod_of("a", 1000), pod_of("b", 2000), c});
    CHECK(resized_pods(before, after) == Paths{pod_of("b", 1).cgroup, c.cgroup});
    CHECK(resized_pods(after, after).empty());
  }

  TEST_CASE("new pods, new containers and those that do not run yet were not resized") {
    const auto before = state_of({pod_of("a", 1000, false)});
    CHECK(resized_pods(before, state_of({pod_of("a", 2000)})).empty());
    CHECK(resized_pods(before, state_of({pod_of("b", 2000)})).empty());
    auto more = pod_of("a", 1000);
    more.containers.push_back(more.containers[0]);
    more.containers[1].name = "second";
    CHECK(resized_pods(state_of({pod_of("a", 1000)}), state_of({more})).empty());
  }

  TEST_CASE("extended resources are nobody's control files, labels neither") {
    auto before = pod_of("a", 1000);
    auto after = before;
    after.containers[0].requests.batch_cpu = MilliCpu{2000};
    after.labels["x"] = "y";
    CHECK(resized_pods(state_of({before}), state_of({after})).empty());
  }
}
