#include <string>

#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "k8s/manifest.hpp"
#include "k8s/yaml_reader.hpp"

using namespace koordlet;
using namespace koordlet::k8s;
namespace json = boost::json;

namespace {

std::string as_json(std::string_view text) {
  const auto documents = parse_documents(text);
  if (!documents) return "error: " + documents.error().context;
  std::string out;
  for (const auto& d : *documents) out += (out.empty() ? "" : " ") + json::serialize(d);
  return out;
}

std::string error_of(std::string_view text) {
  const auto documents = parse_documents(text);
  REQUIRE(documents.has_error());
  return documents.error().context;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/documents") {
  TEST_CASE("unquoted scalars follow the core schema, quoted ones stay text") {
    struct Case {
      const char* yaml;
      const char* want;
    };
    for (const auto& c : {Case{"true", "true"},
                          Case{"False", "false"},
                          Case{"null", "null"},
                          Case{"~", "null"},
                          Case{"", "null"},
                          Case{"12", "12"},
                          Case{"-7", "-7"},
                          Case{"+7", "7"},
                          Case{"0x1F", "31"},
                          Case{"0o17", "15"},
                          Case{"18446744073709551615", "18446744073709551615"},
                          Case{"0.5", "5E-1"},
                          Case{".5", "5E-1"},
                          Case{"1e3", "1E3"},
                          Case{"yes", "\"yes\""},
                          Case{"on", "\"on\""},
                          Case{"0x", "\"0x\""},
                          Case{"0x-1", "\"0x-1\""},
                          Case{".nan", "\".nan\""},
                          Case{".inf", "\".inf\""},
                          Case{"1e999", "\"1e999\""},
                          Case{"500m", "\"500m\""},
                          Case{"1.2.3", "\"1.2.3\""},
                          Case{"-", "\"-\""},
                          Case{".", "\".\""},
                          Case{"2026-07-24T06:52:45Z", "\"2026-07-24T06:52:45Z\""}}) {
      CAPTURE(c.yaml);
      CHECK(json::serialize(resolve_scalar(c.yaml)) == c.want);
    }
    CHECK(as_json("a: \"true\"\nb: '12'\nc: |-\n  1\nd: !!str 5\ne: ! 6\n") ==
          R"({"a":"true","b":"12","c":"1","d":"5","e":"6"})");
    CHECK(as_json("a: {b: [1, two, null]}\n3: x\ntrue: y\n") ==
          R"({"a":{"b":[1,"two",null]},"3":"x","true":"y"})");
  }

  TEST_CASE("several documents, empty ones left out") {
    CHECK(as_json("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n") == R"({"a":1} {"b":2})");
    for (const char* nothing : {"", " \n", "# only a comment\n", "---\n", "---\n~\n"}) {
      CAPTURE(nothing);
      const auto r = parse_documents(nothing);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kNotFound);
    }
    CHECK(as_json("\xEF\xBB\xBF"
                  "a: 1\n") == R"({"a":1})");
  }

  TEST_CASE("the first byte tells JSON, and JSON values may follow each other") {
    CHECK(as_json("\n {\"a\": \"1\"}\n") == R"({"a":"1"})");
    CHECK(as_json("{\"a\":1}\n{\"b\":2}") == R"({"a":1} {"b":2})");
    CHECK(as_json("[{\"a\":1},{\"b\":2}]") == R"({"a":1} {"b":2})");
    CHECK(contains(error_of("{\"a\":1,\n \"b\": tru}"), "line 2"));
    CHECK(contains(error_of("{\"a\": 1"), "line 1"));
    CHECK(contains(error_of("{\"a\": 1} x"), "line 1"));
  }

  TEST_CASE("lists become their items, which inherit version and kind") {
    CHECK(as_json("kind: List\napiVersion: v1\nitems:\n- {kind: Pod, apiVersion: v1}\n- {kind: "
                  "Node}\n") == R"({"kind":"Pod","apiVersion":"v1"} {"kind":"Node"})");
    CHECK(as_json(R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{}}]})") ==
          R"({"metadata":{},"kind":"Pod","apiVersion":"v1"})");
    CHECK(as_json(R"({"kind":"PodList","apiVersion":"v1","items":[]})").empty());
    CHECK(as_json(R"({"kind":"PodList","apiVersion":"v1","items":null})").empty());
    CHECK(contains(error_of(R"({"kind":"List","items":{}})"), "items"));
    CHECK(contains(error_of(R"({"kind":"List","items":[1]})"), "items"));
  }

  TEST_CASE("what is not YAML is an error with its line") {
    CHECK(contains(error_of("a: 1\nb: [1, 2\nc: 3\n"), "line "));
    CHECK(contains(error_of("a: 1\n\tb: 2\n"), "line 2"));
    CHECK(contains(error_of("a: b: c\n"), "line 1"));
    CHECK(contains(error_of("a: 1\nb: 2\na: 3\n"), "line 3: key 'a' stands twice"));
    CHECK(contains(error_of("a: *nowhere\n"), "line 1"));
    CHECK(contains(error_of("? [a]\n: 1\n"), "line 1"));
    CHECK(contains(error_of("a: !custom 1\n"), "not supported"));
    CHECK(contains(error_of("just text\n"), "expected an object"));
    // yaml-cpp would stop here without a word, and the pods below would be lost.
    CHECK(contains(error_of("a: 1\n\x04\nb: 2\n"), "line 2: control byte 0x04"));
    CHECK(contains(error_of(std::string_view{"a: 1\nb: \0", 9}), "line 2: control byte 0x00"));
  }

  TEST_CASE("stray marks end in an error, not in endless empty documents") {
    for (const char* stray : {", a: 1\n", "] a\n", "a: 1\n}\n", "}\n", "a: 1\n---\n, b\n", ","}) {
      CAPTURE(stray);
      CHECK(contains(error_of(stray), "line "));
    }
  }

  TEST_CASE("depth is bounded at 64 in both forms") {
    const auto nested = [](int depth, const char* open, const char* close) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += open;
      text += "1";
      for (int i = 0; i < depth; ++i) text += close;
      return text;
    };
    CHECK(parse_documents("a: " + nested(63, "[", "]")).has_value());
    CHECK(parse_documents("a: " + nested(64, "[", "]")).has_error());
    CHECK(parse_documents("a: " + nested(100000, "[", "]")).has_error());
    CHECK(parse_documents("{\"a\":" + nested(63, "[", "]") + "}").has_value());
    CHECK(parse_documents("{\"a\":" + nested(64, "[", "]") + "}").has_error());
    CHECK(parse_documents(nested(100000, "{\"a\":", "}")).has_error());
  }

  TEST_CASE("anchors and merge keys work, alias bombs are refused") {
    CHECK(as_json("a: &x {k: 1, l: 2}\nb: *x\nc: {<<: *x, k: 3}\n") ==
          R"({"a":{"k":1,"l":2},"b":{"k":1,"l":2},"c":{"k":3,"l":2}})");
    CHECK(as_json("a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}\n") ==
          R"({"a":{"k":1},"b":{"k":2,"m":3},"c":{"k":1,"m":3}})");
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
      bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
      for (int k = 0; k < 10; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
      bomb += "]\n";
    }
    CHECK(contains(error_of(bomb), "aliases expand to more than 1000 nodes"));
    CHECK(contains(error_of("a: &a [*a]\n"), "line 1"));
    // An alias must not smuggle in depth either: 40 + 40 levels.
    const std::string deep = std::string(40, '[') + std::string(40, ']');
    CHECK(contains(error_of("a: &x " + deep + "\nb: " + std::string(40, '[') + "*x" +
                            std::string(40, ']') + "\n"),
                   "deeper than 64"));
  }

  TEST_CASE("a text over the bound is refused before it is read") {
    const std::string large = "{\"a\":1}" + std::string(93, ' ');
    const auto r = parse_documents(large, 99);
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kRange);
    CHECK(parse_documents(large, 100).has_value());
  }

  TEST_CASE("object_type needs both words") {
    CHECK(object_type(json::value{{"apiVersion", "v1"}, {"kind", "Pod"}}) == "v1/Pod");
    CHECK(object_type(json::value{{"kind", "Pod"}}).empty());
    CHECK(object_type(json::value{{"apiVersion", 1}, {"kind", "Pod"}}).empty());
    CHECK(object_type(json::value{nullptr}).empty());
  }
}
