#include "k8s/reflector_core.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::k8s;
using namespace std::chrono_literals;
namespace json = boost::json;
using Action = ReflectorCore::Action;
using Page = ReflectorCore::PageEffect;
using Effect = ReflectorCore::EventEffect;
using End = ReflectorCore::End;

namespace {

const MonoTime kNow{1000s};

ReflectorCore::Options options() {
  ReflectorCore::Options out;
  out.field_selector = "spec.nodeName=n1";
  out.seed = 7;
  return out;
}

std::string object(const std::string& uid, const std::string& version) {
  return R"({"metadata":{"name":"p","uid":")" + uid + R"(","resourceVersion":")" + version +
         R"("}})";
}

json::value line(const std::string& type, const std::string& text) {
  return json::parse(R"({"type":")" + type + R"(","object":)" + text + "}");
}

json::value error(int code, const std::string& reason = "", const std::string& more = "{}") {
  return line("ERROR",
              R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"reason":")" + reason +
                  R"(","message":"m","details":)" + more + "}");
}

Refusal refused(unsigned status) { return read_refusal(status, nullptr, std::nullopt); }

/// A core whose list at version 100 is done and whose watch is open.
ReflectorCore watching(ReflectorCore::Options with = options()) {
  ReflectorCore core{with};
  core.next();
  core.stage(json::parse(object("a", "90")));
  core.page_read("100", "", kNow);
  core.next();
  core.watch_opened(kNow);
  return core;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/reflector_core/list") {
  TEST_CASE("the first list is paged and asks for no version") {
    ReflectorCore core{options()};
    const auto step = core.next();
    CHECK(step.action == Action::kList);
    CHECK(step.delay == 0ms);
    CHECK(step.query == "limit=100&fieldSelector=spec.nodeName%3Dn1");
  }

  TEST_CASE(
      "pages follow by their token; only the last one commits, with the version of the first") {
    ReflectorCore core{options()};
    core.next();
    CHECK(core.page_read("100", "a/b=", kNow) == Page::kMore);
    CHECK_FALSE(core.health().synced);
    CHECK(core.next().query == "limit=100&continue=a%2Fb%3D&fieldSelector=spec.nodeName%3Dn1");
    CHECK(core.page_read("101", "", kNow) == Page::kCommit);
    CHECK(core.health().synced);
    CHECK(core.health().lists == 1);
    CHECK(core.health().resource_version == "100");
    CHECK(core.health().confirmed_at == kNow);
    CHECK(core.next().action == Action::kWatch);
  }

  TEST_CASE("410 on a continue token starts the list anew, at once") {
    ReflectorCore core{options()};
    core.next();
    core.page_read("100", "t", kNow);
    CHECK(core.page_refused(refused(410), kNow) == Page::kAbandon);
    CHECK(core.health().relists_410 == 1);
    const auto step = core.next();
    CHECK(step.delay == 0ms);
    CHECK_FALSE(has(step.query, "continue"));
  }

  TEST_CASE("a page that fails in passing is asked for again, three times at most") {
    ReflectorCore core{options()};
    core.next();
    core.page_read("100", "t", kNow);
    CHECK(core.page_refused(refused(503), kNow) == Page::kKeep);
    CHECK(has(core.next().query, "continue=t"));
    CHECK(core.page_failed("broken") == Page::kKeep);
    CHECK(core.page_failed("broken") == Page::kAbandon);
    CHECK_FALSE(has(core.next().query, "continue"));
    CHECK(core.health().failures == 3);
  }

  TEST_CASE("a first page that fails abandons, and 400 does not repeat a token") {
    ReflectorCore core{options()};
    CHECK(core.page_failed("broken") == Page::kAbandon);
    core.page_read("100", "t", kNow);
    CHECK(core.page_refused(refused(400), kNow) == Page::kAbandon);
  }

  TEST_CASE("the same continue token twice is no endless list") {
    ReflectorCore core{options()};
    core.page_read("100", "t", kNow);
    CHECK(core.page_read("100", "t", kNow) == Page::kAbandon);
    CHECK(core.health().failures == 1);
  }

  TEST_CASE("a list without a version cannot be watched from: it counts as failed") {
    ReflectorCore core{options()};
    CHECK(core.page_read("", "", kNow) == Page::kAbandon);
    CHECK_FALSE(core.health().synced);
  }

  TEST_CASE("a page over the bound is asked for in half the size") {
    ReflectorCore core{options()};
    CHECK(core.page_too_large("big") == Page::kAbandon);
    CHECK(has(core.next().query, "limit=50"));
    for (int i = 0; i < 10; ++i) core.page_too_large("big");
    CHECK(has(core.next().query, "limit=1&"));
  }

  TEST_CASE("404 is a fault, or an empty list that is looked at again each 30 s") {
    ReflectorCore strict{options()};
    CHECK(strict.page_refused(refused(404), kNow) == Page::kAbandon);
    CHECK_FALSE(strict.health().synced);
    auto with = options();
    with.not_found_is_empty = true;
    ReflectorCore lax{with};
    CHECK(lax.page_refused(refused(404), kNow) == Page::kEmpty);
    CHECK(lax.health().synced);
    CHECK(lax.health().failures == 0);
    CHECK(has(lax.health().fault, "404"));
    const auto step = lax.next();
    CHECK(step.action == Action::kList);
    CHECK(step.delay == 30s);
  }

  TEST_CASE("Retry-After comes on top of the back-off, and is cut to five minutes") {
    ReflectorCore core{options()};
    core.page_refused(read_refusal(429, nullptr, 7s), kNow);
    const auto step = core.next();
    CHECK(step.delay >= 7s);
    CHECK(step.delay <= 7s + 500ms);
    core.page_refused(read_refusal(503, nullptr, std::chrono::hours{24}), kNow);
    CHECK(core.next().delay <= ReflectorCore::kMaxRetryAfter + 1s);
  }

  TEST_CASE("delays double under full jitter up to the bound") {
    auto with = options();
    with.backoff_min = 500ms;
    with.backoff_max = 4s;
    ReflectorCore core{with};
    for (const auto bound : {500ms, 1000ms, 2000ms, 4000ms, 4000ms}) {
      core.page_failed("broken");
      const auto delay = core.next().delay;
      CHECK(delay >= 0ms);
      CHECK(delay <= bound);
    }
    // A jitter that is none would bring all nodes back in step.
    Backoff backoff{1000ms, 1000ms, 3};
    CHECK(backoff.next() != backoff.next());
  }

  TEST_CASE("401 or 403 five times in a row is denied; another answer clears it") {
    ReflectorCore core{options()};
    for (int i = 0; i < 4; ++i) core.page_refused(refused(i % 2 == 0 ? 401 : 403), kNow);
    CHECK_FALSE(core.health().denied);
    core.page_failed("a broken connection says nothing about the credentials");
    core.page_refused(refused(401), kNow);
    CHECK(core.health().denied);
    core.page_refused(refused(500), kNow);
    CHECK_FALSE(core.health().denied);
  }
}

TEST_SUITE("k8s/reflector_core/watch") {
  TEST_CASE("a watch asks for bookmarks and a random end within its bounds") {
    auto with = options();
    with.watch_min = with.watch_max = 321s;
    ReflectorCore core{with};
    core.page_read("100", "", kNow);
    CHECK(core.next().query ==
          "watch=1&allowWatchBookmarks=true&resourceVersion=100&timeoutSeconds=321"
          "&fieldSelector=spec.nodeName%3Dn1");
  }

  TEST_CASE("events move the version on") {
    auto core = watching();
    CHECK(core.event(line("ADDED", object("b", "101")), kNow) == Effect::kAdded);
    CHECK(core.event(line("MODIFIED", object("b", "102")), kNow) == Effect::kModified);
    CHECK(core.event(line("DELETED", object("b", "103")), kNow + 1s) == Effect::kDeleted);
    CHECK(core.health().events == 3);
    CHECK(core.health().resource_version == "103");
    CHECK(core.health().confirmed_at == kNow + 1s);
    CHECK(core.objects() == 1);
  }

  TEST_CASE("row 22: a bookmark stores the version and touches nothing") {
    auto core = watching();
    const auto bookmark = R"({"kind":"Pod","metadata":{"resourceVersion":"900"}})";
    CHECK(core.event(line("BOOKMARK", bookmark), kNow) == Effect::kNone);
    CHECK(core.health().resource_version == "900");
    CHECK(core.health().bookmarks == 1);
    CHECK(core.health().events == 0);
    CHECK(core.objects() == 1);
  }

  TEST_CASE("duplicate and older events are ignored and do not turn the version back") {
    auto core = watching();
    CHECK(core.event(line("MODIFIED", object("a", "110")), kNow) == Effect::kModified);
    CHECK(core.event(line("MODIFIED", object("a", "110")), kNow) == Effect::kNone);
    CHECK(core.event(line("MODIFIED", object("a", "105")), kNow) == Effect::kNone);
    CHECK(core.event(line("DELETED", object("a", "105")), kNow) == Effect::kNone);
    CHECK(core.health().resource_version == "110");
    CHECK(core.health().events == 1);
  }

  TEST_CASE("an object of the list is known: its own event again is a duplicate") {
    auto core = watching();
    CHECK(core.event(line("ADDED", object("a", "90")), kNow) == Effect::kNone);
    CHECK(core.event(line("MODIFIED", object("a", "101")), kNow) == Effect::kModified);
  }

  TEST_CASE("a deleted object is not raised by a late event, but may come back newer") {
    auto core = watching();
    CHECK(core.event(line("DELETED", object("a", "110")), kNow) == Effect::kDeleted);
    CHECK(core.event(line("DELETED", object("a", "110")), kNow) == Effect::kNone);
    CHECK(core.event(line("MODIFIED", object("a", "109")), kNow) == Effect::kNone);
    CHECK(core.event(line("ADDED", object("a", "120")), kNow) == Effect::kAdded);
  }

  TEST_CASE("DELETED of an unknown uid is ignored; with the object's own version it counts") {
    auto core = watching();
    CHECK(core.event(line("DELETED", object("zzz", "101")), kNow) == Effect::kNone);
    CHECK(core.health().resource_version == "101");
    CHECK(core.event(line("DELETED", object("a", "90")), kNow) == Effect::kDeleted);
  }

  TEST_CASE("versions that are not numbers are taken as they come") {
    auto core = watching();
    CHECK(core.event(line("MODIFIED", object("a", "v2")), kNow) == Effect::kModified);
    CHECK(core.event(line("MODIFIED", object("a", "v1")), kNow) == Effect::kModified);
    CHECK(core.health().resource_version == "v1");
  }

  TEST_CASE("what is no event is counted and skipped") {
    auto core = watching();
    for (const char* text :
         {"1",
          "{}",
          R"({"type":1,"object":{}})",
          R"({"type":"ADDED"})",
          R"({"type":"ADDED","object":null})",
          R"({"type":"ADDED","object":{}})",
          R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"500"}}})",
          R"({"type":"BOOKMARK","object":{}})",
          R"({"type":"RESIZED","object":{"metadata":{"resourceVersion":"5"}}})"}) {
      CAPTURE(text);
      CHECK(core.event(json::parse(text), kNow) == Effect::kNone);
    }
    CHECK(core.health().bad_events == 9);
    CHECK(core.health().resource_version == "100");
  }

  TEST_CASE("row 20, 23: ERROR 410 leads to a list at once, after a bookmark too") {
    auto core = watching();
    core.event(line("BOOKMARK", R"({"metadata":{"resourceVersion":"900"}})"), kNow);
    CHECK(core.event(error(410), kNow) == Effect::kStop);
    CHECK(core.health().relists_410 == 1);
    const auto step = core.next();
    CHECK(step.action == Action::kList);
    CHECK(step.delay == 0ms);
    CHECK_FALSE(has(step.query, "resourceVersion"));
  }

  TEST_CASE("reason Expired counts like 410") {
    auto core = watching();
    CHECK(core.event(error(500, "Expired"), kNow) == Effect::kStop);
    CHECK(core.next().action == Action::kList);
  }

  TEST_CASE("410 again and again, without an event between, is backed off") {
    auto core = watching();
    core.event(error(410), kNow);
    CHECK(core.health().failures == 0);
    for (int i = 1; i <= 3; ++i) {
      core.next();
      core.page_read("200", "", kNow);
      core.next();
      core.watch_refused(refused(410));
      CHECK(core.health().failures == i);
    }
    CHECK(core.health().relists_410 == 4);
  }

  TEST_CASE("too large a version leads to a list: by its cause, its text, or as an answer") {
    const auto cause = R"({"causes":[{"reason":"ResourceVersionTooLarge"}]})";
    for (int i = 0; i < 3; ++i) {
      CAPTURE(i);
      auto core = watching();
      if (i == 0) core.event(error(504, "Timeout", cause), kNow);
      if (i == 1) {
        core.event(
            line("ERROR", R"({"code":504,"message":"Too large resource version: 9, current: 5"})"),
            kNow);
      }
      if (i == 2) {
        const auto body = json::parse(std::string{R"({"code":504,"details":)"} + cause + "}");
        core.watch_refused(read_refusal(504, body, std::nullopt));
      }
      CHECK(core.health().failures == 1);
      CHECK(core.health().relists_410 == 0);
      CHECK(core.next().action == Action::kList);
    }
  }

  TEST_CASE("ERROR of another code resumes the watch from the last version") {
    auto core = watching();
    core.event(line("ADDED", object("b", "150")), kNow);
    CHECK(core.event(error(500, "InternalError", R"({"retryAfterSeconds":3})"), kNow) ==
          Effect::kStop);
    const auto step = core.next();
    CHECK(step.action == Action::kWatch);
    CHECK(step.delay >= 3s);
    CHECK(has(step.query, "resourceVersion=150"));
  }

  TEST_CASE("content that spoils five watches from one version is got over by a list") {
    auto core = watching();
    for (int i = 0; i < 4; ++i) {
      core.watch_ended(End::kNotJson, "not JSON", kNow);
      CHECK(core.next().action == Action::kWatch);
      core.watch_opened(kNow);
    }
    core.event(error(500), kNow);
    CHECK(core.next().action == Action::kList);
  }

  TEST_CASE("a clean end resumes at once and is no failure") {
    auto core = watching();
    core.watch_ended(End::kClean, "", kNow + 400s);
    CHECK(core.health().failures == 0);
    CHECK(core.health().fault.empty());
    const auto step = core.next();
    CHECK(step.action == Action::kWatch);
    CHECK(step.delay == 0ms);
    CHECK(has(step.query, "resourceVersion=100"));
  }

  TEST_CASE("a watch that ends at once is backed off from the second time on") {
    auto core = watching();
    core.watch_ended(End::kClean, "", kNow + 10ms);
    CHECK(core.health().failures == 0);
    core.watch_opened(kNow);
    core.watch_ended(End::kClean, "", kNow + 10ms);
    CHECK(core.health().failures == 1);
    core.watch_opened(kNow);
    core.event(line("ADDED", object("b", "101")), kNow);
    core.watch_ended(End::kClean, "", kNow + 10ms);
    CHECK(core.health().failures == 0);
  }

  TEST_CASE("a broken connection resumes the watch, without a list") {
    auto core = watching();
    core.watch_ended(End::kBroken, "reset", kNow + 5s);
    CHECK(core.health().failures == 1);
    CHECK(core.health().fault == "reset");
    CHECK(core.next().action == Action::kWatch);
    core.watch_failed("refused");
    CHECK(core.health().failures == 2);
    CHECK(core.next().action == Action::kWatch);
    core.watch_opened(kNow);
    CHECK(core.health().fault.empty());
  }

  TEST_CASE("row 25: silence reconnects without a further wait") {
    auto core = watching();
    core.watch_ended(End::kSilent, "silent", kNow + 90s);
    CHECK(core.health().failures == 1);
    CHECK(core.health().fault == "silent");
    CHECK(core.health().confirmed_at == kNow);
    const auto step = core.next();
    CHECK(step.action == Action::kWatch);
    CHECK(step.delay == 0ms);
  }

  TEST_CASE("a line over the bound is counted and leads to a list: resuming would meet it again") {
    auto core = watching();
    core.watch_ended(End::kLineTooLong, "long", kNow);
    CHECK(core.health().bad_events == 1);
    CHECK(core.health().failures == 1);
    CHECK(core.next().action == Action::kList);
  }

  TEST_CASE("404 on a watch asks the list; 429 and 500 resume") {
    for (const unsigned status : {404u, 429u, 500u}) {
      CAPTURE(status);
      auto core = watching();
      core.watch_refused(refused(status));
      CHECK((core.next().action == Action::kList) == (status == 404));
    }
  }

  TEST_CASE(
      "a new list forgets the versions of the old one: a restored etcd may count from below") {
    auto core = watching();
    core.event(line("MODIFIED", object("a", "5000")), kNow);
    core.event(error(410), kNow);
    core.next();
    core.stage(json::parse(object("a", "10")));
    CHECK(core.page_read("20", "", kNow) == Page::kCommit);
    CHECK(core.health().resource_version == "20");
    CHECK(core.event(line("MODIFIED", object("a", "21")), kNow) == Effect::kModified);
  }
}
