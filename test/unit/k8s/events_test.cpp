#include "k8s/events.hpp"

#include <string>

#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"
#include "unit/k8s/api_script.hpp"

using namespace koordlet;
using namespace koordlet::k8s;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

namespace asio = boost::asio;
namespace json = boost::json;

struct Bed {
  asio::io_context io;
  ManualClock clock;
  ApiScript script;
  EventRecorder::Config config;
  std::optional<EventRecorder> recorder;

  explicit Bed(EventRecorder::Config c = {}) : config{std::move(c)} {
    config.node_name = "n1";
    recorder.emplace(io.get_executor(), script.caller(), config, clock);
  }
  void record(const std::string& message, const std::string& name = "sort-1") {
    recorder->record(
        pod_subject("jobs", name, "u-" + name), EventType::kWarning, "evictPodFail", message);
  }
  bool step() { return run(io, recorder->step()); }
  /// Sends all that waits, with 201 each.
  int drain() {
    int sent = 0;
    for (;; ++sent) {
      if (recorder->status().waiting == 0) return sent;
      script.answer(201);
      if (!step()) return sent;
    }
  }
  const EventRecorder::Status& status() const { return recorder->status(); }
};

}  // namespace

TEST_SUITE("k8s/events") {
  TEST_CASE("an event as core/v1 has it, in the namespace of its object") {
    Bed bed;
    bed.record("budget");
    CHECK(bed.status().waiting == 1);
    bed.script.answer(201);
    CHECK(bed.step());
    const auto& call = bed.script.last();
    CHECK(call.method == "POST");
    CHECK(call.path == "/api/v1/namespaces/jobs/events");
    const auto& body = call.body;
    CHECK(body.at("kind") == "Event");
    CHECK(body.at("apiVersion") == "v1");
    CHECK(body.at("metadata").at("namespace") == "jobs");
    CHECK(std::string{body.at("metadata").at("name").as_string()}.starts_with("sort-1."));
    CHECK(body.at("involvedObject") == json::parse(R"({"kind": "Pod", "apiVersion": "v1",
      "namespace": "jobs", "name": "sort-1", "uid": "u-sort-1"})"));
    CHECK(body.at("type") == "Warning");
    CHECK(body.at("reason") == "evictPodFail");
    CHECK(body.at("message") == "budget");
    CHECK(body.at("source") == json::parse(R"({"component": "koordlet", "host": "n1"})"));
    CHECK(body.at("firstTimestamp") == "2023-11-14T22:13:20Z");
    CHECK(body.at("lastTimestamp") == "2023-11-14T22:13:20Z");
    CHECK(body.at("count") == 1);
    CHECK(bed.status().created == 1);
    CHECK(bed.status().waiting == 0);
    CHECK_FALSE(bed.step());
  }

  TEST_CASE("an event of the Node lives in default and carries the name as uid") {
    Bed bed;
    bed.recorder->record(node_subject("n1"), EventType::kNormal, "Started", "hello");
    CHECK(bed.drain() == 1);
    const auto& call = bed.script.last();
    CHECK(call.path == "/api/v1/namespaces/default/events");
    CHECK(call.body.at("metadata").at("namespace") == "default");
    CHECK(call.body.at("involvedObject").at("uid") == "n1");
    CHECK(call.body.at("involvedObject").as_object().contains("namespace") == false);
    CHECK(call.body.at("type") == "Normal");
  }

  TEST_CASE("the same event again raises the count of the one that exists") {
    Bed bed;
    bed.record("budget");
    bed.drain();
    const auto name = bed.script.last().body.at("metadata").at("name").as_string();
    bed.clock.advance(seconds{60});
    bed.record("budget");
    bed.script.answer(200);
    CHECK(bed.step());
    const auto& call = bed.script.last();
    CHECK(call.method == "PATCH");
    CHECK(call.path == "/api/v1/namespaces/jobs/events/" + std::string{name});
    CHECK(call.content_type == "application/merge-patch+json");
    CHECK(call.body == json::parse(R"({"count": 2, "lastTimestamp": "2023-11-14T22:14:20Z"})"));
    CHECK(bed.status().raised == 1);
  }

  TEST_CASE("what is recorded while the same one waits is sent as one with its count") {
    Bed bed;
    for (int i = 0; i < 5; ++i) bed.record("budget");
    CHECK(bed.status().waiting == 1);
    CHECK(bed.drain() == 1);
    CHECK(bed.script.last().body.at("count") == 5);
    CHECK(bed.status().recorded == 5);
  }

  TEST_CASE("after 10 minutes without it, it is a new event") {
    Bed bed;
    bed.record("budget");
    bed.drain();
    bed.clock.advance(seconds{599});
    bed.record("budget");
    bed.drain();
    CHECK(bed.script.last().method == "PATCH");
    bed.clock.advance(seconds{600});
    bed.record("budget");
    bed.drain();
    CHECK(bed.script.last().method == "POST");
    CHECK(bed.script.last().body.at("count") == 1);
  }

  TEST_CASE("another message, reason, type or object is another event") {
    Bed bed;
    bed.record("a");
    bed.record("b");
    bed.record("a", "sort-2");
    bed.recorder->record(
        pod_subject("jobs", "sort-1", "u-sort-1"), EventType::kNormal, "evictPodFail", "a");
    bed.recorder->record(
        pod_subject("jobs", "sort-1", "u-sort-1"), EventType::kWarning, "other", "a");
    CHECK(bed.drain() == 5);
    CHECK(bed.status().created == 5);
  }

  TEST_CASE("an event that has expired on the server is made anew with its count") {
    Bed bed;
    bed.record("budget");
    bed.drain();
    bed.record("budget");
    bed.script.answer(404);
    CHECK(bed.step());
    bed.script.answer(201);
    CHECK(bed.step());
    CHECK(bed.script.last().method == "POST");
    CHECK(bed.script.last().body.at("count") == 2);
    CHECK(bed.status().waiting == 0);
  }

  TEST_CASE("one object gets 25 events at once, then one each 5 minutes") {
    Bed bed;
    for (int i = 0; i < 30; ++i) bed.record("message " + std::to_string(i));
    CHECK(bed.status().waiting == 25);
    CHECK(bed.status().dropped_spam == 5);
    bed.record("of another", "sort-2");
    CHECK(bed.status().waiting == 26);
    bed.clock.advance(seconds{299});
    bed.record("too early");
    CHECK(bed.status().dropped_spam == 6);
    bed.clock.advance(seconds{1});
    bed.record("in time");
    CHECK(bed.status().dropped_spam == 6);
    CHECK(bed.drain() == 27);
  }

  TEST_CASE("a full queue drops the new event and counts it") {
    EventRecorder::Config config;
    config.queue = 3;
    Bed bed{config};
    for (int i = 0; i < 5; ++i) bed.record("m", "pod-" + std::to_string(i));
    CHECK(bed.status().waiting == 3);
    CHECK(bed.status().dropped_full == 2);
    CHECK(bed.drain() == 3);
    bed.record("m", "pod-4");
    CHECK(bed.drain() == 1);
  }

  TEST_CASE("what is remembered is bounded") {
    EventRecorder::Config config;
    config.known = 4;
    Bed bed{config};
    for (int i = 0; i < 20; ++i) {
      bed.clock.advance(seconds{1});
      bed.record("m", "pod-" + std::to_string(i));
      CHECK(bed.drain() == 1);
    }
    // The last ones are still joined, the first is forgotten and made again.
    bed.record("m", "pod-19");
    bed.drain();
    CHECK(bed.script.last().method == "PATCH");
    bed.record("m", "pod-0");
    bed.drain();
    CHECK(bed.script.last().method == "POST");
  }

  TEST_CASE("a failure waits, doubling, and gives up after five tries") {
    Bed bed;
    bed.record("budget");
    for (const int wait : {1, 2, 4, 8}) {
      CAPTURE(wait);
      bed.script.fail(Errc::kIo, "connection refused");
      CHECK(bed.step());
      CHECK(bed.status().problem == "connection refused");
      bed.clock.advance(seconds{wait} - std::chrono::milliseconds{1});
      CHECK_FALSE(bed.step());
      bed.clock.advance(std::chrono::milliseconds{1});
    }
    bed.script.answer(503);
    CHECK(bed.step());
    CHECK(bed.status().dropped_failed == 1);
    CHECK(bed.status().waiting == 0);
    bed.clock.advance(seconds{60});
    bed.record("budget");  // a new try from the start
    CHECK(bed.drain() == 1);
    CHECK(bed.script.last().method == "POST");
    CHECK(bed.script.last().body.at("count") == 1);
    CHECK(bed.status().problem.empty());
  }

  TEST_CASE("the server's Retry-After is obeyed") {
    Bed bed;
    bed.record("budget");
    bed.script.answer_later(429, seconds{30});
    CHECK(bed.step());
    bed.clock.advance(seconds{29});
    CHECK_FALSE(bed.step());
    bed.clock.advance(seconds{1});
    CHECK(bed.drain() == 1);
  }

  TEST_CASE("a create without an answer is repeated under its name, and 409 says it was made") {
    Bed bed;
    bed.record("budget");
    bed.script.fail(Errc::kBusy, "timed out");
    CHECK(bed.step());
    const auto name = json::serialize(bed.script.last().body.at("metadata").at("name"));
    bed.clock.advance(seconds{1});
    bed.script.answer(409, R"({"reason": "AlreadyExists"})");
    CHECK(bed.step());
    CHECK(json::serialize(bed.script.last().body.at("metadata").at("name")) == name);
    CHECK(bed.status().created == 1);
    CHECK(bed.status().waiting == 0);
  }

  TEST_CASE("a name that is taken is changed") {
    Bed bed;
    bed.record("budget");
    bed.script.answer(409, R"({"reason": "AlreadyExists"})");
    CHECK(bed.step());
    const auto name = json::serialize(bed.script.last().body.at("metadata").at("name"));
    CHECK(bed.status().created == 0);
    bed.clock.advance(seconds{1});
    CHECK(bed.drain() == 1);
    CHECK(json::serialize(bed.script.last().body.at("metadata").at("name")) != name);
    CHECK(bed.status().created == 1);
  }

  TEST_CASE("a refusal is not repeated") {
    for (const unsigned status : {403u, 404u, 422u}) {
      CAPTURE(status);
      Bed bed;
      bed.record("budget");
      bed.record("next");
      bed.script.answer(status, R"({"reason": "X", "message": "no"})");
      CHECK(bed.step());
      CHECK(bed.status().dropped_refused == 1);
      CHECK(bed.status().problem.find(std::to_string(status)) == 0);
      CHECK(bed.drain() == 1);
    }
  }

  TEST_CASE("text is cut to its bound and printable, the name fits") {
    Bed bed;
    const std::string name = std::string(235, 'a') + "-" + std::string(17, 'b');
    bed.record("line\nwith \x01 and \xff" + std::string(2000, 'x'), name);
    CHECK(bed.drain() == 1);
    const auto& body = bed.script.last().body;
    const std::string message{body.at("message").as_string()};
    CHECK(message.size() == 1024);
    CHECK(message.starts_with("line?with ? and ?xxx"));
    CHECK(message.ends_with("x..."));
    const std::string object{body.at("metadata").at("name").as_string()};
    CHECK(object.size() <= 253);
    CHECK(object.starts_with(std::string(235, 'a') + "."));
    bed.record(std::string(1024, 'y'));
    CHECK(bed.drain() == 1);
    CHECK(bed.script.last().body.at("message").as_string().size() == 1024);
    CHECK(bed.script.last().body.at("message").as_string().back() == 'y');
  }

  TEST_CASE("run() sends what is recorded later, and ends when it is cancelled") {
    Bed bed;
    bed.script.answer(201);
    bed.script.answer(201);
    reactor::TaskGroup tasks{bed.io.get_executor(), [](const auto&, const auto&) {}};
    bed.record("before");
    tasks.spawn("events", bed.recorder->run());
    bed.io.restart();
    bed.io.poll();
    CHECK(bed.status().created == 1);
    bed.record("after");
    bed.io.poll();
    CHECK(bed.status().created == 2);
    CHECK(tasks.live() == 1);
    tasks.request_stop();
    bed.io.poll();
    CHECK(tasks.live() == 0);
  }
}
