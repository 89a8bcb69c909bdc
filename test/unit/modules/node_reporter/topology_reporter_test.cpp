#include "modules/node_reporter/topology_reporter.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "fake_objects.hpp"
#include "k8s/node_topology.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"
#include "topology_fixture.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace std::chrono_literals;
using test::example;
using Calls = std::vector<std::string>;

const std::string kAll{k8s::kTopologies};
const std::string kGet = "GET " + kAll + "/n1";
const std::string kPut = "PUT " + kAll + "/n1";
const std::string kPost = "POST " + kAll;

struct Bed {
  asio::awaitable<Result<TopologyInput>> gather() { co_return in; }
  Bed() {
    TopologyReporter::Deps deps{[this] { return gather(); }, server.caller()};
    reporter.emplace(
        io.get_executor(), TopologyReporter::Config{.node_name = "n1"}, std::move(deps), clock);
  }
  Calls step(std::chrono::seconds later = 60s) {
    clock.advance(later);
    server.calls.clear();
    test::run(io, reporter->step());
    return server.calls;
  }

  asio::io_context io;
  test::ManualClock clock;
  test::FakeObjects server{kAll};
  TopologyInput in = example();
  std::optional<TopologyReporter> reporter;
};

TEST_SUITE("node_reporter/topology reporter") {
  TEST_CASE(
      "absent: made with label, owner and content; then nothing is asked while all is equal") {
    Bed b;
    CHECK(b.step() == Calls{kGet, kPost});
    const auto& made = b.server.objects.at("n1");
    CHECK(made.at("metadata").at("labels").at("app.kubernetes.io/managed-by") == "Koordinator");
    CHECK(made.at("metadata").at("ownerReferences").at(0).at("uid") == "uid-1");
    CHECK(made.at("topologyPolicies") == json::parse(R"(["None"])"));
    CHECK(b.step() == Calls{});
    CHECK(b.reporter->status().problem.empty());
  }
  TEST_CASE("K#893, K#1221: the same CPUs in another order are no write") {
    Bed b;
    json::value object = k8s::new_node_topology("n1", "uid-1", build_topology(b.in));
    auto& annotations = object.at("metadata").at("annotations").as_object();
    annotations["node.koordinator.sh/be-cpu-shared-pools"] =
        R"([{"cpuset":"7,5,4,1","node":0,"socket":0}])";
    auto& resources = object.at("zones").at(0).at("resources").as_array();
    std::swap(resources[0], resources[3]);
    b.server.put("n1", object);
    CHECK(b.step() == Calls{kGet});
    std::swap(b.in.cpus[0], b.in.cpus[7]);
    std::swap(b.in.pods[0], b.in.pods[2]);
    CHECK(b.step() == Calls{});
    CHECK(b.step(600s) == Calls{kGet});
    CHECK(b.reporter->status().writes == 0);
  }
  TEST_CASE("a change is one read and one put") {
    Bed b;
    CHECK(b.step() == Calls{kGet, kPost});
    b.in.pods.pop_back();
    CHECK(b.step() == Calls{kGet, kPut});
    CHECK(b.server.objects.at("n1")
              .at("metadata")
              .at("annotations")
              .at("node.koordinator.sh/cpu-shared-pools") ==
          R"([{"socket":0,"node":0,"cpuset":"1,6-7"}])");
  }
  TEST_CASE("a conflict reads and puts again; four in a row are a failed round, tried again") {
    Bed b;
    CHECK(b.step() == Calls{kGet, kPost});
    b.in.pods.pop_back();
    bool once = true;
    b.server.before_write = [&] {
      if (once) b.server.put("n1", b.server.objects.at("n1"));
      once = false;
    };
    CHECK(b.step() == Calls{kGet, kPut, kGet, kPut});
    CHECK(b.reporter->status().conflicts == 1);
    b.in.pods.pop_back();
    b.server.before_write = [&] { b.server.put("n1", b.server.objects.at("n1")); };
    CHECK(b.step() == Calls{kGet, kPut, kGet, kPut, kGet, kPut, kGet, kPut});
    CHECK(b.reporter->status().problem.starts_with("write: 409"));
    b.server.before_write = nullptr;
    CHECK(b.step() == Calls{kGet, kPut});
    CHECK(b.reporter->status().problem.empty());
  }
  TEST_CASE("the CRD is not installed: said, and looked at again after 10 minutes") {
    Bed b;
    b.server.installed = false;
    CHECK(b.step() == Calls{kGet, kPost});
    CHECK(b.reporter->status().problem == "the NodeResourceTopology CRD is not installed");
    CHECK_FALSE(b.reporter->status().installed);
    CHECK(b.step() == Calls{});
    b.server.installed = true;
    CHECK(b.step(539s) == Calls{});
    CHECK(b.step(1s) == Calls{kGet, kPost});
    CHECK(b.reporter->status().installed);
  }
  TEST_CASE("what others did to the object is put right when it is looked at again") {
    Bed b;
    CHECK(b.step() == Calls{kGet, kPost});
    b.server.objects.at("n1").at("metadata").as_object().erase("annotations");
    CHECK(b.step() == Calls{});
    CHECK(b.step(540s) == Calls{kGet, kPut});
  }
  TEST_CASE("without the Node or the CPUs nothing is written, and status says which") {
    Bed b;
    b.in.node = nullptr;
    CHECK(b.step() == Calls{});
    CHECK(b.reporter->status().problem == "the Node is not known yet");
    b.in = example();
    b.in.cpus.clear();
    CHECK(b.step() == Calls{});
    CHECK(b.reporter->status().problem == "the CPU topology is not known");
  }
}

}  // namespace
}  // namespace koordlet
