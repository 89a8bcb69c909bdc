#include "modules/status_api/dashboard.hpp"

#include <set>

#include <doctest/doctest.h>

#include "net/http_text.hpp"
#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;
using status_api::Router;
using status_api::Surface;

namespace {

Router viewless() {
  return Router([]() -> StatusView { throw std::runtime_error("no view"); }, {});
}

net::HttpResponse ask(std::string path, std::string accept = {}, std::string tag = {}) {
  auto request = get(std::move(path));
  request.accept = std::move(accept);
  request.if_none_match = std::move(tag);
  return viewless().handle(request, Surface::kApi);
}

std::string etag_of(const net::HttpResponse& response) {
  const auto at = response.headers.find("ETag: ");
  REQUIRE(at != std::string::npos);
  return response.headers.substr(at + 6, response.headers.find('\r', at) - at - 6);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Values of all src="..." and href="..." of the page.
std::set<std::string> links(const std::string& page) {
  std::set<std::string> out;
  for (const std::string_view attribute : {"src=\"", "href=\""}) {
    for (auto at = page.find(attribute); at != std::string::npos;
         at = page.find(attribute, at + 1)) {
      const auto from = at + attribute.size();
      out.insert(page.substr(from, page.find('"', from) - from));
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("status_api/dashboard") {
  TEST_CASE("the page is what a browser gets at /, the list what asks for plain text") {
    const char* browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (const char* accept : {browser, "", "*/*", "text/plain, text/html"}) {
      CAPTURE(accept);
      const auto page = ask("/", accept);
      CHECK(page.status == 200);
      CHECK(page.content_type == "text/html; charset=utf-8");
      CHECK(has(page.body, "<!doctype html>"));
      CHECK(has(page.headers, "Vary: Accept\r\n"));
    }
    for (const auto& list : {ask("/", "text/plain"), ask("/api"), ask("/api", browser)}) {
      CHECK(list.content_type == "text/plain; charset=utf-8");
      CHECK(has(list.body, "/api/v1/status"));
    }
  }
  TEST_CASE("every file the page names is there, and nothing is asked of another host") {
    const auto page = ask("/");
    const auto named = links(page.body);
    CHECK(named.size() >= 4);
    for (const auto& link : named) {
      CAPTURE(link);
      if (link.starts_with('#') || link == "/api") continue;
      CHECK(link.starts_with("/assets/"));
      CHECK(ask(link).status == 200);
    }
    for (const auto& asset : status_api::dashboard_assets()) {
      CAPTURE(asset.name);
      CHECK_FALSE(asset.body.empty());
      if (asset.name.starts_with("dygraph")) continue;  // names its home in the licence line
      CHECK_FALSE(has(asset.body, "https://"));
    }
  }
  TEST_CASE("no markup is made from text: the page has no inline script, its files no innerHTML") {
    const auto page = ask("/");
    CHECK_FALSE(has(page.body, "<style"));
    CHECK_FALSE(has(page.body, " style="));
    CHECK_FALSE(has(page.body, "<script>"));
    for (const auto& asset : status_api::dashboard_assets()) {
      if (asset.name.starts_with("dygraph")) continue;
      CAPTURE(asset.name);
      for (const char* way : {"innerHTML",
                              "outerHTML",
                              "insertAdjacentHTML",
                              "document.write",
                              "eval(",
                              "javascript:",
                              " onclick="})
        CHECK_FALSE(has(asset.body, way));
    }
  }
  TEST_CASE("page and files carry the policy, with the body and without") {
    for (const char* path : {"/", "/assets/app.js", "/assets/style.css"}) {
      CAPTURE(path);
      const auto whole = ask(path);
      const auto again = ask(path, {}, etag_of(whole));
      CHECK(whole.status == 200);
      CHECK(again.status == 304);
      CHECK(again.body.empty());
      for (const auto& response : {whole, again}) {
        CHECK(response.cache_control == "no-cache");
        CHECK(has(response.headers,
                  "Content-Security-Policy: default-src 'none'; script-src 'self'"));
        CHECK_FALSE(has(response.headers, "unsafe"));
        const auto head = net::response_head(response, true, {});
        CHECK(has(head, "X-Content-Type-Options: nosniff\r\n"));
        CHECK(has(head, "Cache-Control: no-cache\r\n"));
        CHECK(has(head, "ETag: \""));
      }
    }
  }
  TEST_CASE("a tag of other content is answered with the content, a list and * with 304") {
    const auto tag = etag_of(ask("/assets/app.js"));
    CHECK(ask("/assets/app.js", {}, "\"0123456789abcdef\"").status == 200);
    CHECK(ask("/assets/app.js", {}, "\"0123456789abcdef\", W/" + tag).status == 304);
    CHECK(ask("/assets/app.js", {}, "*").status == 304);
    CHECK(etag_of(ask("/assets/style.css")) != tag);
  }
  TEST_CASE("names that are no file are 404, the page under its file name too") {
    for (const char* path :
         {"/assets/nope.js", "/assets/index.html", "/assets/a/app.js", "/app.js"}) {
      CAPTURE(path);
      CHECK(ask(path).status == 404);
    }
  }
}
