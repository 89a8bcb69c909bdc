#include <memory>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "watch_script.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

TEST_SUITE("k8s/reflector_fault/watch") {
  TEST_CASE("too large a version: as an answer and in the stream") {
    ReflectorBed bed;
    const auto status = api_status(504, "Timeout", "Too large resource version: 5, current: 3");
    bed.server.answer_watch(kPods, status);
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.health().lists == 2);
    bed.server.on_watch(kPods, playing({{api_event("ERROR", status.body)}}), 1);
    bed.server.end_watches();
    REQUIRE(bed.until([&] { return bed.health().lists == 3; }));
    CHECK(bed.health().relists_410 == 0);
  }

  TEST_CASE("a restart of the API server resumes the watch, without a list") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("a"));
    bed.start();
    REQUIRE(bed.synced());
    bed.server.stop();
    REQUIRE(bed.until([&] { return bed.health().failures >= 3; }));
    CHECK(bed.knows("a"));
    CHECK(bed.health().synced);
    CHECK_FALSE(bed.health().fault.empty());
    bed.server.put(kPods, pod_text("b"));
    bed.server.start();
    REQUIRE(bed.until([&] { return bed.knows("b"); }));
    CHECK(bed.health().lists == 1);
    CHECK(bed.health().fault.empty());
  }

  TEST_CASE("a line that is not JSON, half a line, a reset: the watch resumes from its version") {
    for (int i = 0; i < 5; ++i) {
      CAPTURE(i);
      ReflectorBed bed;
      bed.server.store().set_version(1000);
      const auto good = pod_event("ADDED", "a", "1000");
      WatchScript script{{good}};
      if (i == 0) script.pieces.push_back("<html>\n");
      if (i == 1) script.pieces.push_back("{\"type\":\"ADDED\",\"obj");
      if (i == 2) script.end = WatchScript::End::kReset;
      if (i == 3) script.end = WatchScript::End::kTruncate;
      if (i == 4) script.pieces.push_back("{\"type\":\"ADDED\",\"object\":\"\xff\"}\n");
      bed.server.on_watch(kPods, playing(std::move(script)), 1);
      bed.start();
      REQUIRE(bed.until([&] { return bed.health().watches == 2; }));
      CHECK(bed.health().lists == 1);
      // A reset may overtake what was sent before it.
      if (i != 2) CHECK(bed.knows("a"));
      CHECK(asked_version(bed, 1) == "1000");
    }
  }

  TEST_CASE("an ERROR of another code resumes from the last version") {
    ReflectorBed bed;
    bed.server.on_watch(
        kPods, playing({{api_event("ERROR", api_status(500, "InternalError", "etcd").body)}}), 1);
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().watches == 2; }));
    CHECK(bed.health().lists == 1);
  }

  TEST_CASE("a line over the bound leads to a list, and is counted") {
    ReflectorBed bed;
    WatchScript script{{pod_event("ADDED", std::string(5000, 'a'), "1000")}};
    bed.server.on_watch(kPods, playing(std::move(script)), 1);
    auto options = ReflectorBed::quick_watch();
    options.max_line = 1000;
    bed.start(options);
    REQUIRE(bed.synced());
    CHECK(bed.health().bad_events == 1);
    CHECK(bed.health().lists == 2);
  }

  TEST_CASE("duplicate, older, unknown and odd events change nothing") {
    ReflectorBed bed;
    bed.server.store().set_version(2000);
    WatchScript script{{pod_event("ADDED", "a", "1010") + pod_event("ADDED", "a", "1010"),
                        pod_event("MODIFIED", "a", "1005"),
                        pod_event("DELETED", "ghost", "1011"),
                        api_event("RESIZED", "{}"),
                        "\n\r\n",
                        pod_event("MODIFIED", "a", "2020")}};
    script.end = WatchScript::End::kSilence;
    bed.server.on_watch(kPods, playing(std::move(script)), 1);
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().resource_version == "2020"; }));
    CHECK(bed.kept().applies == 2);
    CHECK(bed.kept().objects == std::map<std::string, std::string>{{"a", "2020"}});
    CHECK(bed.health().bad_events == 1);
  }

  TEST_CASE("an event in many pieces, and many events in one piece") {
    ReflectorBed bed;
    const auto whole = pod_event("ADDED", "a", "1001");
    WatchScript script;
    for (const char c : whole) script.pieces.emplace_back(1, c);
    script.pieces.push_back(pod_event("ADDED", "b", "1002") + pod_event("ADDED", "c", "1003"));
    script.end = WatchScript::End::kSilence;
    bed.server.on_watch(kPods, playing(std::move(script)), 1);
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().events == 3; }));
    CHECK(bed.kept().objects.size() == 3);
  }
}

TEST_SUITE("k8s/reflector_fault/credentials") {
  TEST_CASE("an expired token that was rotated on disk costs one 401, and no failure") {
    ReflectorBed bed;
    bed.start();
    REQUIRE(bed.synced());
    bed.server.set_token("second");
    bed.tree.write("token", "second");
    bed.server.end_watches();
    REQUIRE(bed.until([&] { return bed.health().watches == 2; }));
    CHECK(bed.api->health().unauthorized == 1);
    CHECK(bed.health().failures == 0);
    CHECK(bed.health().lists == 1);
  }

  TEST_CASE("a revoked token is denied while the last state stays") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("a"));
    bed.start();
    REQUIRE(bed.synced());
    bed.server.set_token("other");
    bed.server.http().drop_connections();
    REQUIRE(bed.until([&] { return bed.health().denied; }));
    CHECK(bed.knows("a"));
    CHECK(bed.health().lists == 1);
  }

  TEST_CASE("403 on the list is denied too, and says why") {
    ReflectorBed bed;
    bed.server.answer_list(kPods, api_status(403, "Forbidden", "pods is forbidden"), 1000);
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().denied; }));
    CHECK(has(bed.health().fault, "pods is forbidden"));
  }

  TEST_CASE("a wrong CA or host name never syncs and names the certificate") {
    ReflectorBed bed;
    const TestCa other{"other"};
    bed.tree.write("other.crt", other.pem());
    auto wrong_ca = bed.access();
    wrong_ca.ca_file = bed.tree.path("other.crt");
    auto wrong_name = bed.access();
    wrong_name.endpoint.server_name = "elsewhere.example";
    for (const auto& access : {wrong_ca, wrong_name}) {
      bed.start(access, ReflectorBed::quick_watch());
      REQUIRE(bed.until([&] { return bed.health().failures >= 2; }));
      CHECK_FALSE(bed.health().synced);
      CHECK_FALSE(bed.health().denied);
      CHECK(has(bed.health().fault, "certificate"));
      bed.follow.reset();
    }
    CHECK(bed.server.http().requests().empty());
  }

  TEST_CASE("a server clock ten minutes off changes nothing") {
    ReflectorBed bed;
    FakeAnswer dated{200,
                     R"({"kind":"PodList","metadata":{"resourceVersion":"100"},"items":[]})",
                     "application/json",
                     {{"Date", "Tue, 14 Nov 2023 22:23:20 GMT"}}};
    bed.server.answer_list(kPods, dated);
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.api->health().clock_skew.has_value());
    CHECK(bed.health().failures == 0);
    bed.server.put(kPods, pod_text("a"));
    REQUIRE(bed.until([&] { return bed.knows("a"); }));
  }
}
