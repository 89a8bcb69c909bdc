#include "modules/node_reporter/status_writer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "fake_objects.hpp"
#include "k8s/node_metric.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"

namespace koordlet {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using Calls = std::vector<std::string>;

const std::string kAll{k8s::kNodeMetrics};
const std::string kPatch = "PATCH " + kAll + "/n1/status";
const std::string kGet = "GET " + kAll + "/n1";
const std::string kPut = "PUT " + kAll + "/n1/status";
const std::string kPost = "POST " + kAll;

struct Bed {
  explicit Bed(bool create = true) : writer{"n1", create, server.caller(), clock} {}
  void add() {
    server.put("n1", json::parse(R"({"metadata":{"name":"n1"},"spec":{"a":1},
        "status":{"updateTime":"old","prodPeakMetric":{"resource":{}}}})"));
  }
  WriteResult write(const char* time = "new") {
    json::object status{{"updateTime", time}};
    return test::run(io, writer.write(std::move(status), "uid-1"));
  }
  json::value status() { return server.objects.at("n1").at("status"); }

  boost::asio::io_context io;
  test::ManualClock clock;
  test::FakeObjects server{kAll};
  StatusWriter writer;
};

k8s::ApiAnswer refusal(unsigned code, std::optional<std::chrono::seconds> after = std::nullopt) {
  k8s::ApiAnswer out;
  out.status = code;
  out.retry_after = after;
  return out;
}

TEST_SUITE("node_reporter/status_writer") {
  TEST_CASE("one merge patch of the status subresource, which nulls what is gone") {
    Bed b;
    b.add();
    CHECK(b.write().ok);
    CHECK(b.server.calls == Calls{kPatch});
    CHECK(b.status() == json::parse(R"({"updateTime":"new"})"));
    CHECK(b.writer.no_patch().empty());
  }
  TEST_CASE("403, 405 and 415 for the patch lead to read and put, and stay so for 10 minutes") {
    for (const unsigned code : {403U, 405U, 415U}) {
      CAPTURE(code);
      Bed b;
      b.add();
      b.server.scripted = {refusal(code)};
      CHECK(b.write().ok);
      CHECK(b.server.calls == Calls{kPatch, kGet, kPut});
      CHECK(b.status() == json::parse(R"({"updateTime":"new"})"));
      CHECK_FALSE(b.writer.no_patch().empty());
      b.server.calls.clear();
      b.clock.advance(599s);
      CHECK(b.write().ok);
      CHECK(b.server.calls == Calls{kGet, kPut});
      b.server.calls.clear();
      b.clock.advance(1s);
      CHECK(b.write().ok);
      CHECK(b.server.calls == Calls{kPatch});
      CHECK(b.writer.no_patch().empty());
    }
  }
  TEST_CASE("K#1148: a conflict reads again and puts again, with the version just read") {
    Bed b;
    b.add();
    b.server.may_patch = false;
    int others = 2;
    b.server.before_write = [&] {
      if (b.server.calls.back() == kPut && others-- > 0) {
        b.server.put("n1", b.server.objects.at("n1"));
      }
    };
    CHECK(b.write().ok);
    CHECK(b.server.calls == Calls{kPatch, kGet, kPut, kGet, kPut, kGet, kPut});
    CHECK(b.writer.counts().conflicts == 2);
    CHECK(b.status() == json::parse(R"({"updateTime":"new"})"));
  }
  TEST_CASE("four attempts, then the round has failed") {
    Bed b;
    b.add();
    b.server.scripted = {refusal(409), refusal(409), refusal(409), refusal(409)};
    const auto r = b.write();
    CHECK_FALSE(r.ok);
    CHECK_FALSE(r.later);
    CHECK(r.problem.find("409") != std::string::npos);
    CHECK(b.server.calls == Calls{kPatch, kPatch, kPatch, kPatch});
  }
  TEST_CASE("an absent object is made, with its owner, and then written") {
    Bed b;
    CHECK(b.write().ok);
    CHECK(b.server.calls == Calls{kPatch, kPost, kPatch});
    CHECK(b.writer.counts().created == 1);
    const auto& made = b.server.objects.at("n1");
    CHECK(made.at("metadata").at("ownerReferences").at(0).at("uid") == "uid-1");
    CHECK(made.at("spec").at("metricCollectPolicy").at("reportIntervalSeconds") == 60);
    CHECK(b.status() == json::parse(R"({"updateTime":"new"})"));
  }
  TEST_CASE("an absent object is made when patches are refused, too") {
    Bed b;
    b.server.may_patch = false;
    CHECK(b.write().ok);
    CHECK(b.server.calls == Calls{kPatch, kGet, kPost, kGet, kPut});
  }
  TEST_CASE("somebody else makes the object in between: it is there, which is enough") {
    Bed b;
    b.server.before_write = [&] {
      if (b.server.calls.back() == kPost) b.add();
    };
    CHECK(b.write().ok);
    CHECK(b.writer.counts().created == 0);
  }
  TEST_CASE("making is switched off: the round says so, and nothing was written") {
    Bed b{false};
    const auto r = b.write();
    CHECK_FALSE(r.ok);
    CHECK(r.problem == "no NodeMetric object, and report.create is off");
    CHECK(b.server.calls == Calls{kPatch});
  }
  TEST_CASE("the CRD is not installed: said by name") {
    Bed b;
    b.server.installed = false;
    const auto r = b.write();
    CHECK_FALSE(r.ok);
    CHECK(r.problem.starts_with("the NodeMetric CRD is not installed"));
    CHECK(b.server.calls == Calls{kPatch, kPost});
  }
  TEST_CASE("429 and 5xx end the round at once and hand on what the server asked for") {
    for (const unsigned code : {429U, 500U, 503U}) {
      CAPTURE(code);
      Bed b;
      b.add();
      b.server.scripted = {refusal(code, 17s)};
      const auto r = b.write();
      CHECK_FALSE(r.ok);
      CHECK(r.later);
      CHECK(r.retry_after == 17s);
      CHECK(b.server.calls == Calls{kPatch});
    }
  }
  TEST_CASE("403 for the put is a failure, not a third way") {
    Bed b;
    b.add();
    b.server.scripted = {refusal(403), refusal(403)};
    const auto r = b.write();
    CHECK_FALSE(r.ok);
    CHECK(b.server.calls == Calls{kPatch, kGet, kPut});
  }
}

}  // namespace
}  // namespace koordlet
