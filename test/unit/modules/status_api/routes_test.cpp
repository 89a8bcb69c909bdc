#include <doctest/doctest.h>

#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;
using status_api::Router;
using status_api::Surface;

namespace {

Router make_router(StatusView view, std::vector<Outcome> outcomes = {}) {
  return Router([view = std::move(view)] { return view; },
                [outcomes = std::move(outcomes)] { return outcomes; });
}

StatusView view_v2() { return make_view(CgroupVersion::kV2); }

net::HttpRequest with_method(std::string method, std::string path) {
  auto request = get(std::move(path));
  request.method = std::move(method);
  return request;
}

}  // namespace

TEST_SUITE("status_api/routes") {
  TEST_CASE("healthz answers without asking for a view") {
    Router router([]() -> StatusView { throw std::runtime_error("no view"); }, {});
    const auto response = router.handle(get("/healthz"), Surface::kMetrics);
    CHECK(response.status == 200);
    CHECK(response.body == "ok\n");
    CHECK(response.content_type == "text/plain; charset=utf-8");
  }
  TEST_CASE("readyz is 200 when ready, 503 with each reason when not") {
    auto view = view_v2();
    CHECK(make_router(view).handle(get("/readyz"), Surface::kMetrics).status == 200);
    view.ready = false;
    view.not_ready = {"no node object", "no pods yet"};
    const auto response = make_router(view).handle(get("/readyz"), Surface::kMetrics);
    CHECK(response.status == 503);
    CHECK(response.body == "not ready\nno node object\nno pods yet\n");
  }
  TEST_CASE("an unknown path is 404 and named; its text cannot break the JSON") {
    auto router = make_router(view_v2());
    const auto response = router.handle(get("/api/v1/\"x\\\xFF"), Surface::kApi);
    CHECK(response.status == 404);
    CHECK(response.content_type == "application/problem+json");
    const auto body = json::parse(response.body).as_object();
    CHECK(body.at("status").as_int64() == 404);
    CHECK(text(body.at("detail")).find("/api/v1/\"x\\\xEF\xBF\xBD") != std::string::npos);
  }
  TEST_CASE("near misses are 404: trailing slash, prefix, longer pod path") {
    auto router = make_router(view_v2());
    for (const char* path : {"/api/v1/pods/",
                             "/api/v1/podsx",
                             "/api/v1/status/",
                             "/api/v1/explain",
                             "/api/v1/explain/",
                             "/api/v1",
                             "/assets",
                             "/api/v1/pods/be-1/x"}) {
      CAPTURE(path);
      CHECK(router.handle(get(path), Surface::kApi).status == 404);
    }
  }
  TEST_CASE("a wrong method is 405 and the right one is named") {
    auto router = make_router(view_v2());
    for (const char* path : {"/", "/healthz", "/metrics", "/api/v1/status", "/api/v1/pods/be-1"}) {
      CAPTURE(path);
      const auto response = router.handle(with_method("POST", path), Surface::kApi);
      CHECK(response.status == 405);
      CHECK(response.body.find("expected GET") != std::string::npos);
    }
    const auto restore = router.handle(get("/api/v1/restore"), Surface::kApi);
    CHECK(restore.status == 405);
    CHECK(restore.body.find("expected POST") != std::string::npos);
  }
  TEST_CASE("HEAD is answered like GET, but never runs a restore") {
    auto router = make_router(view_v2());
    CHECK(router.handle(with_method("HEAD", "/healthz"), Surface::kMetrics).status == 200);
    CHECK(router.handle(with_method("HEAD", "/api/v1/nope"), Surface::kApi).status == 404);
    auto restore = with_method("HEAD", "/api/v1/restore");
    restore.unix_socket = true;
    CHECK(router.handle(restore, Surface::kApi).status == 405);
  }
  TEST_CASE("the metrics listener serves three paths only") {
    auto router = make_router(view_v2());
    for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
      CAPTURE(path);
      CHECK(router.handle(get(path), Surface::kMetrics).status == 200);
      CHECK(router.handle(get(path), Surface::kApi).status == 200);
    }
    for (const char* path :
         {"/", "/api", "/assets/app.js", "/api/v1/status", "/api/v1/pods", "/api/v1/restore"}) {
      CAPTURE(path);
      CHECK(router.handle(get(path), Surface::kMetrics).status == 404);
    }
  }
  TEST_CASE("restore runs over the unix socket and is refused over TCP") {
    int runs = 0;
    Outcome back;
    back.key = {path("kubepods/besteffort"), CgroupFile::kCpuMax};
    back.kind = OutcomeKind::kWritten;
    back.value = "max 100000";
    Outcome bad = back;
    bad.key.file = CgroupFile::kCpuset;
    bad.kind = OutcomeKind::kRefused;
    bad.value = "0-3";
    bad.error = "cpuset.cpus: write '0-3': Invalid argument";
    Router router([] { return StatusView{}; },
                  [&] {
                    ++runs;
                    return std::vector<Outcome>{back, bad};
                  });
    auto request = with_method("POST", "/api/v1/restore");
    CHECK(router.handle(request, Surface::kApi).status == 403);
    CHECK(runs == 0);
    request.unix_socket = true;
    const auto response = router.handle(request, Surface::kApi);
    CHECK(response.status == 200);
    CHECK(runs == 1);
    const auto body = json::parse(response.body).as_object();
    CHECK(body.at("files").as_int64() == 2);
    CHECK(body.at("failed").as_int64() == 1);
    const auto& first = body.at("outcomes").as_array().at(0).as_object();
    CHECK(text(first.at("kind")) == "written");
    CHECK(first.at("error").is_null());
    CHECK(text(body.at("outcomes").as_array().at(1).at("error")) == bad.error);
  }
  TEST_CASE("the index names every endpoint") {
    const auto response = make_router(view_v2()).handle(get("/api"), Surface::kApi);
    CHECK(response.content_type == "text/plain; charset=utf-8");
    for (const char* path : {"/healthz",
                             "/readyz",
                             "/metrics",
                             "/api/v1/status",
                             "/api/v1/node",
                             "/api/v1/pods",
                             "/api/v1/qos",
                             "/api/v1/explain/",
                             "/api/v1/executor",
                             "/api/v1/recorder",
                             "/api/v1/config",
                             "/api/v1/capabilities",
                             "/api/v1/restore"}) {
      CAPTURE(path);
      CHECK(response.body.find(path) != std::string::npos);
    }
  }
  TEST_CASE("a parameter an endpoint does not know is 400, scrapers' parameters are ignored") {
    auto router = make_router(view_v2());
    const auto response = router.handle(get("/api/v1/status", "verbose=1"), Surface::kApi);
    CHECK(response.status == 400);
    CHECK(response.body.find("'verbose'") != std::string::npos);
    CHECK(router.handle(get("/metrics", "collect[]=x"), Surface::kMetrics).status == 200);
    CHECK(router.handle(get("/healthz", "a=%zz"), Surface::kMetrics).status == 200);
  }
  TEST_CASE("a view that cannot be made is 500, not the end of the loop") {
    Router router([]() -> StatusView { throw std::runtime_error("store is away"); }, {});
    const auto response = router.handle(get("/api/v1/status"), Surface::kApi);
    CHECK(response.status == 500);
    CHECK(response.body.find("store is away") != std::string::npos);
  }
}
