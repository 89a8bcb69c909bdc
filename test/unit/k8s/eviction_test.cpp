#include "k8s/eviction.hpp"

#include <string>

#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "support/async.hpp"
#include "support/fake_http_server.hpp"
#include "unit/k8s/api_script.hpp"

using namespace koordlet;
using namespace koordlet::k8s;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

namespace asio = boost::asio;
namespace json = boost::json;

EvictionTarget target() {
  EvictionTarget out;
  out.ns = "jobs";
  out.name = "sort-1";
  out.uid = "7712555c-ce62";
  return out;
}

/// A client that has found its version already, and what the server says to the eviction itself.
struct Bed {
  asio::io_context io;
  ApiScript script;
  EvictionClient client{script.caller()};

  EvictionAnswer evict(EvictionTarget what = target()) { return run(io, client.evict(what)); }
  EvictionAnswer evict_known(unsigned status, const std::string& body = "") {
    if (client.version().empty()) script.answer(200, kCoreResources);
    script.answer(status, body);
    return evict();
  }
};

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/eviction") {
  TEST_CASE("an accepted eviction names the pod with its uid and keeps the pod's own grace") {
    Bed bed;
    const auto answer =
        bed.evict_known(201, R"({"kind": "Status", "status": "Success", "code": 201})");
    CHECK(answer.result == EvictionResult::kAccepted);
    CHECK(answer.detail.empty());
    CHECK(bed.client.version() == "policy/v1");
    REQUIRE(bed.script.calls().size() == 2);
    CHECK(bed.script.calls()[0].path == "/api/v1");
    const auto& call = bed.script.last();
    CHECK(call.method == "POST");
    CHECK(call.path == "/api/v1/namespaces/jobs/pods/sort-1/eviction");
    CHECK(call.content_type == "application/json");
    CHECK(call.body == json::parse(R"({"apiVersion": "policy/v1", "kind": "Eviction",
      "metadata": {"name": "sort-1", "namespace": "jobs"},
      "deleteOptions": {"preconditions": {"uid": "7712555c-ce62"}}})"));
  }

  TEST_CASE("a grace of ours goes along, zero too") {
    Bed bed;
    bed.script.answer(200, kCoreResources);
    bed.script.answer(200);
    auto what = target();
    what.grace = seconds{0};
    CHECK(bed.evict(what).result == EvictionResult::kAccepted);
    CHECK(bed.script.last().body.at("deleteOptions").at("gracePeriodSeconds") == 0);
  }

  TEST_CASE("the version is asked for once") {
    Bed bed;
    bed.evict_known(201);
    bed.evict_known(201);
    CHECK(bed.script.calls().size() == 3);
  }

  TEST_CASE("85: a disruption budget refuses: 429 with its words") {
    Bed bed;
    const auto answer = bed.evict_known(429, kBudget);
    CHECK(answer.result == EvictionResult::kRefused);
    CHECK(contains(answer.detail, "disruption budget"));
    CHECK(bed.script.calls().size() == 2);  // nothing else is tried
  }

  TEST_CASE("a 429 that is the server's own load is no refusal of this pod") {
    Bed bed;
    CHECK(bed.evict_known(429, R"("Too many requests, please try again later.")").result ==
          EvictionResult::kFailed);
    bed.script.answer_later(429, seconds{20});
    const auto answer = bed.evict();
    CHECK(answer.result == EvictionResult::kFailed);
    CHECK(answer.retry_after == seconds{20});
  }

  TEST_CASE("every other answer has its meaning") {
    struct Case {
      unsigned status;
      const char* body;
      EvictionResult want;
    };
    const auto not_same = R"({"reason": "Conflict", "message": "the UID in the precondition"})";
    const auto rbac = R"({"reason": "Forbidden", "message": "cannot create pods/eviction"})";
    const auto two =
        R"({"reason": "InternalError", "message": "more than one PodDisruptionBudget"})";
    for (const auto& c : {Case{409, not_same, EvictionResult::kNotSame},
                          Case{403, rbac, EvictionResult::kForbidden},
                          Case{401, "", EvictionResult::kForbidden},
                          Case{500, two, EvictionResult::kFailed},
                          Case{503, R"("<html>bad gateway")", EvictionResult::kFailed},
                          Case{400, R"({"message": "bad"})", EvictionResult::kFailed},
                          Case{422, "", EvictionResult::kFailed},
                          Case{302, "", EvictionResult::kFailed}}) {
      CAPTURE(c.status);
      Bed bed;
      const auto answer = bed.evict_known(c.status, c.body);
      CHECK(answer.result == c.want);
      CHECK(contains(answer.detail, std::to_string(c.status)));
      CHECK(bed.script.left() == 0);
    }
  }

  TEST_CASE("a pod that is gone is told from a path that is not there") {
    Bed bed;
    CHECK(bed.evict_known(404, kNoSuchPod).result == EvictionResult::kGone);
    CHECK(bed.script.calls().size() == 2);
    CHECK(bed.client.version() == "policy/v1");
    CHECK(bed.evict_known(404, R"({"message": "pods \"sort-1\" not found"})").result ==
          EvictionResult::kGone);
  }

  TEST_CASE("88: 404 on v1: the version is asked for again, then v1beta1 is used and kept") {
    Bed bed;
    bed.script.answer(200, kCoreResources);
    bed.script.answer(404, kNoSuchPath);
    bed.script.answer(200, kOldCoreResources);
    bed.script.answer(201);
    CHECK(bed.evict().result == EvictionResult::kAccepted);
    CHECK(bed.script.last().body.at("apiVersion") == "policy/v1beta1");
    CHECK(bed.client.version() == "policy/v1beta1");
    bed.script.answer(201);
    CHECK(bed.evict().result == EvictionResult::kAccepted);
    CHECK(bed.script.calls().size() == 5);
  }

  TEST_CASE("88: a server that names v1 and does not take it gets v1beta1") {
    Bed bed;
    for (const unsigned status : {404u, 400u}) {
      CAPTURE(status);
      if (bed.client.version().empty()) bed.script.answer(200, kCoreResources);
      const bool old = bed.client.version() == "policy/v1beta1";
      bed.script.answer(status, R"({"message": "no kind \"Eviction\" is registered for version"})");
      bed.script.answer(200, old ? kOldCoreResources : kCoreResources);
      bed.script.answer(201);
      CHECK(bed.evict().result == EvictionResult::kAccepted);
      CHECK(bed.client.version() == (old ? "policy/v1" : "policy/v1beta1"));
    }
  }

  TEST_CASE("no version works: failed, and the next eviction asks again") {
    Bed bed;
    bed.script.answer(200, kCoreResources);
    bed.script.answer(404, kNoSuchPath);
    bed.script.answer(200, kCoreResources);
    bed.script.answer(404, R"("404 page not found")");
    CHECK(bed.evict().result == EvictionResult::kFailed);
    CHECK(bed.client.version().empty());
    CHECK(bed.evict_known(201).result == EvictionResult::kAccepted);
  }

  TEST_CASE("discovery: the group where the resource list does not say") {
    Bed bed;
    bed.script.answer(200, R"({"resources": [{"name": "pods"}]})");
    bed.script.answer(200, R"({"versions": [{"groupVersion": "policy/v1beta1"},
      {"groupVersion": "policy/v1"}], "preferredVersion": {"groupVersion": "policy/v1beta1"}})");
    bed.script.answer(201);
    CHECK(bed.evict().result == EvictionResult::kAccepted);
    CHECK(bed.script.calls()[1].path == "/apis/policy");
    CHECK(bed.client.version() == "policy/v1");
  }

  TEST_CASE("discovery is closed to us: v1 is tried") {
    Bed bed;
    bed.script.answer(403);
    bed.script.answer(403);
    bed.script.answer(201);
    CHECK(bed.evict().result == EvictionResult::kAccepted);
    CHECK(bed.client.version() == "policy/v1");
  }

  TEST_CASE("discovery fails: nothing is posted") {
    Bed bed;
    bed.script.fail(Errc::kBusy, "127.0.0.1:6443: connect timed out");
    CHECK(bed.evict().result == EvictionResult::kUnreachable);
    bed.script.answer(500);
    bed.script.answer(503);
    CHECK(bed.evict().result == EvictionResult::kFailed);
    bed.script.answer(200, R"({"resources": 5})");
    bed.script.answer(200, R"({"versions": [{"groupVersion": "policy/v2"}, 7]})");
    const auto none = bed.evict();
    CHECK(none.result == EvictionResult::kFailed);
    CHECK(contains(none.detail, "no version of pods/eviction"));
    for (const auto& call : bed.script.calls()) CHECK(call.method == "GET");
  }

  TEST_CASE("versions out of odd answers") {
    CHECK(eviction_version(json::parse(kCoreResources)) == "policy/v1");
    CHECK(eviction_version(json::parse(kOldCoreResources)) == "policy/v1beta1");
    for (const auto* body : {"null",
                             "[]",
                             R"({"resources": [null, 1, {"name": 2}]})",
                             R"({"resources": [{"name": "pods/eviction"}]})",
                             R"({"resources": [{"name": "pods/eviction", "group": "policy",
                               "version": "v7"}]})"}) {
      CAPTURE(body);
      CHECK(eviction_version(json::parse(body)).empty());
      CHECK(policy_version(json::parse(body)).empty());
    }
  }

  TEST_CASE("no answer is not a refusal; an answer of somebody else is a failure") {
    Bed bed;
    bed.evict_known(201);
    bed.script.fail(Errc::kBusy, "request timed out");
    CHECK(bed.evict().result == EvictionResult::kUnreachable);
    bed.script.fail(Errc::kIo, "connection refused");
    CHECK(bed.evict().result == EvictionResult::kUnreachable);
    bed.script.fail(Errc::kParse, "not JSON: '<html>'");
    CHECK(bed.evict().result == EvictionResult::kFailed);
    bed.script.fail(Errc::kDenied, "no token");
    CHECK(bed.evict().result == EvictionResult::kForbidden);
  }

  TEST_CASE("names that cannot be a pod's never become a path") {
    Bed bed;
    auto bad_ns = target(), bad_name = target(), bad_uid = target();
    bad_ns.ns = "a/b";
    bad_name.name = "../x";
    bad_uid.uid = "";
    for (const auto& what : {bad_ns, bad_name, bad_uid}) {
      CHECK(bed.evict(what).result == EvictionResult::kFailed);
    }
    CHECK(bed.script.calls().empty());
  }
}

TEST_SUITE("k8s/eviction over HTTP") {
  struct Server {
    asio::io_context io;
    SystemClock clock;
    FakeHttpServer http;
    ApiClient api;
    EvictionClient client;

    explicit Server(FakeHttpServer::Script script)
        : http{io.get_executor(), std::move(script)},
          api{io.get_executor(), access(http), options(), clock},
          client{caller_of(api)} {}
    static ApiAccess access(const FakeHttpServer& http) {
      ApiAccess out;
      out.endpoint = http.endpoint();
      return out;
    }
    static ApiClient::Options options() {
      ApiClient::Options out;
      out.http.request_timeout = std::chrono::milliseconds{200};
      return out;
    }
  };

  FakeAnswer text(unsigned status, std::string body, std::string type = "application/json") {
    FakeAnswer out;
    out.status = status;
    out.body = std::move(body);
    out.content_type = std::move(type);
    return out;
  }

  TEST_CASE("an eviction on the wire, and a proxy's HTML page that says 200") {
    bool html = false;
    Server server{FakeHttpServer::answering([&html](const FakeRequest& request) {
      if (request.method == "GET") return text(200, kCoreResources);
      return html ? text(200, "<html>sign in</html>", "text/html")
                  : text(201, R"({"status": "Success"})");
    })};
    CHECK(run(server.io, server.client.evict(target())).result == EvictionResult::kAccepted);
    CHECK(server.http.requests().back().target == "/api/v1/namespaces/jobs/pods/sort-1/eviction");
    CHECK(contains(server.http.requests().back().body, R"("uid":"7712555c-ce62")"));
    html = true;
    const auto answer = run(server.io, server.client.evict(target()));
    CHECK(answer.result == EvictionResult::kFailed);
    CHECK(contains(answer.detail, "<html>"));
  }

  asio::awaitable<void> silent_to_posts(FakeConnection & connection) {
    if (connection.request().method != "GET") {
      co_await connection.silence();
      co_return;
    }
    auto answer = text(200, kCoreResources);
    co_await connection.answer(std::move(answer));
  }

  TEST_CASE("a server that says nothing: unreachable after the time-out") {
    Server server{silent_to_posts};
    CHECK(run(server.io, server.client.evict(target())).result == EvictionResult::kUnreachable);
  }
}
