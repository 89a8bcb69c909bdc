#include "k8s/api_client.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "api_bed.hpp"
#include "k8s/token_source.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"

using namespace koordlet;
using namespace std::chrono_literals;
using k8s::ApiAnswer;
using k8s::ApiCall;
using k8s::ApiClient;
using test::ApiBed;
using test::FakeAnswer;

namespace asio = boost::asio;

namespace {

Result<ApiAnswer> get(ApiBed& bed, ApiClient& api, const std::string& path) {
  ApiCall call;
  call.path = path;
  return test::run(bed.io, api.call(std::move(call)));
}

Result<ApiAnswer> send(ApiBed& bed,
                       ApiClient& api,
                       const std::string& method,
                       const std::string& path,
                       const std::string& body) {
  ApiCall call;
  call.method = method;
  call.path = path;
  call.body = boost::json::parse(body);
  return test::run(bed.io, api.call(std::move(call)));
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/api_client") {
  TEST_CASE("an object is read over TLS with the token and a clear Accept") {
    ApiBed bed;
    bed.server.put("/api/v1/pods", test::pod_text("p"));
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    const auto answer = get(bed, api, "/api/v1/namespaces/d/pods/p");
    REQUIRE(answer.has_value());
    CHECK(answer->status == 200);
    CHECK(answer->body.at("metadata").at("name") == "p");
    const auto& request = bed.server.http().requests().at(0);
    CHECK(request.header("Authorization") == "Bearer first");
    CHECK(request.header("Accept") == "application/json");
    CHECK(request.header("User-Agent") == "koordlet");
    CHECK(api.health().fault.empty());
    CHECK(api.health().calls == 1);
    CHECK(api.health().last_ok > MonoTime{});
  }

  TEST_CASE("row 31: two answers on one connection, each with a parser of its own") {
    ApiBed bed;
    bed.server.put("/api/v1/pods", test::pod_text("p"));
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    for (int i = 0; i < 2; ++i) {
      const auto answer = get(bed, api, "/api/v1/namespaces/d/pods/p");
      REQUIRE(answer.has_value());
      CHECK(answer->ok());
    }
    CHECK(bed.server.http().accepted() == 1);
  }

  TEST_CASE("objects are made, changed, merged and deleted; a refusal is an answer") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    const std::string nodes = "/api/v1/nodes";
    const std::string body = R"({"metadata":{"name":"n1"},"spec":{"a":1}})";
    CHECK(send(bed, api, "POST", nodes, body)->status == 201);
    const auto again = send(bed, api, "POST", nodes, body);
    REQUIRE(again.has_value());
    CHECK(again->status == 409);
    CHECK(again->reason() == "AlreadyExists");
    CHECK(again->problem() == "409 Conflict (reason AlreadyExists): n1 already exists");
    CHECK(api.health().fault.empty());
    const auto stale =
        send(bed, api, "PUT", nodes + "/n1", R"({"metadata":{"name":"n1","resourceVersion":"1"}})");
    CHECK(stale->reason() == "Conflict");
    const auto patched =
        send(bed, api, "PATCH", nodes + "/n1/status", R"({"status":{"x":2},"spec":null})");
    REQUIRE(patched->ok());
    CHECK(patched->body.at("status").at("x") == 2);
    CHECK(patched->body.at("spec").at("a") == 1);
    ApiCall remove;
    remove.method = "DELETE";
    remove.path = nodes + "/n1";
    CHECK(test::run(bed.io, api.call(remove))->ok());
    CHECK(get(bed, api, nodes + "/n1")->status == 404);
  }

  TEST_CASE("the base path of the server URL comes before every path") {
    ApiBed bed;
    auto access = bed.access();
    access.base_path = "/k8s/c1";
    bed.server.answer("GET", "/k8s/c1/version", FakeAnswer{200, "{}"});
    ApiClient api{bed.io.get_executor(), access, ApiBed::patient(), bed.clock};
    CHECK(get(bed, api, "/version")->ok());
    CHECK(has(api.server(), "/k8s/c1"));
  }

  TEST_CASE("a rotated token is read at once on 401, and the call repeated") {
    ApiBed bed;
    bed.server.put("/api/v1/pods", test::pod_text("p"));
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    CHECK(get(bed, api, "/api/v1/namespaces/d/pods/p")->ok());
    bed.server.set_token("second");
    bed.tree.write("token", "second\n");
    CHECK(get(bed, api, "/api/v1/namespaces/d/pods/p")->ok());
    CHECK(api.health().unauthorized == 1);
    CHECK(bed.server.http().requests().size() == 3);
  }

  TEST_CASE("an expired token whose file is the same as before is not tried twice") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    bed.server.set_token("other");
    const auto answer = get(bed, api, "/api/v1/pods");
    REQUIRE(answer.has_value());
    CHECK(answer->status == 401);
    CHECK(bed.server.http().requests().size() == 1);
    CHECK(has(api.health().fault, "401 Unauthorized"));
    CHECK(api.health().last_ok == MonoTime{});
  }

  TEST_CASE("a token file that goes away leaves the last token; none at all is kDenied") {
    ApiBed bed;
    auto options = ApiBed::patient();
    options.token_reread = 0s;
    ApiClient api{bed.io.get_executor(), bed.access(), options, bed.clock};
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    bed.tree.remove("token");
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    CHECK(has(api.health().fault, "token"));
    ApiClient fresh{bed.io.get_executor(), bed.access(), options, bed.clock};
    CHECK(fresh.open().error().code == Errc::kDenied);
    CHECK(get(bed, fresh, "/api/v1/pods").error().code == Errc::kDenied);
  }

  TEST_CASE("429 with a short Retry-After is waited out once, a long one is returned") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    FakeAnswer busy = test::api_status(429, "TooManyRequests", "later");
    busy.headers = {{"Retry-After", "0"}};
    bed.server.answer("GET", "/api/v1/pods", busy);
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    CHECK(api.health().throttled == 1);
    bed.server.answer("GET", "/api/v1/pods", busy, 2);
    CHECK(get(bed, api, "/api/v1/pods")->status == 429);
    busy.headers = {{"Retry-After", "3600"}};
    bed.server.answer("GET", "/api/v1/pods", busy);
    const auto answer = get(bed, api, "/api/v1/pods");
    CHECK(answer->status == 429);
    CHECK(answer->retry_after == 3600s);
    CHECK(has(answer->problem(), "later"));
  }

  TEST_CASE("a token never goes out without TLS") {
    ApiBed bed;
    for (const bool file : {false, true}) {
      auto access = bed.access();
      access.endpoint.tls = false;
      access.token = file ? "" : "secret-token-text";
      access.token_file = file ? access.token_file : "";
      if (file && access.token_file.empty()) access.token_file = "/nowhere";
      ApiClient api{bed.io.get_executor(), access, ApiBed::patient(), bed.clock};
      const auto opened = api.open();
      REQUIRE(opened.has_error());
      CHECK(opened.error().code == Errc::kDenied);
      CHECK(has(opened.error().context, "expected https"));
      CHECK_FALSE(has(opened.error().context, "secret-token-text"));
    }
  }

  TEST_CASE(
      "a server that sends the request's headers back does not bring the token into a message") {
    ApiBed bed;
    auto access = bed.access();
    access.token = "secret-token-text";
    access.token_file.clear();
    bed.server.set_token("secret-token-text");
    ApiClient api{bed.io.get_executor(), access, ApiBed::patient(), bed.clock};
    const std::string echo = "<pre>Authorization: Bearer secret-token-text</pre>";
    bed.server.answer("GET", "/api/v1/pods", FakeAnswer{500, echo, "text/html"});
    const auto refused = get(bed, api, "/api/v1/pods");
    REQUIRE(refused.has_value());
    CHECK(has(refused->problem(), "Bearer ***<"));
    CHECK_FALSE(has(api.health().fault, "secret-token"));
    bed.server.answer("GET", "/api/v1/pods", FakeAnswer{200, echo, "text/html"});
    const auto damaged = get(bed, api, "/api/v1/pods");
    REQUIRE(damaged.has_error());
    CHECK_FALSE(has(damaged.error().context, "secret-token"));
    std::string cut = "Bearer secret-token-tex";  // as a message of bounded length ends
    api.hide_token(cut);
    CHECK(cut == "Bearer ***");
  }

  TEST_CASE("a call that must be thought over is not made again by itself") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    FakeAnswer busy = test::api_status(429, "TooManyRequests", "later");
    busy.headers = {{"Retry-After", "0"}};
    bed.server.answer("POST", "/api/v1/namespaces/d/pods/p/eviction", busy);
    k8s::ApiCall call;
    call.method = "POST";
    call.path = "/api/v1/namespaces/d/pods/p/eviction";
    call.wait_out_retry_after = false;
    CHECK(test::run(bed.io, api.call(std::move(call)))->status == 429);
    CHECK(bed.server.count("POST", "/api/v1/namespaces/d/pods/p/eviction") == 1);
  }

  TEST_CASE("HTML, half a JSON and invalid UTF-8 with 200 are kParse and show what came") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    struct Row {
      std::string body, shown;
    };
    for (const Row& row : {Row{"<html><b>Log in</b></html>", "'<html><b>Log in"},
                           Row{"{\"kind\":\"PodList\",\"items\":[{", "{\"kind\""},
                           Row{"{\"a\":\"\xc3\x28\"}", "{\"a\":\"?(\"}"}}) {
      CAPTURE(row.shown);
      bed.server.answer("GET", "/api/v1/pods", FakeAnswer{200, row.body});
      const auto answer = get(bed, api, "/api/v1/pods");
      REQUIRE(answer.has_error());
      CHECK(answer.error().code == Errc::kParse);
      CHECK(has(answer.error().context, row.shown));
      CHECK(has(answer.error().context, "200 OK"));
    }
    CHECK(api.health().failures == 3);
  }

  TEST_CASE("a refusal in plain text keeps its status") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    const auto answer = get(bed, api, "/apis/policy/v1");
    REQUIRE(answer.has_value());
    CHECK(answer->status == 404);
    CHECK(answer->reason().empty());
    CHECK(has(answer->problem(), "404 page not found"));
  }

  TEST_CASE("a wrong CA and a wrong name are errors of the certificate; the token is not sent") {
    ApiBed bed;
    const test::TestCa other{"other"};
    bed.tree.write("other.crt", other.pem());
    auto wrong_ca = bed.access();
    wrong_ca.ca_file = bed.tree.path("other.crt");
    auto wrong_name = bed.access();
    wrong_name.endpoint.server_name = "kubernetes.default.svc";
    for (const auto& access : {wrong_ca, wrong_name}) {
      ApiClient api{bed.io.get_executor(), access, ApiBed::patient(), bed.clock};
      const auto answer = get(bed, api, "/api/v1/pods");
      REQUIRE(answer.has_error());
      CHECK(answer.error().code == Errc::kIo);
      CHECK(has(answer.error().context, "certificate"));
      CHECK(api.health().failures == 1);
    }
    CHECK(bed.server.http().requests().empty());
  }

  TEST_CASE("a CA that is replaced on disk is used; a broken one leaves the old and is shown") {
    ApiBed bed;
    auto options = ApiBed::patient();
    options.token_reread = 0s;
    ApiClient api{bed.io.get_executor(), bed.access(), options, bed.clock};
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    bed.tree.write("ca.crt", "half a certif");
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    CHECK(has(api.health().fault, "ca"));
    const test::TestCa next{"next"};
    bed.server.http().set_tls(test::FakeHttpServer::Tls{next.server()});
    bed.server.http().drop_connections();
    CHECK(get(bed, api, "/api/v1/pods").has_error());
    bed.tree.write("ca.crt", next.pem());
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    CHECK(api.health().fault.empty());
  }

  TEST_CASE("a client certificate from the kubeconfig's data is shown to the server") {
    ApiBed bed;
    bed.server.http().set_tls(test::FakeHttpServer::Tls{bed.ca.server(), bed.ca.pem()});
    bed.server.set_token("");
    const auto client = bed.ca.client("system:node:n1");
    auto access = bed.access();
    access.token_file.clear();
    access.cert_pem = client.cert_pem;
    access.key_pem = client.key_pem;
    ApiClient api{bed.io.get_executor(), access, ApiBed::patient(), bed.clock};
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    CHECK(bed.server.http().requests().at(0).client_subject == "system:node:n1");
    CHECK(bed.server.http().requests().at(0).header("Authorization").empty());
  }

  TEST_CASE("a server that never answers ends in kBusy") {
    ApiBed bed;
    auto options = ApiBed::patient();
    options.http.request_timeout = 30ms;
    bed.server.on("GET", "/api/v1/pods", [](test::FakeConnection& c) -> asio::awaitable<bool> {
      co_await c.silence();
      co_return true;
    });
    ApiClient api{bed.io.get_executor(), bed.access(), options, bed.clock};
    CHECK(get(bed, api, "/api/v1/pods").error().code == Errc::kBusy);
  }

  TEST_CASE("a server clock ten minutes off is shown and changes nothing") {
    ApiBed bed;
    const koordlet::test::ManualClock clock;  // wall: Tue, 14 Nov 2023 22:13:20 GMT
    bed.server.answer(
        "GET",
        "/api/v1/pods",
        FakeAnswer{200, "{}", "application/json", {{"Date", "Tue, 14 Nov 2023 22:23:20 GMT"}}});
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), clock};
    CHECK(get(bed, api, "/api/v1/pods")->ok());
    CHECK(api.health().clock_skew == 600'000ms);
    CHECK(api.health().fault.empty());
  }

  TEST_CASE("a path that is not escaped is refused before anything is sent") {
    ApiBed bed;
    ApiClient api{bed.io.get_executor(), bed.access(), ApiBed::patient(), bed.clock};
    for (const char* path : {"", "api", "/a b", "/a\r\nX: y", "/\xff"}) {
      CAPTURE(path);
      CHECK(get(bed, api, path).error().code == Errc::kInvalid);
    }
    CHECK(bed.server.http().requests().empty());
  }

  TEST_CASE("escape leaves the unreserved characters only") {
    CHECK(k8s::escape("aZ09-._~") == "aZ09-._~");
    CHECK(k8s::escape("a b/c=d&\xc3\xa4%") == "a%20b%2Fc%3Dd%26%C3%A4%25");
  }

  TEST_CASE("a problem is printable and at most 300 bytes long") {
    ApiAnswer answer;
    answer.status = 500;
    answer.body =
        boost::json::parse(R"({"reason":"X","message":"a\n)" + std::string(1000, 'b') + "\"}");
    CHECK(answer.problem().size() <= 303);
    CHECK(has(answer.problem(), "500 Internal Server Error (reason X): a?bbb"));
  }
}

TEST_SUITE("k8s/token_source") {
  TEST_CASE("a token is trimmed, and told when it changed") {
    const test::FakeTree tree{{"token", " abc.def \n"}};
    k8s::TokenSource token{tree.path("token"), "fixed"};
    CHECK(token.refresh().value());
    CHECK(token.token() == "abc.def");
    CHECK_FALSE(token.refresh().value());
    tree.write("token", "next");
    CHECK(token.refresh().value());
    CHECK(token.token() == "next");
  }

  TEST_CASE("an unusable file is kDenied, keeps the last token and never shows its text") {
    const test::FakeTree tree{{"token", "good"}};
    k8s::TokenSource token{tree.path("token"), ""};
    CHECK(token.refresh().has_value());
    for (const std::string& text : {std::string{},
                                    std::string{" \n"},
                                    std::string{"secret\r\nX: y"},
                                    std::string{"secret\x01"},
                                    std::string(70'000, 's')}) {
      tree.write("token", text);
      const auto fresh = token.refresh();
      REQUIRE(fresh.has_error());
      CHECK(fresh.error().code == Errc::kDenied);
      CHECK_FALSE(has(fresh.error().context, "secret"));
      CHECK(token.token() == "good");
    }
  }

  TEST_CASE("a fixed token needs no file, and a bad one is refused") {
    k8s::TokenSource fixed{"", "abc"};
    CHECK(fixed.refresh().has_value());
    CHECK(fixed.token() == "abc");
    k8s::TokenSource bad{"", "a\nb"};
    CHECK(bad.refresh().has_error());
    k8s::TokenSource none;
    CHECK(none.refresh().has_value());
  }
}
