#include "modules/predict_server/predict_server.hpp"

#include <algorithm>
#include <cmath>

#include "store/checkpoint.hpp"
#include "unit/modules/predict_server/rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

/// T19: 32 cores and 128 GiB; A, B and a helper use 10 cores and 30 GiB, the system 0.8 and 4.
void use_t19(PredictRig& rig) {
  rig.pods = {{"a", prod_pod("a", 8000, 32 * kGi)}, {"b", prod_pod("b", 8000, 16 * kGi)}};
  rig.use("a", 6000, 20 * kGi);
  rig.use("b", 3000, 8 * kGi);
  rig.signals.node_used = MilliCpu{10'800};
  rig.signals.kubepods_used = MilliCpu{10'000};
  rig.signals.memory_used = Bytes{34 * kGi};
}

void helper(PredictRig& rig, const std::string& uid, std::int64_t milli, std::int64_t memory) {
  rig.pods.emplace(uid, prod_pod(uid, milli, memory));
  rig.use(uid, 1000, 2 * kGi);
}

constexpr policy::PeakAmount kNode{{32'000}, {128 * kGi}};

TEST_SUITE("predict_server/rounds") {
  TEST_CASE("node, classes, system and pods have models from their first round") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    for (const char* key : {"node",
                            "system",
                            "class/prod",
                            "class/mid",
                            "class/batch",
                            "class/free",
                            "class/none",
                            "pod/a",
                            "pod/b"}) {
      CAPTURE(key);
      REQUIRE(rig.server->find(key) != nullptr);
      CHECK(rig.server->find(key)->cpu.usual);
      CHECK_FALSE(rig.server->find(key)->cpu.forecast);  // less than an hour of data
    }
    CHECK(rig.server->status().models == 9);
    CHECK(rig.server->status().bytes > 0);
  }
  TEST_CASE("a constant use is forecast as itself after an hour") {
    PredictRig rig;
    use_t19(rig);
    for (int i = 0; i < 66; ++i) rig.round();
    const auto* node = rig.server->find("node");
    REQUIRE(node->cpu.forecast);
    CHECK(node->cpu.forecast->peak == doctest::Approx(10.8).epsilon(0.03));
    CHECK(node->memory.forecast->peak == doctest::Approx(34.0 * kGi).epsilon(0.03));
    CHECK(node->cpu.forecast->cold);
  }
  TEST_CASE("a wall clock that is stepped is no gap") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    rig.clock.step_wall(-48h);
    rig.round();
    CHECK(rig.server->status().restarted == 0);
    CHECK(rig.server->find("node")->cpu.learned == 60s);
  }
  TEST_CASE("the model of a pod that is gone lasts half an hour, its row goes with it") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    rig.restart();
    CHECK(rig.rows().size() == 9);
    rig.pods.erase("b");
    rig.usage.erase("b");
    rig.round();
    rig.round(29min);
    CHECK(rig.server->find("pod/b") != nullptr);
    rig.round();
    CHECK(rig.server->find("pod/b") == nullptr);
    CHECK(rig.server->find("pod/a") != nullptr);
    CHECK(rig.server->status().expired == 1);
    const auto rows = rig.rows();
    CHECK(std::find(rows.begin(), rows.end(), "predict/pod/b") == rows.end());
    CHECK(std::find(rows.begin(), rows.end(), "predict/pod/a") != rows.end());
  }
  TEST_CASE("while the pods are not known nothing expires") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    rig.clock.advance(31min);
    run(rig.io, rig.server->round(std::make_shared<NodeState>()));
    CHECK(rig.server->find("pod/a") != nullptr);
  }
}

TEST_SUITE("predict_server/checkpoints") {
  TEST_CASE("after a restart the same keys forecast the same") {
    PredictRig rig;
    use_t19(rig);
    for (int i = 0; i < 360; ++i) {
      const auto wave = static_cast<std::int64_t>(1000 * std::sin(i * 2 * 3.14159265 / 288));
      rig.use("a", 6000 + wave + 100 * ((i * 7) % 13), 20 * kGi + wave * 1'000'000);
      rig.signals.node_used = MilliCpu{10'800 + wave};
      rig.round(5min);
    }
    std::map<std::string, policy::Prediction> before;
    rig.server->for_each([&](const auto& key, const auto& p) { before.emplace(key, p); });
    rig.restart();
    CHECK(rig.server->status().restored == before.size());
    std::size_t same = 0;
    rig.server->for_each([&](const auto& key, const policy::Prediction& after) {
      CAPTURE(key);
      REQUIRE(before.contains(key));
      const auto& p = before.at(key);
      REQUIRE(p.cpu.forecast);
      REQUIRE(after.cpu.forecast);
      CHECK(after.cpu.forecast->peak == doctest::Approx(p.cpu.forecast->peak).epsilon(0.01));
      CHECK(after.memory.forecast->peak == doctest::Approx(p.memory.forecast->peak).epsilon(0.01));
      CHECK(*after.cpu.usual == doctest::Approx(*p.cpu.usual).epsilon(0.01));
      ++same;
    });
    CHECK(same == before.size());
    CHECK_FALSE(before.at("node").cpu.forecast->cold);
  }
  TEST_CASE("rows are written ten minutes after a model was made, a few a round") {
    PredictRig rig;
    for (int i = 0; i < 30; ++i) {
      const auto uid = "p" + std::to_string(10 + i);
      rig.pods.emplace(uid, prod_pod(uid, 100, kGi));
      rig.use(uid, 50, kGi / 2);
    }
    rig.signals.node_used = MilliCpu{2000};
    rig.signals.kubepods_used = MilliCpu{1500};
    rig.signals.memory_used = Bytes{16 * kGi};
    for (int i = 0; i < 10; ++i) rig.round();
    CHECK(rig.rows().empty());
    rig.round();
    CHECK(rig.rows().size() == 12);
    rig.round();
    CHECK(rig.rows().size() == 24);
    for (int i = 0; i < 2; ++i) rig.round();
    CHECK(rig.rows().size() == 37);  // 30 pods, 5 classes, node and system
  }
  TEST_CASE("a row that cannot be used is one model that begins anew") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    rig.server->save_all();
    rig.stop();
    const auto node = store::Checkpoints{*rig.env}.get("predict/node").value();
    REQUIRE(node);
    auto older = *node;
    older[0] = 0;
    REQUIRE(store::Checkpoints{*rig.env}.apply({{"predict/node", older},
                                                {"predict/system",
                                                 "\x01"
                                                 "damaged"},
                                                {"predict/unknown", *node}}));
    rig.start();
    CHECK(rig.server->status().cold_rows == 3);
    CHECK(rig.server->status().restored == 7);
    CHECK(rig.server->find("node") == nullptr);
    CHECK(rig.server->find("unknown") == nullptr);
    CHECK(rig.server->find("pod/a") != nullptr);
    rig.round();
    const auto rows = rig.rows();  // what could not be read is not kept
    CHECK(rows.size() == 7);
    CHECK(rig.server->find("node")->cpu.learned == 0s);
  }
  TEST_CASE("a model that did not change is not written again") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    rig.server->save_all();
    const auto rows = rig.server->status().rows;
    CHECK(rows == 9);
    rig.server->save_all();
    CHECK(rig.server->status().rows == rows);
  }
}

TEST_SUITE("predict_server/prodReclaimable") {
  TEST_CASE("T19: 32 cores, three pods, one of them in its cold start") {
    PredictRig rig;
    use_t19(rig);
    helper(rig, "d", 0, 0);
    rig.round();
    rig.round(13h);
    rig.pods.erase("d");
    rig.usage.erase("d");
    helper(rig, "c", 2000, 4 * kGi);
    rig.round(13h);
    const auto r = rig.server->reclaimable(*rig.state(), kNode);
    REQUIRE(r);
    CHECK(r->reclaimable == policy::PeakAmount{{5722}, {14618183141}});
    CHECK(r->peak == policy::PeakAmount{{12278}, {41216391707}});
  }
  TEST_CASE("no more than the node has left") {
    PredictRig rig;
    use_t19(rig);
    helper(rig, "d", 0, 0);
    rig.round();
    rig.round(13h);
    rig.round(13h);
    // Classes: 12278m and 41216391707 bytes are taken, of 13 cores and 40 GiB.
    const auto r = rig.server->reclaimable(*rig.state(), policy::PeakAmount{{13'000}, {40 * kGi}});
    REQUIRE(r);
    CHECK(r->reclaimable.cpu == MilliCpu{722});
    CHECK(r->reclaimable.memory == Bytes{40 * kGi - 41216391707});
  }
  TEST_CASE("nothing is said without the classes, the node or the pods") {
    PredictRig rig;
    use_t19(rig);
    CHECK_FALSE(rig.server->reclaimable(*rig.state(), kNode));  // no round yet
    rig.round();
    CHECK(rig.server->reclaimable(*rig.state(), kNode));
    CHECK_FALSE(rig.server->reclaimable(*rig.state(), std::nullopt));
    CHECK_FALSE(rig.server->reclaimable(NodeState{}, kNode));
  }
  TEST_CASE("a system that is no longer measured is not known after half an hour") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    rig.clock.advance(31min);
    CHECK_FALSE(rig.server->reclaimable(*rig.state(), kNode));
  }
  TEST_CASE("in its first day a pod counts with its request: nothing is reclaimable") {
    PredictRig rig;
    use_t19(rig);
    rig.round();
    const auto r = rig.server->reclaimable(*rig.state(), kNode);
    REQUIRE(r);
    CHECK(r->reclaimable == policy::PeakAmount{});
    CHECK(r->peak.cpu == MilliCpu{16'000});
  }
}

}  // namespace
