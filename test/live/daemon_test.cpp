#include <algorithm>
#include <signal.h>
#include <string>

#include <doctest/doctest.h>

#include "node_under_test.hpp"
#include "support/skip.hpp"

namespace koordlet {
namespace {

using std::chrono::seconds;
using test::eventually;
using test::NodeUnderTest;

constexpr const char* kNoCgroups = "the cgroup tree of this machine cannot be written";
// The batch pod asks for 500 milli-cores: at level NONE its quota is request x 1.0.
constexpr const char* kBatchCap = "50000 100000";

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Raises a level-independent cap: waits until koordlet holds the batch pod and the class.
bool capped(NodeUnderTest& node) {
  return eventually([&] {
    return node.value(node.batch_pod(), CgroupFile::kCpuMax) != "max 100000" &&
           node.value(node.be_root(), CgroupFile::kCpuMax) != "max 100000";
  });
}

TEST_SUITE("live/daemon") {
  TEST_CASE("caps, low weight, and SIGTERM brings every file back within 5 s") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    const auto before = node.tree().contents();
    const auto started = node.daemon().start();
    REQUIRE_MESSAGE(started, started.error().context);
    REQUIRE(capped(node));
    CHECK(node.value(node.batch_pod(), CgroupFile::kCpuMax) == kBatchCap);
    const auto weight = node.version() == CgroupVersion::kV1 ? "20" : "2";
    CHECK(node.value(node.be_root(), CgroupFile::kCpuWeight) == weight);
    const auto start = std::chrono::steady_clock::now();
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
    CHECK(std::chrono::steady_clock::now() - start < seconds{5});
    CHECK(node.tree().contents() == before);
  }

  TEST_CASE(
      "kill -9 while capped, then koordlet restore: originals back, a second restore has nothing "
      "to do") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    const auto before = node.tree().contents();
    REQUIRE(node.daemon().start());
    REQUIRE(capped(node));
    CHECK(node.daemon().end(SIGKILL, seconds{10}) == 128 + SIGKILL);
    CHECK(node.value(node.batch_pod(), CgroupFile::kCpuMax) == kBatchCap);
    std::string output;
    CHECK(node.run({"restore", "--config", node.config()}, output) == 0);
    CAPTURE(output);
    CHECK(node.tree().contents() == before);
    output.clear();
    CHECK(node.run({"restore", "--config", node.config()}, output) == 0);
    CHECK(node.tree().contents() == before);
  }

  TEST_CASE(
      "kill -9 while capped, then koordlet run: adopts without a jump and still knows the "
      "originals") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    const auto before = node.tree().contents();
    REQUIRE(node.daemon().start());
    REQUIRE(capped(node));
    CHECK(node.daemon().end(SIGKILL, seconds{10}) == 128 + SIGKILL);
    REQUIRE(node.daemon().start());
    bool jumped = false;
    for (int i = 0; i < 100; ++i) {
      jumped = jumped || node.value(node.batch_pod(), CgroupFile::kCpuMax) == "max 100000";
      usleep(20'000);
    }
    CHECK_FALSE(jumped);
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
    CHECK(node.tree().contents() == before);
  }

  TEST_CASE("dry run computes and shows, and writes nothing") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    const auto before = node.tree().contents();
    node.configure("[executor]\ndry_run = true\n");
    REQUIRE(node.daemon().start());
    usleep(2'500'000);
    CHECK(node.tree().contents() == before);
    const auto explain = node.daemon().get(std::string{"/api/v1/explain/"} + NodeUnderTest::kBatch);
    CHECK(explain.has_value());
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
    CHECK(node.tree().contents() == before);
  }

  TEST_CASE("a pod cgroup removed under our hands is normal") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    REQUIRE(node.daemon().start());
    REQUIRE(capped(node));
    node.tree().remove_pod({KubeQos::kBestEffort, NodeUnderTest::kBatch, std::string(64, '2')});
    node.folder().remove("manifests/batch.yaml");
    usleep(2'000'000);
    CHECK(node.daemon().running());
    CHECK(node.daemon().get("/api/v1/status").has_value());
    CHECK(node.daemon().log().find("error") == std::string::npos);
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
  }

  TEST_CASE("a foreign write to a cap is put right within two ticks and shown") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    REQUIRE(node.daemon().start());
    REQUIRE(capped(node));
    REQUIRE(node.cgroups().write({node.batch_pod(), CgroupFile::kCpuMax},
                                 CgroupValue{CpuMax{Limit{std::chrono::microseconds{20'000}}}}));
    CHECK(eventually([&] { return node.value(node.batch_pod(), CgroupFile::kCpuMax) == kBatchCap; },
                     seconds{5}));
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
  }

  TEST_CASE("koordlet restore asks the running daemon, which then only watches") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    const auto before = node.tree().contents();
    REQUIRE(node.daemon().start());
    REQUIRE(capped(node));
    std::string output;
    CHECK(node.run({"restore", "--config", node.config()}, output) == 0);
    CHECK(node.tree().contents() == before);
    usleep(2'500'000);
    CHECK(node.tree().contents() == before);
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
  }

  TEST_CASE("bad manifests are refused by name and the rest works") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    node.folder().write("manifests/a-not-yaml.yaml", "{{{: nope\n");
    node.folder().write("manifests/b-no-uid.yaml",
                        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: y}\n");
    node.folder().write(
        "manifests/c-traversal.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: y, uid: ../../etc}\n");
    REQUIRE(node.daemon().start());
    CHECK(capped(node));
    const auto log = node.daemon().log();
    CHECK(log.find("a-not-yaml.yaml") != std::string::npos);
    CHECK(log.find("b-no-uid.yaml") != std::string::npos);
    CHECK(log.find("c-traversal.yaml") != std::string::npos);
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
  }
}

TEST_SUITE("live/refusals") {
  TEST_CASE("a config with five faults: five lines, exit 1, nothing started") {
    const test::FakeTree folder{
        {"bad.toml",
         "[qos]\ninterval = \"99h\"\nprofile = \"other\"\n[qos.pressure]\nmid_percent = \"x\"\n"
         "[nonsense]\na = 1\n[executor]\nbatch_size = -1\n"}};
    for (const auto* command : {"run", "check-config"}) {
      std::string output;
      const auto file = folder.path("bad.toml");
      std::vector<std::string> arguments{command};
      if (std::string_view{command} == "run") arguments.emplace_back("--config");
      arguments.push_back(file);
      CHECK(demo::run_program(test::koordlet_program(), arguments, output) == 1);
      CAPTURE(output);
      CHECK(lines(output) == 5);
    }
  }

  TEST_CASE("missing or unusable cgroup root, manifests folder, store: one clear line, exit 1") {
    const test::FakeTree folder;
    folder.mkdir("manifests");
    folder.write("file", "");
    const auto refused = [&](const std::vector<std::pair<std::string, std::string>>& set,
                             const std::string& word) {
      std::vector<std::string> arguments{"run", "--config", "/dev/null"};
      std::vector<std::pair<std::string, std::string>> all{
          {"states.folder", folder.path("manifests")},
          {"store.folder", folder.path("state")},
          {"status.socket", folder.path("sock")},
          {"status.listen", ""},
          {"metrics.listen", ""}};
      all.insert(all.end(), set.begin(), set.end());
      for (const auto& [key, value] : all) {
        arguments.emplace_back("--set");
        arguments.push_back(key + "=" + value);
      }
      std::string output;
      const auto code = demo::run_program(test::koordlet_program(), arguments, output);
      CAPTURE(output);
      CHECK(code == 1);
      CHECK(lines(output) == 1);
      CHECK(output.find(word) != std::string::npos);
    };
    refused({{"host.cgroup_root", folder.path("nothing-here")}}, folder.path("nothing-here"));
    refused({{"states.folder", folder.path("nothing-here")}}, folder.path("nothing-here"));
    refused({{"store.folder", folder.path("file")}}, folder.path("file"));
  }

  TEST_CASE("a second koordlet on the same store refuses") {
    NodeUnderTest node;
    KOORDLET_SKIP_UNLESS(node.usable(), kNoCgroups);
    REQUIRE(node.daemon().start());
    std::string output;
    CHECK(node.run({"run",
                    "--config",
                    node.config(),
                    "--set",
                    "status.socket=" + node.folder().path("other")},
                   output) == 1);
    CAPTURE(output);
    CHECK(lines(output) == 1);
    CHECK(output.find("another koordlet") != std::string::npos);
    CHECK(node.daemon().end(SIGTERM, seconds{10}) == 0);
  }
}

}  // namespace
}  // namespace koordlet
