#include "modules/states_informer/states_informer.hpp"

#include <filesystem>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "reactor/task_group.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// An informer on real folders and real inotify. Only what must happen is waited for.
struct Running {
  explicit Running(std::chrono::milliseconds settle = 1ms,
                   std::chrono::seconds rescan = 3600s,
                   bool with_helper = false)
      : informer{io.get_executor(),
                 StatesInformer::Config{.folder = folder.root(),
                                        .settle = settle,
                                        .rescan_interval = rescan,
                                        .max_manifest_bytes = 4u << 20,
                                        .node_name = "n1"},
                 StatesInformer::Remote{},
                 cgroups,
                 kernel::HostRoots{.cgroup = host.root()},
                 clock,
                 with_helper ? &helper : nullptr} {}
  ~Running() {
    tasks.request_stop();
    CHECK(until([this] { return tasks.live() == 0; }));
  }

  void start() {
    informer.on_change([this] { ++changes; });
    tasks.spawn("informer", informer.run());
  }
  /// Runs the loop until `done` holds; false when it did not within 10 s.
  template <class F>
  bool until(F done) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      io.restart();
      io.run_one_for(20ms);
    }
    return true;
  }
  /// Runs what is ready until the loop has nothing to do for a moment.
  void settle_down() {
    io.restart();
    while (io.run_one_for(100ms) != 0) {
    }
  }
  std::size_t pods() const { return informer.state()->pods.size(); }

  FakeTree folder;
  FakeTree host;
  boost::asio::io_context io;
  reactor::Worker helper{"test"};  // goes before the loop that it posts to
  SystemClock clock;
  kernel::CgroupFs cgroups{kernel::HostRoots{.cgroup = host.root()}, CgroupVersion::kV1};
  StatesInformer informer;
  int changes = 0;
  std::exception_ptr failure;
  reactor::TaskGroup tasks{
      io.get_executor(), [this](const std::string&, const std::exception_ptr& e) { failure = e; }};
};

}  // namespace

TEST_SUITE("states_informer") {
  TEST_CASE("load reads the folder once; a missing one is an error") {
    Running r;
    r.folder.write("a.yaml", pod_yaml("u1", "a") + node_yaml("n1"));
    CHECK(r.informer.state() != nullptr);
    CHECK(r.informer.state()->version == 0);
    REQUIRE(r.informer.load().has_value());
    CHECK(r.informer.state()->version == 1);
    CHECK(r.pods() == 1);
    CHECK(r.informer.state()->node->name == "n1");
    CHECK_FALSE(r.informer.layout().has_value());

    r.folder.remove("");
    const auto missing = r.informer.load();
    REQUIRE(missing.has_error());
    CHECK(missing.error().code == Errc::kNotFound);
    CHECK(r.pods() == 1);
  }

  TEST_CASE("a faulty manifest is a fault of the state, not of load") {
    Running r;
    r.folder.write("a.yaml", "apiVersion: [\n");
    r.folder.write("b.yaml", pod_yaml("u1", "a"));
    REQUIRE(r.informer.load().has_value());
    CHECK(r.pods() == 1);
    REQUIRE(r.informer.state()->faults.size() == 1);
    CHECK(contains(r.informer.state()->faults[0], "a.yaml: line "));
  }

  TEST_CASE("API-3.2: a folder becomes the classes of its pods") {
    Running r;
    const auto pod = [](int i, const char* labels, const char* priority, const char* qos) {
      return fmt::format(
          "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{0}, namespace: d, uid: u{0}, "
          "labels: "
          "{1}}}\nspec: {{priority: {2}}}\nstatus: {{qosClass: {3}}}\n",
          i,
          labels,
          priority,
          qos);
    };
    r.folder.write("pods.yaml",
                   pod(0, "{}", "0", "Guaranteed") + pod(1, "{}", "null", "BestEffort") +
                       pod(2, "{koordinator.sh/qosClass: LS}", "7100", "Burstable") +
                       pod(3, "{}", "2000001000", "Burstable") +
                       pod(4, "{koordinator.sh/priority-class: foo}", "5500", "Burstable") +
                       pod(5, "{koordinator.sh/qosClass: be}", "null", "Guaranteed"));
    REQUIRE(r.informer.load().has_value());
    const auto& pods = r.informer.state()->pods;
    REQUIRE(pods.size() == 6);
    const QosClass qos[] = {
        QosClass::kLsr, QosClass::kBe, QosClass::kLs, QosClass::kLs, QosClass::kLs, QosClass::kLsr};
    const PriorityClass classes[] = {PriorityClass::kProd,
                                     PriorityClass::kBatch,
                                     PriorityClass::kMid,
                                     PriorityClass::kProd,
                                     PriorityClass::kProd,
                                     PriorityClass::kProd};
    for (std::size_t i = 0; i < 6; ++i) {
      CAPTURE(i);
      CHECK(qos_with_default(*pods[i]) == qos[i]);
      CHECK(priority_class_with_default(*pods[i]) == classes[i]);
    }
    CHECK(r.informer.state()->faults.empty());
  }

  TEST_CASE("files that are written, moved in, changed and removed are followed") {
    Running r;
    REQUIRE(r.informer.load().has_value());
    r.start();
    r.folder.write("a.yaml", pod_yaml("u1", "a"));
    CHECK(r.until([&] { return r.pods() == 1; }));
    CHECK(r.changes > 0);
    r.folder.write("b.tmp", pod_yaml("u2", "b"));
    fs::rename(r.folder.path("b.tmp"), r.folder.path("b.yaml"));
    CHECK(r.until([&] { return r.pods() == 2; }));
    r.folder.write("a.yaml", pod_yaml("u1", "renamed"));
    CHECK(r.until([&] { return r.informer.state()->pods[0]->name == "renamed"; }));
    r.folder.write("a.yaml", "half: [");
    CHECK(r.until([&] { return !r.informer.state()->faults.empty(); }));
    CHECK(r.pods() == 2);
    r.folder.write("a.yaml", pod_yaml("u1", "whole"));
    CHECK(r.until([&] { return r.informer.state()->faults.empty(); }));
    CHECK(r.informer.state()->pods[0]->name == "whole");
    fs::rename(r.folder.path("a.yaml"), r.folder.path("a.txt"));
    CHECK(r.until([&] { return r.pods() == 1; }));
    r.folder.remove("b.yaml");
    CHECK(r.until([&] { return r.pods() == 0; }));
    CHECK(r.failure == nullptr);
  }

  TEST_CASE("a helper thread reads the manifests, and a stop in between harms nothing") {
    Running r{1ms, 3600s, true};
    REQUIRE(r.informer.load().has_value());
    r.start();
    for (int i = 0; i < 20; ++i) {
      r.folder.write(fmt::format("f{}.yaml", i),
                     pod_yaml(fmt::format("u{}", i), fmt::format("p{}", i)));
    }
    CHECK(r.until([&] { return r.pods() == 20; }));
    CHECK(r.informer.state()->faults.empty());
    r.folder.write("late.yaml", pod_yaml("late", "late"));
    CHECK(r.until([&] { return r.helper.queued() > 0 || r.pods() == 21; }));
  }

  TEST_CASE("what changed between load and run is seen") {
    Running r;
    REQUIRE(r.informer.load().has_value());
    r.folder.write("a.yaml", pod_yaml("u1", "a"));
    r.start();
    CHECK(r.until([&] { return r.pods() == 1; }));
  }

  TEST_CASE("a ConfigMap update is one change") {
    Running r;
    r.folder.write("..v1/a.yaml", pod_yaml("u1", "a"));
    r.folder.write("..v2/a.yaml", pod_yaml("u2", "b"));
    fs::create_symlink("..v1", r.folder.path("..data"));
    fs::create_symlink("..data/a.yaml", r.folder.path("a.yaml"));
    REQUIRE(r.informer.load().has_value());
    r.start();
    r.settle_down();
    const auto version = r.informer.state()->version;
    fs::create_symlink("..v2", r.folder.path("..data_tmp"));
    fs::rename(r.folder.path("..data_tmp"), r.folder.path("..data"));
    CHECK(r.until([&] { return r.informer.state()->version != version; }));
    CHECK(r.informer.state()->version == version + 1);
    REQUIRE(r.pods() == 1);
    CHECK(r.informer.state()->pods[0]->uid == "u2");
  }

  TEST_CASE("pitfall 7: a pod or container directory wakes at once, without the settle time") {
    Running r{1h};
    r.host.mkdir("cpu/kubepods/besteffort");
    REQUIRE(r.informer.load().has_value());
    REQUIRE(r.informer.layout().has_value());
    CHECK(r.informer.layout()->driver() == CgroupDriver::kCgroupfs);
    r.start();
    r.settle_down();
    for (const char* dir : {"cpu/kubepods/besteffort/podu1",
                            "cpu/kubepods/besteffort/podu1/c1",
                            "cpu/kubepods/podu2",
                            "cpu/kubepods/burstable/podu3"}) {
      CAPTURE(dir);
      const int before = r.changes;
      r.host.mkdir(dir);
      CHECK(r.until([&] { return r.changes > before; }));
    }
    const int before = r.changes;
    r.host.remove("cpu/kubepods/besteffort/podu1");
    CHECK(r.until([&] { return r.changes > before; }));
    CHECK(r.informer.state()->version == 1);  // directories are no content
  }

  TEST_CASE("121: a tree that appears while running is found by the rescan") {
    Running r{1ms, 1s};
    r.folder.write("a.yaml", pod_yaml("u1", "a"));
    REQUIRE(r.informer.load().has_value());
    r.start();
    r.settle_down();
    CHECK_FALSE(r.informer.layout().has_value());
    r.host.mkdir("cpu/kubepods/besteffort/podu1");
    CHECK(r.until([&] { return r.informer.layout().has_value(); }));
    CHECK(r.until([&] { return !r.informer.state()->pods[0]->cgroup.is_root(); }));
    CHECK(r.informer.state()->pods[0]->cgroup.str() == "kubepods/besteffort/podu1");
    const int before = r.changes;
    r.host.mkdir("cpu/kubepods/besteffort/podu1/c1");
    CHECK(r.until([&] { return r.changes > before; }));
  }

  TEST_CASE("a folder that is made anew is watched again at the rescan") {
    Running r{1ms, 1s};
    r.folder.write("a.yaml", pod_yaml("u1", "a"));
    REQUIRE(r.informer.load().has_value());
    r.start();
    r.settle_down();
    r.folder.remove("");
    CHECK(r.until([&] { return !r.informer.state()->faults.empty(); }));
    CHECK(r.pods() == 1);
    r.folder.write("a.yaml", pod_yaml("u1", "a") + pod_yaml("u2", "b"));
    CHECK(r.until([&] { return r.pods() == 2; }));
    CHECK(r.informer.state()->faults.empty());
  }

  TEST_CASE("an informer may go away while it runs") {
    auto r = std::make_unique<Running>();
    REQUIRE(r->informer.load().has_value());
    r->start();
    r->settle_down();
    r.reset();  // stops and joins
    boost::asio::io_context io;
    FakeTree folder;
    FakeTree host;
    SystemClock clock;
    kernel::CgroupFs cgroups{kernel::HostRoots{.cgroup = host.root()}, CgroupVersion::kV1};
    StatesInformer::Config config;
    config.folder = folder.root();
    StatesInformer dropped{
        io.get_executor(), config, {}, cgroups, kernel::HostRoots{.cgroup = host.root()}, clock};
    CHECK(dropped.load().has_value());
  }
}
