#include "modules/states_informer/state_keeper.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "modules/states_informer/files_source.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"

using namespace koordlet;
using namespace koordlet::states;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  FakeTree host;
  FakeTree folder;
  ManualClock clock;
  boost::asio::io_context io;
  FilesSource source{
      io.get_executor(), {.folder = folder.root(), .node_name = "n1"}, clock, nullptr, [] {}};
  StateKeeper keeper{kernel::HostRoots{.cgroup = host.root()}, CgroupVersion::kV1};

  bool step() {
    keeper.find_layout();
    static_cast<void>(source.load());  // its error is a fault of the content
    return keeper.publish(source.content(keeper.layout(), *keeper.state()), {});
  }
  const NodeState& state() const { return *keeper.state(); }
};

}  // namespace

TEST_SUITE("states_informer/state_keeper") {
  TEST_CASE("pitfall 1: before the first reading there is no node, and no version") {
    Fixture f;
    CHECK(f.state().version == 0);
    CHECK(f.state().node == nullptr);
    CHECK(f.state().pods_at == MonoTime{});
    CHECK(f.step());  // an empty folder is known to be empty
    CHECK(f.state().version == 1);
    CHECK(f.state().pods_at == f.clock.now());
  }

  TEST_CASE("the version rises with the content alone, the times with each reading") {
    Fixture f;
    f.folder.write("a.yaml", pod_yaml("u1", "a") + node_yaml("n1"));
    CHECK(f.step());
    const auto first = f.keeper.state();
    f.clock.advance(10s);
    f.folder.write("a.yaml", pod_yaml("u1", "a") + "# touched\n" + node_yaml("n1"));
    CHECK_FALSE(f.step());
    CHECK(f.state().version == first->version);
    CHECK(f.state().pods_at == f.clock.now());
    CHECK(f.state().node_at == f.clock.now());
    CHECK(first->pods_at < f.clock.now());  // states that were handed out never change
    f.folder.write("a.yaml", pod_yaml("u1", "b") + node_yaml("n1"));
    CHECK(f.step());
    CHECK(f.state().version == first->version + 1);
    CHECK(f.state().pods[0]->name == "b");
    CHECK(find_pod(f.state(), "u1") == f.state().pods[0].get());
    CHECK(f.state().node == first->node);
  }

  TEST_CASE("pitfall 5: what could not be read keeps its last objects, and their age grows") {
    Fixture f;
    f.folder.write("pods.yaml", pod_yaml("u1", "a"));
    f.folder.write("node.yaml", node_yaml("n1"));
    f.step();
    const auto read_at = f.clock.now();
    f.clock.advance(10s);
    f.folder.write("pods.yaml", "apiVersion: [");
    CHECK(f.step());  // the fault is new
    CHECK(f.state().pods.size() == 1);
    CHECK(f.state().pods_at == read_at);
    CHECK(f.state().node_at == f.clock.now());
    REQUIRE(f.state().faults.size() == 1);
    CHECK(contains(f.state().faults[0], "pods.yaml: line "));
    f.clock.advance(10s);
    f.folder.write("pods.yaml", pod_yaml("u1", "a"));
    CHECK(f.step());
    CHECK(f.state().faults.empty());
    CHECK(f.state().pods_at == f.clock.now());
  }

  TEST_CASE("a folder that goes away is a fault, everything stays and ages") {
    Fixture f;
    f.folder.write("a.yaml",
                   pod_yaml("u1", "a") + node_yaml("n1") + slo_yaml("n1", "{enable: true}"));
    f.step();
    const auto read_at = f.clock.now();
    f.clock.advance(10s);
    f.folder.remove("");
    CHECK(f.step());
    CHECK(f.state().pods.size() == 1);
    CHECK(f.state().slo != nullptr);
    CHECK(f.state().pods_at == read_at);
    CHECK(f.state().node_at == read_at);
    CHECK(f.state().slo_at == read_at);
    REQUIRE(f.state().faults.size() == 1);
    CHECK(contains(f.state().faults[0], f.folder.root()));
  }

  TEST_CASE("a NodeSLO that is removed is gone, not the last policy") {
    Fixture f;
    f.folder.write("slo.yaml", slo_yaml("n1", "{enable: true}"));
    f.step();
    REQUIRE(f.state().slo != nullptr);
    f.folder.remove("slo.yaml");
    CHECK(f.step());
    CHECK(f.state().slo == nullptr);
  }

  TEST_CASE("121: the driver is waited for, then the pods get their paths") {
    Fixture f;
    f.folder.write("a.yaml", pod_yaml("u-1", "a"));
    f.step();
    CHECK_FALSE(f.keeper.layout().has_value());
    CHECK(f.state().pods[0]->cgroup.is_root());
    f.host.mkdir("cpu/kubepods.slice");
    CHECK(f.step());
    REQUIRE(f.keeper.layout().has_value());
    CHECK(f.keeper.layout()->driver() == CgroupDriver::kSystemd);
    CHECK(f.state().pods[0]->cgroup.str() ==
          "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice");
    f.host.remove("cpu/kubepods.slice");
    CHECK_FALSE(f.step());  // kubelet makes the tree anew: paths stay
    CHECK(f.keeper.layout().has_value());
    f.host.mkdir("cpu/kubepods");
    CHECK(f.step());
    CHECK(f.state().pods[0]->cgroup.str() == "kubepods/besteffort/podu-1");
  }

  TEST_CASE("1000 pods in one file, one of them changes") {
    Fixture f;
    std::string text;
    for (int i = 0; i < 1000; ++i) {
      text += pod_yaml(fmt::format("u{:04}", i), fmt::format("p{}", i));
    }
    f.folder.write("all.yaml", text);
    f.step();
    const auto first = f.keeper.state();
    REQUIRE(first->pods.size() == 1000);
    CHECK(first->faults.empty());
    CHECK(find_pod(*first, "u0777") != nullptr);
    CHECK(find_pod(*first, "u0777")->name == "p777");
    f.folder.write("z.yaml", pod_yaml("u9999", "late"));
    f.step();
    REQUIRE(f.state().pods.size() == 1001);
    CHECK(f.state().pods[500] == first->pods[500]);
  }
}
