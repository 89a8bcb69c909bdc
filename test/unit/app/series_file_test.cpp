#include "app/series_file.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::app;

namespace {

std::string refusal(std::string_view text) {
  const auto r = parse_series(text);
  return r ? "" : Error{r.error()}.context;
}

}  // namespace

TEST_SUITE("app/series file") {
  TEST_CASE("time stamps and one value") {
    const auto t =
        parse_series("timestamp,value\n2014-02-14 14:30:00,0.132\n2014-02-14T14:35:00Z,2\n");
    REQUIRE(t.has_value());
    CHECK(t->columns == std::vector<std::string>{"value"});
    CHECK(t->times_s == std::vector<std::int64_t>{1392388200, 1392388500});
    CHECK(t->values[0] == std::vector<double>{0.132, 2});
  }
  TEST_CASE(
      "minutes and several columns; an empty field is unknown, blank lines and CR are nothing") {
    const auto t = parse_series("minute,vm00,vm01\r\n0,4,\r\n\r\n5,2,6");
    REQUIRE(t.has_value());
    CHECK(t->times_s == std::vector<std::int64_t>{0, 300});
    CHECK(t->values[0] == std::vector<double>{4, 2});
    CHECK(std::isnan(t->values[1][0]));
    CHECK(t->values[1][1] == 6);
  }
  TEST_CASE("rows that do not come later are left out and counted") {
    const auto t = parse_series("second,v\n0,1\n60,2\n60,9\n30,9\n120,3\n");
    REQUIRE(t.has_value());
    CHECK(t->values[0] == std::vector<double>{1, 2, 3});
    CHECK(t->left_out == 2);
    CHECK(t->first_left_out_line == 4);
  }
  TEST_CASE("faults name their line") {
    CHECK(refusal("") == "line 1: empty: expected a header");
    CHECK(refusal("time,v\n") ==
          "line 1: first column: 'time': expected timestamp, minute or second");
    CHECK(refusal("minute\n") == "line 1: 1 columns: expected 2 to 1001");
    CHECK(refusal("minute,a,a\n") == "line 1: column: 'a': expected a name of its own");
    CHECK(refusal("minute,a,\n") == "line 1: column 3: '': expected a name");
    CHECK(refusal("minute,a\n0,1\n5\n") == "line 3: 1 fields: expected 2");
    CHECK(refusal("minute,a\n0,1\n5,x\n") == "line 3: a: 'x': expected a number of at least 0");
    CHECK(refusal("minute,a\n0,1\n5,-1\n") == "line 3: a: '-1': expected a number of at least 0");
    CHECK(refusal("minute,a\n0,nan\n") == "line 2: a: 'nan': expected a number of at least 0");
    CHECK(refusal("minute,a\n0.5,1\n") == "line 2: time: '0.5': expected a whole number");
    CHECK(refusal("minute,a\n9223372036854775807,1\n") ==
          "line 2: time: '9223372036854775807': expected a whole number");
    CHECK(refusal("timestamp,a\n2014-02-30 00:00:00,1\n") ==
          "line 2: time: '2014-02-30 00:00:00': expected YYYY-MM-DD hh:mm:ss");
    CHECK(refusal("minute,a\n0,1\n") == "line 2: 1 rows: expected two at least");
  }
}
