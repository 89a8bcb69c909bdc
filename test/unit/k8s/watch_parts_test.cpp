#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "k8s/line_splitter.hpp"
#include "k8s/list_page.hpp"
#include "k8s/paced_json.hpp"
#include "k8s/refusal.hpp"
#include "support/async.hpp"

using namespace koordlet;
using namespace koordlet::k8s;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Lines of a text that comes in pieces of `size` bytes.
std::vector<std::string> lines_of(std::string_view text, std::size_t size, std::size_t max_line) {
  LineSplitter lines{max_line};
  std::vector<std::string> out;
  while (!text.empty()) {
    lines.add(std::string{text.substr(0, size)});
    text.remove_prefix(std::min(size, text.size()));
    for (;;) {
      const auto line = lines.next();
      if (!line) return {line.error().context};
      if (!*line) break;
      out.emplace_back(**line);
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("k8s/line_splitter") {
  TEST_CASE("lines come out whole however the bytes are cut") {
    const std::vector<std::string> want{"{\"a\":1}", "bc", "d"};
    for (const std::size_t size : {1u, 2u, 3u, 5u, 100u}) {
      CAPTURE(size);
      CHECK(lines_of("{\"a\":1}\nbc\r\n\n  \nd\nhalf", size, 10) == want);
    }
  }

  TEST_CASE("bytes without a line end are left, and told") {
    LineSplitter lines{100};
    lines.add("one\ntw");
    CHECK(lines.next().value() == "one");
    CHECK_FALSE(lines.next().value().has_value());
    CHECK(lines.left() == 2);
    lines.add("o\n");
    CHECK(lines.next().value() == "two");
    CHECK(lines.left() == 0);
  }

  TEST_CASE("a line of the bound passes, a longer one is kRange, ended or not") {
    CHECK(lines_of("12345\n", 3, 5) == std::vector<std::string>{"12345"});
    for (const char* text : {"123456\n", "123456"}) {
      LineSplitter lines{5};
      lines.add(text);
      const auto line = lines.next();
      REQUIRE(line.has_error());
      CHECK(line.error().code == Errc::kRange);
    }
  }
}

TEST_SUITE("k8s/list_page") {
  TEST_CASE("items get the kind of their list") {
    auto page = take_page(json::parse(R"({"kind":"PodList","apiVersion":"v1",
      "metadata":{"resourceVersion":"5","continue":"t"},"items":[{"metadata":{"name":"a"}}]})"));
    REQUIRE(page.has_value());
    CHECK(page->resource_version == "5");
    CHECK(page->continue_token == "t");
    REQUIRE(page->items.size() == 1);
    give_type(page->items[0], *page);
    CHECK(page->items[0].at("kind") == "Pod");
    CHECK(page->items[0].at("apiVersion") == "v1");
  }

  TEST_CASE("null items are an empty list") {
    const auto page = take_page(json::parse(R"({"kind":"PodList","items":null})"));
    REQUIRE(page.has_value());
    CHECK(page->items.empty());
    CHECK(page->resource_version.empty());
  }

  TEST_CASE("what is no list is an error, never an empty one") {
    for (const char* text : {"[]",
                             "1",
                             "{}",
                             R"({"kind":"Pod","items":[]})",
                             R"({"kind":"Status","code":200})",
                             R"({"kind":"PodList","items":{}})",
                             R"({"kind":"PodList","items":[1]})",
                             R"({"kind":"PodList","items":[null]})"}) {
      CAPTURE(text);
      const auto page = take_page(json::parse(text));
      REQUIRE(page.has_error());
      CHECK(page.error().code == Errc::kParse);
    }
  }
}

TEST_SUITE("k8s/refusal") {
  TEST_CASE("a Status without an HTTP status brings its own code and wait") {
    const auto refusal =
        read_refusal(0,
                     json::parse(R"({"code":429,"reason":"TooManyRequests","message":"later",
                        "details":{"retryAfterSeconds":4}})"),
                     std::nullopt);
    CHECK(refusal.status == 429);
    CHECK(refusal.retry_after == 4s);
    CHECK(refusal.text == "429 Too Many Requests (reason TooManyRequests): later");
  }

  TEST_CASE("odd bodies of a refusal leave the status") {
    for (const char* text :
         {"null", "1", "[]", R"("text")", R"({"code":"x","details":{"causes":[1]}})"}) {
      CAPTURE(text);
      const auto refusal = read_refusal(503, json::parse(text), 2s);
      CHECK(refusal.status == 503);
      CHECK(refusal.retry_after == 2s);
      CHECK_FALSE(refusal.expired);
      CHECK_FALSE(refusal.version_too_large);
    }
  }
}

TEST_SUITE("k8s/paced_json") {
  TEST_CASE("a text in pieces is one value") {
    JsonFeed feed;
    CHECK(feed.feed("{\"a\":[1,").has_value());
    CHECK(feed.feed("2]}\n").has_value());
    CHECK(feed.finish().value() == json::parse(R"({"a":[1,2]})"));
  }

  TEST_CASE("truncated, foreign, doubled, not UTF-8 and too deep texts are refused") {
    const std::string deep(100, '[');
    for (const std::string& text : {std::string{"{\"a\":"},
                                    std::string{"<html>"},
                                    std::string{"{}{}"},
                                    std::string{"{\"a\":\"\xff\xfe\"}"},
                                    deep,
                                    std::string{}}) {
      CAPTURE(text);
      JsonFeed feed;
      const auto fed = feed.feed(text);
      const bool good = fed && feed.finish();
      CHECK_FALSE(good);
    }
  }

  TEST_CASE("a long text gives the loop a turn whenever a slice is used up") {
    asio::io_context io;
    const SystemClock clock;
    const std::string text = "[\"" + std::string(200'000, 'x') + "\"]";
    for (const bool used_up : {true, false}) {
      CAPTURE(used_up);
      Pace pace{io.get_executor(), clock, used_up ? 0ms : 3'600'000ms};
      int turns = 0;
      bool parsed = false;
      std::function<void()> turn = [&] {
        ++turns;
        if (!parsed) asio::post(io, turn);
      };
      asio::post(io, turn);
      const auto value = test::run(io, parse_paced(text, pace));
      parsed = true;
      io.restart();
      io.run();
      CHECK(value.has_value());
      // 200 kB are thirteen pieces.
      CHECK((turns > 12) == used_up);
    }
  }
}
