#include <memory>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "watch_script.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

TEST_SUITE("k8s/reflector_fault/pitfalls") {
  TEST_CASE("row 20: HTTP 200, then an ERROR event with code 410, leads to a list") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("a"));
    bed.server.on_watch(
        kPods,
        playing({{"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n"}}),
        1);
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.health().relists_410 == 1);
    CHECK(bed.health().lists == 2);
    CHECK(bed.kept().commits == 2);
    CHECK(bed.knows("a"));
  }

  TEST_CASE("row 22: a bookmark stores the version 900 and leaves the cache alone") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("a"));
    bed.server.store().set_version(1000);
    bed.server.put(kPods, pod_text("b"));
    bed.server.answer_list(
        kPods,
        FakeAnswer{200,
                   R"({"kind":"PodList","metadata":{"resourceVersion":"500"},"items":[
                        {"metadata":{"name":"a","uid":"u","resourceVersion":"101"}}]})"});
    const auto bookmark =
        api_event("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"900"}})");
    bed.server.on_watch(kPods, playing({{bookmark}, WatchScript::End::kSilence}), 1);
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().bookmarks == 1; }));
    CHECK(bed.health().resource_version == "900");
    CHECK(bed.kept().objects == std::map<std::string, std::string>{{"a", "101"}});
    CHECK(bed.kept().applies == 0);
    bed.server.http().drop_connections();
    REQUIRE(bed.synced());
    CHECK(asked_version(bed, 1) == "900");
  }

  TEST_CASE("row 23: 410 after a bookmark leads to a list all the same") {
    ReflectorBed bed;
    bed.start();
    REQUIRE(bed.synced());
    bed.server.bookmark();
    REQUIRE(bed.until([&] { return bed.health().bookmarks == 1; }));
    bed.server.stop();
    bed.server.put(kPods, pod_text("while-away"));
    bed.server.store().compact();
    bed.server.start();
    REQUIRE(bed.until([&] { return bed.knows("while-away"); }));
    CHECK(bed.health().relists_410 == 1);
    CHECK(bed.health().lists == 2);
  }

  TEST_CASE("row 25: headers, then silence: a new watch at the deadline") {
    ReflectorBed bed;
    bed.server.on_watch(kPods, playing({{}, WatchScript::End::kSilence}), 1);
    auto options = ReflectorBed::quick_watch();
    options.silence = 200ms;
    bed.start(options);
    REQUIRE(bed.until([&] { return bed.health().watches == 1; }));
    const auto confirmed = bed.health().confirmed_at;
    CHECK(confirmed > MonoTime{});
    // Nothing confirms the state while the server is silent: its age is shown as it grows.
    REQUIRE(bed.until([&] { return bed.health().failures == 1; }));
    CHECK(bed.health().confirmed_at == confirmed);
    CHECK(has(bed.health().fault, "watch"));
    REQUIRE(bed.until([&] { return bed.health().watches == 2; }));
    CHECK(bed.health().confirmed_at > confirmed);
    CHECK(bed.health().lists == 1);
  }

  TEST_CASE("row 26: three silent watches, each recovers") {
    ReflectorBed bed;
    const std::vector<std::string> paths{kPods, "/api/v1/nodes", "/api/v1/events"};
    bed.server.serve("/api/v1/events", "Event");
    for (const auto& path : paths) {
      bed.server.on_watch(path, playing({{}, WatchScript::End::kSilence}), 1);
    }
    k8s::ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    auto options = ReflectorBed::quick_watch();
    options.silence = 500ms;
    std::vector<std::unique_ptr<Following>> all;
    for (const auto& path : paths)
      all.push_back(std::make_unique<Following>(bed, api, path, options));
    REQUIRE(bed.until([&] {
      return all[0]->health().watches > 1 && all[1]->health().watches > 1 &&
             all[2]->health().watches > 1;
    }));
    for (const auto& path : paths) bed.server.put(path, pod_text("x"));
    REQUIRE(bed.until([&] {
      return all[0]->kept.objects.size() + all[1]->kept.objects.size() +
                 all[2]->kept.objects.size() ==
             3;
    }));
    for (const auto& one : all) CHECK(one->health().lists == 1);
  }

  TEST_CASE("row 28: 401 five times is denied, and backed off; a new token brings it back") {
    ReflectorBed bed;
    bed.server.set_token("recreated");
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().denied; }));
    CHECK(bed.health().failures >= 5);
    CHECK_FALSE(bed.health().synced);
    CHECK(has(bed.health().fault, "401 Unauthorized"));
    CHECK(bed.api->health().unauthorized >= 5);
    bed.tree.write("token", "recreated");
    REQUIRE(bed.synced());
    CHECK_FALSE(bed.health().denied);
  }

  TEST_CASE("row 29: nine MiB of events on one watch are no error") {
    ReflectorBed bed;
    WatchScript script;
    const std::string filler(900, 'x');
    std::size_t size = 0;
    int events = 0;
    for (; size < (9u << 20); ++events) {
      script.pieces.push_back(api_event("MODIFIED",
                                        R"({"metadata":{"name":"a","uid":"u","resourceVersion":")" +
                                            std::to_string(2000 + events) +
                                            R"(","annotations":{"x":")" + filler + R"("}}})"));
      size += script.pieces.back().size();
    }
    script.end = WatchScript::End::kSilence;
    bed.server.on_watch(kPods, playing(std::move(script)), 1);
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().events == static_cast<std::uint64_t>(events); }));
    CHECK(bed.health().watches == 1);
    CHECK(bed.health().failures == 0);
    CHECK(bed.health().bad_events == 0);
  }

  TEST_CASE("row 32: five hundred reconnects, each with a TLS stream of its own") {
    ReflectorBed bed;
    int version = 1000;
    bed.server.store().set_version(100'000);
    bed.server.on_watch(kPods, [&version](FakeConnection& c) {
      const auto text = std::to_string(++version);
      const auto ends = version % 3;
      WatchScript script{{pod_event("MODIFIED", "a", text)}};
      script.end = ends == 0   ? WatchScript::End::kClean
                   : ends == 1 ? WatchScript::End::kTruncate
                               : WatchScript::End::kReset;
      return play(std::make_shared<const WatchScript>(std::move(script)), c);
    });
    bed.start();
    REQUIRE(bed.until([&] { return bed.health().watches >= 500; }));
    CHECK(bed.health().lists == 1);
    CHECK(bed.server.http().accepted() > 300);
  }
}

TEST_SUITE("k8s/reflector_fault/list") {
  TEST_CASE("410 on a continue token starts the list anew; nothing of the first counts") {
    ReflectorBed bed;
    for (int i = 0; i < 5; ++i) bed.server.put(kPods, pod_text("p" + std::to_string(i)));
    auto options = ReflectorBed::quick_watch();
    options.page = 2;
    bed.start(options);
    REQUIRE(bed.until([&] { return bed.server.lists(kPods) == 1 && !bed.kept().staged.empty(); }));
    bed.server.answer_list(kPods, api_status(410, "Expired", "continue too old"));
    REQUIRE(bed.synced());
    CHECK(bed.kept().abandons == 1);
    CHECK(bed.kept().commits == 1);
    CHECK(bed.kept().objects.size() == 5);
    CHECK(bed.health().relists_410 == 1);
  }

  TEST_CASE("HTML, truncated JSON, invalid UTF-8 and no list: backed off, then it works") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("a"));
    const std::vector<std::pair<std::string, std::string>> bodies{
        {"<html>Sign in</html>", "<html>Sign in"},
        {R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"metad)", "not JSON"},
        {"{\"kind\":\"PodList\",\"x\":\"\xff\"}", "not JSON"},
        {R"({"kind":"Pod","metadata":{"resourceVersion":"1"}})", "expected a list"},
        {R"({"kind":"PodList","metadata":{},"items":[]})", "no resourceVersion"}};
    for (const auto& body : bodies) {
      CAPTURE(body.first);
      bed.server.answer_list(kPods, FakeAnswer{200, body.first});
      std::string fault;
      bed.start();
      REQUIRE(bed.until([&] {
        if (bed.health().failures > 0 && fault.empty()) fault = bed.health().fault;
        return bed.health().synced;
      }));
      CHECK(has(fault, body.second));
      CHECK(bed.kept().commits == 1);
      CHECK(bed.knows("a"));
    }
  }

  TEST_CASE("a page that breaks off in the middle is not a shorter list") {
    ReflectorBed bed;
    bed.server.put(kPods, pod_text("a"));
    bed.server.on_list(
        kPods,
        playing({{R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[)"},
                 WatchScript::End::kReset}),
        1);
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.kept().commits == 1);
    CHECK(bed.knows("a"));
  }

  TEST_CASE("a page of 8.1 MiB is read") {
    ReflectorBed bed;
    const std::string filler(81 * 1024, 'x');
    for (int i = 0; i < 100; ++i) {
      bed.server.put(kPods, pod_text("p" + std::to_string(i), R"(,"x":")" + filler + "\""));
    }
    bed.start();
    REQUIRE(bed.synced());
    CHECK(bed.kept().objects.size() == 100);
    CHECK(bed.server.lists(kPods) == 1);
    CHECK(bed.health().failures == 0);
  }

  TEST_CASE("pages over the bound shrink until they fit") {
    ReflectorBed bed;
    for (int i = 0; i < 8; ++i) {
      bed.server.put(
          kPods, pod_text("p" + std::to_string(i), R"(,"x":")" + std::string(4000, 'x') + "\""));
    }
    auto options = ReflectorBed::quick_watch();
    options.page = 8;
    options.max_page = 10'000;
    bed.start(options);
    REQUIRE(bed.synced());
    CHECK(bed.kept().objects.size() == 8);
    CHECK(bed.kept().commits == 1);
  }

  TEST_CASE("a server that sends a head and then nothing is left") {
    ReflectorBed bed;
    bed.server.on_list(kPods, playing({{}, WatchScript::End::kSilence}), 1);
    auto options = ReflectorBed::quick_watch();
    options.list_silence = 200ms;
    bed.start(options);
    REQUIRE(bed.synced());
    CHECK(bed.health().lists == 1);
    CHECK(bed.server.lists(kPods) >= 2);
  }

  TEST_CASE("429 with Retry-After is obeyed and nothing is lost") {
    ReflectorBed bed;
    FakeAnswer busy{429, "slow down", "text/plain", {{"Retry-After", "1"}}};
    bed.server.answer_list(kPods, busy);
    const auto start = std::chrono::steady_clock::now();
    bed.start();
    REQUIRE(bed.synced());
    // The rule itself: not before the server's time.
    CHECK(std::chrono::steady_clock::now() - start >= 1s);
    CHECK(bed.api->health().throttled == 1);
  }
}
