#include "model/eviction.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "model/pod.hpp"

using namespace koordlet;

TEST_SUITE("model/eviction") {
  TEST_CASE("every result has a name of its own") {
    std::set<std::string> names;
    for (int i = 0; i < kEvictionResults; ++i) {
      names.emplace(to_string(static_cast<EvictionResult>(i)));
    }
    CHECK(names.size() == kEvictionResults);
    CHECK_FALSE(names.contains("?"));
    CHECK(to_string(static_cast<EvictionResult>(kEvictionResults)) == "?");
  }

  TEST_CASE("the value of a priority: as set, else by class") {
    Pod pod;
    pod.kube_qos = KubeQos::kBestEffort;
    CHECK(priority_value(pod) == 5500);
    pod.priority = 0;
    CHECK(priority_value(pod) == 5500);
    pod.priority = -5;
    CHECK(priority_value(pod) == -5);
    pod.priority = 2'000'001'000;
    CHECK(priority_value(pod) == 2'000'001'000);
    pod.priority.reset();
    pod.kube_qos = KubeQos::kGuaranteed;
    CHECK(priority_value(pod) == 9500);
    pod.labels["koordinator.sh/priority-class"] = "koord-mid";
    CHECK(priority_value(pod) == 7500);
    pod.labels["koordinator.sh/priority-class"] = "koord-free";
    CHECK(priority_value(pod) == 3500);
  }
}
