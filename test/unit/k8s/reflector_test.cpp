#include <memory>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "watch_script.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

TEST_SUITE("k8s/reflector") {
  TEST_CASE("a list in pages, then events as they come") {
    ReflectorBed bed;
    for (int i = 0; i < 1000; ++i) bed.server.put(kPods, pod_text("p" + std::to_string(i)));
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.kept().objects.size() == 1000);
    CHECK(bed.kept().commits == 1);
    CHECK(bed.server.lists(kPods) == 10);
    CHECK(bed.health().lists == 1);
    bed.server.put(kPods, pod_text("new"));
    bed.server.erase(kPods, "d", "p7");
    REQUIRE(bed.until([&] { return bed.knows("new") && !bed.knows("p7"); }));
    CHECK(bed.kept().objects.size() == 1000);
    CHECK(bed.health().fault.empty());
    CHECK(bed.health().failures == 0);
  }

  TEST_CASE("items of a list carry the kind that only the list has") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("p"));
    boost::json::value seen;
    k8s::ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    k8s::Reflector::Sink sink;
    sink.stage = [&](boost::json::value object) { seen = std::move(object); };
    sink.commit = [] {};
    sink.abandon = [] {};
    sink.apply = [](k8s::Reflector::Event, boost::json::value) {};
    k8s::Reflector reflector{
        bed.io.get_executor(), api, {"pods", kPods, "spec.nodeName=n1"}, sink, {}, bed.clock};
    reactor::TaskGroup group{bed.io.get_executor(), {}};
    group.spawn("reflector", reflector.run());
    REQUIRE(bed.until([&] { return reflector.health().synced; }));
    group.request_stop();
    REQUIRE(bed.until([&] { return group.live() == 0; }));
    CHECK(seen.at("kind") == "Pod");
    CHECK(seen.at("apiVersion") == "v1");
  }

  TEST_CASE("a stop in the middle of a list abandons it and ends") {
    ReflectorBed bed;
    for (int i = 0; i < 3; ++i) bed.server.put(kPods, pod_text("p" + std::to_string(i)));
    auto options = ReflectorBed::quick_watch();
    options.page = 1;
    bed.start(options);
    REQUIRE(bed.until([&] { return !bed.kept().staged.empty(); }));
    CHECK(bed.follow->stop());
    CHECK(bed.kept().abandons == 1);
    CHECK(bed.kept().commits == 0);
  }

  TEST_CASE("a stop in an open watch ends") {
    ReflectorBed bed;
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.follow->stop());
    CHECK(bed.kept().commits == 1);
  }

  TEST_CASE("a clean end by the server resumes from the last version, without a list") {
    ReflectorBed bed;
    bed.start();
    REQUIRE(bed.synced());
    bed.server.put(kPods, pod_text("a"));
    REQUIRE(bed.until([&] { return bed.knows("a"); }));
    bed.server.end_watches();
    REQUIRE(bed.until([&] { return bed.health().watches == 2; }));
    CHECK(bed.health().lists == 1);
    CHECK(bed.health().failures == 0);
    CHECK(asked_version(bed, 1) == bed.kept().objects["a"]);
  }

  TEST_CASE("a resource that is not installed is an empty list; else it is a fault") {
    ReflectorBed bed;
    k8s::ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    const std::string path = "/apis/slo.koordinator.sh/v1alpha1/nodeslos";
    Following lax{bed, api, path, ReflectorBed::quick_watch(), true};
    Following strict{bed, api, path, ReflectorBed::quick_watch()};
    REQUIRE(bed.until([&] { return lax.health().synced && strict.health().failures > 1; }));
    CHECK(lax.kept.commits == 1);
    CHECK(has(lax.health().fault, "counts as empty"));
    CHECK_FALSE(strict.health().synced);
    CHECK(has(strict.health().fault, "404"));
  }
}
