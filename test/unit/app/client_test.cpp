#include "app/client.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "app/json_path.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

CommandLine command_of(Verb verb, bool json = false) {
  CommandLine out;
  out.verb = verb;
  out.json = json;
  out.pod = "shop/web";
  return out;
}

Ask answering(unsigned status, std::string body) {
  return [status, body = std::move(body)](const std::string&, const std::string&) {
    return Result<net::HttpResponse>{net::HttpResponse{status, "application/json", body}};
  };
}
Ask failing(Error error) {
  return
      [error](const std::string&, const std::string&) { return Result<net::HttpResponse>{error}; };
}

}  // namespace

TEST_SUITE("client") {
  TEST_CASE("no daemon: one line that names the socket, exit 1") {
    for (const Verb verb : {Verb::kStatus, Verb::kPods, Verb::kExplain}) {
      const auto out = run_client(
          command_of(verb), "/run/k.sock", failing({Errc::kNotFound, "connect: no such file"}));
      CHECK(out.exit_code == 1);
      CHECK(out.out.empty());
      CHECK(out.err == "koordlet is not running: no answer on /run/k.sock\n");
    }
    const auto out =
        run_client(command_of(Verb::kStatus), "/run/k.sock", failing({Errc::kDenied, "no rights"}));
    CHECK(out.err == "koordlet is not running: no answer on /run/k.sock (no rights)\n");
  }

  TEST_CASE("each command asks its own address") {
    std::vector<std::string> asked;
    const Ask ask = [&](const std::string& method, const std::string& target) {
      asked.push_back(method + " " + target);
      return Result<net::HttpResponse>{net::HttpResponse{200, "application/json", "{}"}};
    };
    for (const Verb verb : {Verb::kStatus, Verb::kPods, Verb::kExplain}) {
      CHECK(run_client(command_of(verb), "/s", ask).exit_code == 0);
    }
    const std::vector<std::string> want{
        "GET /api/v1/status", "GET /api/v1/pods?limit=1000", "GET /api/v1/explain/shop/web"};
    CHECK(asked == want);
  }

  TEST_CASE("--json prints the body as it came") {
    const auto out = run_client(command_of(Verb::kStatus, true), "/s", answering(200, "{\"a\":1}"));
    CHECK(out.out == "{\"a\":1}\n");
  }

  TEST_CASE("a refusal prints the daemon's reason, exit 1") {
    const auto out = run_client(command_of(Verb::kExplain),
                                "/s",
                                answering(404, R"({"detail": "no pod 'shop/web' on this node"})"));
    CHECK(out.exit_code == 1);
    CHECK(out.err == "koordlet: no pod 'shop/web' on this node\n");
    const auto bare = run_client(command_of(Verb::kStatus), "/s", answering(503, "busy"));
    CHECK(bare.err == "koordlet: the daemon answered 503\n");
  }

  TEST_CASE("an answer that is not JSON is an error, not a crash") {
    const auto out = run_client(command_of(Verb::kStatus), "/s", answering(200, "<html>"));
    CHECK(out.exit_code == 1);
    CHECK(out.err.find("not JSON") != std::string::npos);
  }

  TEST_CASE("pods of several pages are shown as one list") {
    std::vector<std::string> asked;
    const Ask ask = [&](const std::string&, const std::string& target) {
      asked.push_back(target);
      const bool first = asked.size() == 1;
      return Result<net::HttpResponse>{net::HttpResponse{
          200,
          "application/json",
          first ? R"({"continue": "tok", "items": [{"name": "a"}]})"
                : R"({"continue": null, "items": [{"name": "b"}, {"name": "c"}]})"}};
    };
    const auto out = run_client(command_of(Verb::kPods, true), "/s", ask);
    REQUIRE(asked.size() == 2);
    CHECK(asked[1] == "/api/v1/pods?limit=1000&continue=tok");
    const auto body = boost::json::parse(out.out);
    CHECK(json_array(body, "items").size() == 3);
    CHECK(json_integer(body, "total") == 3);
  }

  TEST_CASE("fields are found by path; what is not there is not known") {
    const auto v = boost::json::parse(R"({"a": {"b": 1.5, "c": "x", "d": true, "e": null}})");
    CHECK(json_number(v, "a.b") == 1.5);
    CHECK_FALSE(json_integer(v, "a.b").has_value());
    CHECK(json_text(v, "a.c") == "x");
    CHECK(json_bool(v, "a.d") == true);
    CHECK(json_text(v, "a.e") == "-");
    CHECK(json_text(v, "a.e.f", "?") == "?");
    CHECK(json_array(v, "a").empty());
  }
}
