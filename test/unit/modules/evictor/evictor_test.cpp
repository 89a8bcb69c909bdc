#include "modules/evictor/evictor.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"
#include "unit/k8s/api_script.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

namespace asio = boost::asio;

EvictionWish wish(const std::string& name) {
  EvictionWish out;
  out.uid = "u-" + name;
  out.ns = "jobs";
  out.name = name;
  out.plugin = "memory_evict";
  out.reason = "node memory 75.00 % >= 70 %";
  out.frees[EvictResource::kMemoryUsed] = 1 << 30;
  return out;
}

struct Bed {
  asio::io_context io;
  ManualClock clock;
  ApiScript script;
  ApiScript event_script;
  k8s::EventRecorder events{io.get_executor(), event_script.caller(), {}, clock};
  std::set<std::string, std::less<>> pods;
  std::optional<Evictor> evictor;

  explicit Bed(Evictor::Config config = {}) {
    evictor.emplace(
        io.get_executor(),
        script.caller(),
        events,
        [this](std::string_view uid) { return pods.contains(uid); },
        clock,
        config);
    script.answer(200, kCoreResources);
  }
  void submit(const std::string& name) {
    pods.insert("u-" + name);
    evictor->submit({wish(name)});
  }
  bool step() { return run(io, evictor->step()); }
  /// Submits, answers, and returns what became of it.
  EvictionOutcome evict(const std::string& name, unsigned status, const std::string& body = "") {
    script.answer(status, body);
    submit(name);
    CHECK(step());
    auto outcomes = evictor->take_outcomes();
    REQUIRE(outcomes.size() == 1);
    return outcomes.front();
  }
  /// Reason and message of the next event; "" when there is none.
  std::string event() {
    if (events.status().waiting == 0) return "";
    event_script.answer(201);
    run(io, events.step());
    const auto& body = event_script.last().body;
    return std::string{body.at("reason").as_string()} + ": " +
           std::string{body.at("message").as_string()};
  }
  const Evictor::Status& status() const { return evictor->status(); }
};

}  // namespace

TEST_SUITE("evictor") {
  TEST_CASE("an accepted eviction: outcome, event, counters, history") {
    Bed bed;
    bed.clock.advance(std::chrono::seconds{5});
    const auto outcome = bed.evict("sort-1", 201);
    CHECK(outcome.result == EvictionResult::kAccepted);
    CHECK(outcome.wish == wish("sort-1"));
    CHECK(outcome.at == bed.clock.now());
    CHECK(bed.event() ==
          "evictPodSuccess: koordlet evicts this pod (memory_evict): node memory 75.00 % >= 70 %");
    CHECK(bed.event_script.last().body.at("involvedObject").at("uid") == "u-sort-1");
    CHECK(bed.status().count(EvictionResult::kAccepted) == 1);
    CHECK(bed.status().by_plugin.at("memory_evict")[0] == 1);
    CHECK(bed.status().api_version == "policy/v1");
    CHECK(bed.status().problem.empty());
    REQUIRE(bed.status().history.size() == 1);
    CHECK(bed.status().history[0].outcome == outcome);
    CHECK(bed.status().history[0].at == bed.clock.wall());
    CHECK(bed.evictor->take_outcomes().empty());
    CHECK(bed.script.last().body.at("deleteOptions").as_object().size() == 1);
  }

  TEST_CASE("85: what a budget refuses stays alive: one call, one event however often") {
    Bed bed;
    for (int i = 0; i < 3; ++i) {
      CHECK(bed.evict("sort-1", 429, kBudget).result == EvictionResult::kRefused);
    }
    CHECK(bed.script.calls().size() == 4);  // one of them asked for the version
    CHECK(bed.events.status().waiting == 1);
    CHECK(bed.event().starts_with("evictPodFail: koordlet could not evict this pod"));
    CHECK(bed.event_script.last().body.at("count") == 3);
    CHECK(bed.status().count(EvictionResult::kRefused) == 3);
    CHECK(bed.status().problem.empty());
  }

  TEST_CASE("404 and 409: the pod is not there any more, nothing to tell") {
    Bed bed;
    CHECK(bed.evict("sort-1", 404, kNoSuchPod).result == EvictionResult::kGone);
    CHECK(bed.evict("sort-1", 409).result == EvictionResult::kNotSame);
    CHECK(bed.event().empty());
    CHECK(bed.status().problem.empty());
  }

  TEST_CASE("403 and 500 are problems that are shown until a plain answer comes") {
    Bed bed;
    CHECK(bed.evict("sort-1", 403).result == EvictionResult::kForbidden);
    CHECK(bed.status().problem == "jobs/sort-1: forbidden: 403 Forbidden");
    CHECK_FALSE(bed.event().empty());
    CHECK(bed.evict("sort-1", 500).result == EvictionResult::kFailed);
    CHECK(bed.status().problem == "jobs/sort-1: failed: 500 Internal Server Error");
    bed.evict("sort-1", 201);
    CHECK(bed.status().problem.empty());
  }

  TEST_CASE("no answer: unreachable, no event that could not be sent either") {
    Bed bed;
    bed.script.fail(Errc::kBusy, "timed out");
    bed.submit("sort-1");
    CHECK(bed.step());
    CHECK(bed.evictor->take_outcomes().at(0).result == EvictionResult::kUnreachable);
    CHECK(bed.event().empty());
    CHECK_FALSE(bed.status().problem.empty());
  }

  TEST_CASE("160: a pod that has left since it was chosen is dropped without a call") {
    Bed bed;
    bed.submit("sort-1");
    bed.pods.clear();
    CHECK(bed.step());
    CHECK(bed.script.calls().empty());
    CHECK(bed.evictor->take_outcomes().at(0).result == EvictionResult::kDropped);
    CHECK(bed.status().count(EvictionResult::kDropped) == 1);
    CHECK(bed.event().empty());
  }

  TEST_CASE("a dry run sends nothing") {
    Evictor::Config config;
    config.dry_run = true;
    Bed bed{config};
    bed.submit("sort-1");
    CHECK(bed.step());
    CHECK(bed.script.calls().empty());
    CHECK(bed.event().empty());
    CHECK(bed.evictor->take_outcomes().at(0).result == EvictionResult::kDryRun);
    CHECK(bed.status().history.size() == 1);
  }

  TEST_CASE("switched off, wishes are ignored") {
    Evictor::Config config;
    config.enable = false;
    Bed bed{config};
    bed.submit("sort-1");
    CHECK_FALSE(bed.step());
    CHECK(bed.status().waiting == 0);
    CHECK(bed.evictor->take_outcomes().empty());
  }

  TEST_CASE("a wish that is not repeated is not carried out") {
    Bed bed;
    bed.submit("sort-1");
    CHECK(bed.status().waiting == 1);
    bed.evictor->submit({});
    CHECK_FALSE(bed.step());
    CHECK(bed.script.calls().empty());
  }

  TEST_CASE("after an outcome everything that waits is decided anew") {
    Bed bed;
    bed.pods = {"u-a", "u-b"};
    bed.evictor->submit({wish("a"), wish("b")});
    bed.script.answer(201);
    CHECK(bed.step());
    CHECK(bed.status().waiting == 0);
    CHECK_FALSE(bed.step());
    CHECK(bed.evictor->take_outcomes().size() == 1);
  }

  TEST_CASE("the grace of the settings goes along") {
    Evictor::Config config;
    config.grace = std::chrono::seconds{7};
    Bed bed{config};
    bed.evict("sort-1", 201);
    CHECK(bed.script.last().body.at("deleteOptions").at("gracePeriodSeconds") == 7);
  }

  TEST_CASE("the history keeps the last 50") {
    Bed bed;
    for (int i = 0; i < 53; ++i) bed.evict("p" + std::to_string(i), 409);
    REQUIRE(bed.status().history.size() == 50);
    CHECK(bed.status().history.front().outcome.wish.name == "p3");
    CHECK(bed.status().history.back().outcome.wish.name == "p52");
    CHECK(bed.status().count(EvictionResult::kNotSame) == 53);
  }
}

TEST_SUITE("evictor run") {
  /// A call that stays open until the test lets it go.
  struct Gate {
    asio::steady_timer open;
    int calls = 0;
    explicit Gate(asio::io_context& io) : open{io, asio::steady_timer::time_point::max()} {}
    asio::awaitable<Result<k8s::ApiAnswer>> pass(k8s::ApiCall call) {
      k8s::ApiAnswer answer;
      answer.status = 201;
      if (call.method == "GET") {
        answer.status = 200;
        answer.body = boost::json::parse(kCoreResources);
        co_return answer;
      }
      ++calls;
      co_await open.async_wait(reactor::use_ec);
      co_return answer;
    }
  };

  TEST_CASE("one at a time, and the pod in flight is not asked for twice") {
    asio::io_context io;
    ManualClock clock;
    ApiScript unused;
    k8s::EventRecorder events{io.get_executor(), unused.caller(), {}, clock};
    Gate gate{io};
    Evictor evictor{io.get_executor(),
                    [&gate](k8s::ApiCall call) { return gate.pass(std::move(call)); },
                    events,
                    [](std::string_view) { return true; },
                    clock,
                    {}};
    reactor::TaskGroup tasks{io.get_executor(), [](const auto&, const auto&) {}};
    tasks.spawn("evictor", evictor.run());
    io.poll();
    evictor.submit({wish("a")});
    io.poll();
    CHECK(gate.calls == 1);
    REQUIRE(evictor.status().in_flight.has_value());
    CHECK(evictor.status().in_flight->name == "a");
    evictor.submit({wish("a")});
    CHECK(evictor.status().waiting == 0);
    evictor.submit({wish("b")});
    io.poll();
    CHECK(gate.calls == 1);
    gate.open.cancel();
    io.poll();
    CHECK_FALSE(evictor.status().in_flight.has_value());
    CHECK(evictor.take_outcomes().size() == 1);
    CHECK(gate.calls == 1);  // "b" was wished before the outcome of "a" was known
    evictor.submit({wish("b")});
    io.poll();
    CHECK(gate.calls == 2);
    tasks.request_stop();
    io.poll();
    CHECK(tasks.live() == 0);
  }
}
