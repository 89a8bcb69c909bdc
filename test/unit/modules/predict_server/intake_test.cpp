#include "modules/predict_server/intake.hpp"

#include <algorithm>

#include "unit/modules/predict_server/rig.hpp"

using namespace koordlet;
using namespace koordlet::predict;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

constexpr MonoTime kNow{std::chrono::hours{1}};

NodeSignals node(std::int64_t used, std::int64_t pods, std::int64_t memory) {
  NodeSignals s;
  s.node_used = MilliCpu{used};
  s.kubepods_used = MilliCpu{pods};
  s.memory_used = Bytes{memory};
  return s;
}

PodUsage sample(MonoTime at, std::int64_t milli, std::int64_t bytes) {
  PodUsage u;
  u.at = at;
  u.cpu = MilliCpu{milli};
  u.memory = Bytes{bytes};
  return u;
}

NodeState state_of(std::vector<Pod> pods) {
  NodeState out;
  std::sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.uid < b.uid; });
  for (auto& pod : pods) out.pods.push_back(std::make_shared<Pod>(std::move(pod)));
  out.pods_at = kNow;
  return out;
}

const Feed* find(const std::vector<Feed>& feeds, std::string_view key) {
  const auto at =
      std::find_if(feeds.begin(), feeds.end(), [&](const auto& f) { return f.key == key; });
  return at == feeds.end() ? nullptr : &*at;
}

TEST_SUITE("predict_server/intake") {
  TEST_CASE("of each series the 90th percentile of the minute counts") {
    Intake in;
    // 10 samples: the 9th smallest, so that one burst does not count.
    for (int i = 1; i <= 9; ++i) in.note_node(node(1000 * i, 0, 100 * i));
    in.note_node(node(64'000, 0, 9'999));
    const auto feeds = in.take(state_of({}), kNow, 150s);
    REQUIRE(find(feeds, "node") != nullptr);
    CHECK(find(feeds, "node")->cores == 9);
    CHECK(find(feeds, "node")->bytes == 900);
  }
  TEST_CASE("a sample counts in one round only") {
    Intake in;
    in.note_node(node(1000, 0, 5));
    CHECK(find(in.take(state_of({}), kNow, 150s), "node") != nullptr);
    CHECK(in.take(state_of({}), kNow, 150s).empty());
  }
  TEST_CASE("classes are sums, 0 without pods, and the system is what pods do not use") {
    Intake in;
    auto batch = prod_pod("c", 0, 0);
    batch.priority = 5500;
    const auto state = state_of({prod_pod("a", 0, 0), prod_pod("b", 0, 0), batch});
    in.note_node(node(5000, 3500, 900));
    in.note_pods({{"a", sample(kNow, 1000, 100)},
                  {"b", sample(kNow, 2000, 200)},
                  {"c", sample(kNow, 500, 50)}});
    const auto feeds = in.take(state, kNow, 150s);
    CHECK(find(feeds, "class/prod")->cores == 3);
    CHECK(find(feeds, "class/prod")->bytes == 300);
    CHECK(find(feeds, "class/batch")->cores == 0.5);
    CHECK(find(feeds, "class/mid")->cores == 0);
    CHECK(find(feeds, "class/none")->bytes == 0);
    CHECK(find(feeds, "system")->cores == 1.5);
    CHECK(find(feeds, "system")->bytes == 550);
    CHECK(find(feeds, "pod/a")->cores == 1);
  }
  TEST_CASE("between two passes a pod counts in its class with its last value, up to its age") {
    Intake in;
    const auto state = state_of({prod_pod("a", 0, 0)});
    in.note_pods({{"a", sample(kNow, 1000, 100)}});
    CHECK(find(in.take(state, kNow, 150s), "pod/a") != nullptr);
    in.note_pods({{"a", sample(kNow, 1000, 100)}});  // the same sample again
    const auto later = in.take(state, kNow + 150s, 150s);
    CHECK(find(later, "pod/a") == nullptr);
    CHECK(find(later, "class/prod")->cores == 1);
    CHECK(find(in.take(state, kNow + 151s, 150s), "class/prod") == nullptr);
  }
  TEST_CASE("before the first pass over the pods there is no class, and no zero") {
    Intake in;
    in.note_node(node(5000, 3500, 900));
    const auto feeds = in.take(state_of({prod_pod("a", 0, 0)}), kNow, 150s);
    CHECK(feeds.size() == 1);
    CHECK(find(feeds, "node") != nullptr);
  }
  TEST_CASE("a running pod that was never measured leaves its class unknown") {
    Intake in;
    in.note_pods({});
    const auto feeds = in.take(state_of({prod_pod("a", 0, 0)}), kNow, 150s);
    CHECK(find(feeds, "class/prod") == nullptr);
    CHECK(find(feeds, "class/mid") != nullptr);
  }
  TEST_CASE("a pod of which only memory is known says nothing of CPU") {
    Intake in;
    auto first = sample(kNow, 0, 100);
    first.cpu.reset();
    in.note_pods({{"a", first}});
    const auto feeds = in.take(state_of({prod_pod("a", 0, 0)}), kNow, 150s);
    CHECK_FALSE(find(feeds, "pod/a")->cores);
    CHECK(find(feeds, "pod/a")->bytes == 100);
    CHECK_FALSE(find(feeds, "class/prod")->cores);
    CHECK(find(feeds, "class/prod")->bytes == 100);
  }
  TEST_CASE("the system never uses less than nothing, and is unknown without the pods' share") {
    Intake in;
    auto signals = node(1000, 1500, 50);
    in.note_node(signals);
    in.note_pods({{"a", sample(kNow, 1500, 100)}});
    const auto feeds = in.take(state_of({prod_pod("a", 0, 0)}), kNow, 150s);
    CHECK(find(feeds, "system")->cores == 0);
    CHECK(find(feeds, "system")->bytes == 0);
    signals.kubepods_used.reset();
    signals.memory_used.reset();
    in.note_node(signals);
    CHECK(find(in.take(state_of({}), kNow, 150s), "system") == nullptr);
  }
}

}  // namespace
