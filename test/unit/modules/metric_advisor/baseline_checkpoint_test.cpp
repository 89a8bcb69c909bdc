#include "modules/metric_advisor/baseline_checkpoint.hpp"

#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace koordlet;
using policy::Baseline;
using policy::BaselineTable;

namespace {

Baseline learned(std::initializer_list<double> values, std::int64_t day) {
  Baseline out;
  for (const double v : values) out.learn(v, day);
  return out;
}

/// One entry with its fields replaceable one by one.
struct Entry {
  std::string owner = R"("o")", container = R"("c")", model = R"("m")";
  std::string weight = R"("3")", mean = R"("1.5")", m2 = R"("0.5")", samples = "4", day = "20000";
  std::string llc = R"({"weight":"0","mean":"0","m2":"0","samples":0,"day":0})";
  std::string text() const {
    return fmt::format(
        R"({{"owner":{},"container":{},"cpu_model":{},"cpi":{{"weight":{},"mean":{},"m2":{},"samples":{},"day":{}}},"llc":{}}})",
        owner,
        container,
        model,
        weight,
        mean,
        m2,
        samples,
        day,
        llc);
  }
};

std::string document(const std::string& entries, const std::string& version = "1") {
  return fmt::format(R"({{"version":{},"baselines":[{}]}})", version, entries);
}

bool is_refused(const std::string& text) {
  const auto r = parse_baselines(text);
  return r.has_error() && r.error().code == Errc::kParse;
}

}  // namespace

TEST_SUITE("metric_advisor/baseline_checkpoint") {
  TEST_CASE("what was learned comes back to the last bit") {
    BaselineTable table;
    table[{"owner", "app", "Some CPU @ 2.40GHz"}] = {
        learned({1.1, 1.7, 2.3000000000000003}, 20'000), learned({0.1, 0.3}, 20'001)};
    auto& old = table[{"owner", "side", ""}];  // a machine that does not name its CPU
    old.cpi = learned({1.0 / 3, 2.0 / 3}, 1);
    old.cpi.learn(0.7, 400);  // the older samples weigh next to nothing
    table[{"a \"quoted\" \\ name\n", "c", "m"}].cpi = learned({1e-9, 1e9}, 0);
    const auto back = parse_baselines(encode_baselines(table));
    REQUIRE(back.has_value());
    CHECK(*back == table);
  }
  TEST_CASE("an empty table is a text too") {
    const auto back = parse_baselines(encode_baselines({}));
    REQUIRE(back.has_value());
    CHECK(back->empty());
  }
  TEST_CASE("entries that nobody can have learned are not written") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    BaselineTable table;
    table[{"good", "c", "m"}].cpi = learned({1}, 5);
    table[{"", "c", "m"}].cpi = learned({1}, 5);
    table[{"o", "", "m"}].cpi = learned({1}, 5);
    table[{"never", "c", "m"}] = {};
    table[{"nan", "c", "m"}].cpi = {1, nan, 0, 1, 5};
    const auto back = parse_baselines(encode_baselines(table));
    REQUIRE(back.has_value());
    CHECK(back->size() == 1);
    CHECK(back->contains({"good", "c", "m"}));
  }
  TEST_CASE("the text of this version reads as it stands") {
    const auto r = parse_baselines(document(Entry{}.text()));
    REQUIRE(r.has_value());
    CHECK(r->at({"o", "c", "m"}).cpi == Baseline{3, 1.5, 0.5, 4, 20'000});
    CHECK(r->at({"o", "c", "m"}).llc == Baseline{});
  }
  TEST_CASE("no JSON, another shape and another version are refused") {
    for (const char* text : {"",
                             "{",
                             "null",
                             "[]",
                             "{}",
                             R"({"version":1})",
                             R"({"version":1,"baselines":{}})",
                             R"({"version":1,"baselines":[],"more":0})",
                             R"({"version":1,"baselines":[]} x)",
                             R"({"version":1,"baselines":[7]})",
                             R"({"version":1,"baselines":[{}]})"}) {
      CAPTURE(text);
      CHECK(is_refused(text));
    }
    for (const char* version : {"0", "2", "-1", "1.0", "\"1\"", "null"}) {
      CAPTURE(version);
      CHECK(is_refused(document("", version)));
    }
    CHECK_FALSE(is_refused(document("")));
  }
  TEST_CASE("names that are missing or no text are refused") {
    for (const char* bad : {R"("")", "null", "1", "[]"}) {
      CAPTURE(bad);
      Entry e;
      e.owner = bad;
      CHECK(is_refused(document(e.text())));
      e = {};
      e.container = bad;
      CHECK(is_refused(document(e.text())));
    }
    Entry e;
    e.model = R"("")";
    CHECK_FALSE(is_refused(document(e.text())));
    e.owner = fmt::format("\"{}\"", std::string(5000, 'x'));
    CHECK(is_refused(document(e.text())));
  }
  TEST_CASE("numbers that are none, negative, infinite or damaged are refused") {
    for (const char* bad : {R"("nan")",
                            R"("inf")",
                            R"("-1")",
                            R"("1e999")",
                            R"("")",
                            R"("1x")",
                            R"(" 1")",
                            "1",
                            "null"}) {
      CAPTURE(bad);
      Entry e;
      e.weight = bad;
      CHECK(is_refused(document(e.text())));
      e = {};
      e.mean = bad;
      CHECK(is_refused(document(e.text())));
      e = {};
      e.m2 = bad;
      CHECK(is_refused(document(e.text())));
    }
    for (const char* bad : {"-1", "1.5", "\"4\"", "null", "99999999999999999999"}) {
      CAPTURE(bad);
      Entry e;
      e.samples = bad;
      CHECK(is_refused(document(e.text())));
      e = {};
      e.day = bad;
      CHECK(is_refused(document(e.text())));
    }
  }
  TEST_CASE("numbers that contradict each other are refused") {
    Entry e;
    e.weight = R"("4.5")";  // more than its four samples
    CHECK(is_refused(document(e.text())));
    e.weight = R"("0.5")";  // the newest sample alone weighs 1
    CHECK(is_refused(document(e.text())));
    e = {};
    e.samples = "0";
    CHECK(is_refused(document(e.text())));
    e = {};
    e.day = "9000000000";
    CHECK(is_refused(document(e.text())));
    e = {};
    e.llc = R"({"weight":"5","mean":"0.1","m2":"0","samples":5,"day":1})";  // more than CPI has
    CHECK(is_refused(document(e.text())));
    e.llc = R"({"weight":"0","mean":"0","m2":"0","samples":0})";
    CHECK(is_refused(document(e.text())));
  }
  TEST_CASE("an entry twice is refused, and the fault names which") {
    const auto r = parse_baselines(document(Entry{}.text() + "," + Entry{}.text()));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kParse);
    CHECK(r.error().context.find("entry 1") != std::string::npos);
  }
  TEST_CASE("deep nesting and a huge text are refused without a crash") {
    CHECK(is_refused(std::string(100'000, '[')));
    CHECK(is_refused(std::string((16u << 20) + 1, ' ')));
  }
}
