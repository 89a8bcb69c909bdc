#include "modules/status_api/metric_samples.hpp"

#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "history_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

constexpr const char* kSamples = "/api/v1/samples";
constexpr const char* kSeries = "/api/v1/series";

}  // namespace

TEST_SUITE("status_api/series list") {
  TEST_CASE("series with unit and labels, sorted by metric and owner") {
    HistoryBed bed;
    bed.history.put("pod_psi", "u1/cpu/10/some", {{0, 1}});
    bed.history.put("node_cpu_usage", "", {{0, 1}});
    bed.history.put("pod_cpu_usage", "u2", {{0, 1}});
    bed.history.put("pod_cpu_usage", "u1", {{0, 1}});
    const auto body = bed.json_of(kSeries);
    CHECK(body.at("total").as_int64() == 4);
    const auto& items = body.at("items").as_array();
    REQUIRE(items.size() == 4);
    CHECK(items[0].at("metric").as_string() == "node_cpu_usage");
    CHECK(items[0].at("labels").as_object().empty());
    CHECK(items[1].at("labels").at("pod_uid").as_string() == "u1");
    CHECK(items[2].at("labels").at("pod_uid").as_string() == "u2");
    CHECK(items[3].at("labels").at("psi_resource").as_string() == "cpu");
    CHECK(items[3].at("unit").as_string() == "permille");
  }
  TEST_CASE("match filters, also without a metric") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{0, 1}});
    bed.history.put("pod_memory_usage", "u1", {{0, 1}});
    bed.history.put("pod_memory_usage", "u2", {{0, 1}});
    CHECK(bed.json_of(kSeries, "match=pod_memory_usage").at("total").as_int64() == 2);
    CHECK(bed.json_of(kSeries, "match=%7Bpod_uid=%22u1%22%7D").at("total").as_int64() == 2);
    CHECK(bed.json_of(kSeries, "match=node_cpu_usage").at("total").as_int64() == 0);
  }
  TEST_CASE("pages of thousands go on where they ended") {
    HistoryBed bed;
    for (int i = 0; i < 2500; ++i) bed.history.put("pod_cpu_usage", fmt::format("u{:04}", i), {});
    std::string last, next;
    int seen = 0, pages = 0;
    do {
      const auto body = bed.json_of(kSeries, "limit=1000" + next);
      for (const auto& item : body.at("items").as_array()) {
        const std::string uid{item.at("labels").at("pod_uid").as_string()};
        CHECK(last < uid);
        last = uid;
        ++seen;
      }
      next = body.at("continue").is_null()
                 ? std::string{}
                 : "&continue=" + std::string{body.at("continue").as_string()};
    } while (!next.empty() && ++pages < 10);
    CHECK(seen == 2500);
    CHECK(pages == 2);
  }
  TEST_CASE("by=metric counts") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {});
    bed.history.put("pod_cpu_usage", "u2", {});
    bed.history.put("new_kind", "x", {});
    const auto body = bed.json_of(kSeries, "by=metric");
    const auto& items = body.at("items").as_array();
    REQUIRE(items.size() == 2);
    CHECK(items[0].at("metric").as_string() == "new_kind");
    CHECK(items[0].at("unit").is_null());
    CHECK(items[1].at("series").as_int64() == 2);
    CHECK(items[1].at("labels").as_array()[0].as_string() == "pod_uid");
    CHECK(items[1].at("about").as_string() == "CPU use of a pod");
  }
}

TEST_SUITE("status_api/samples") {
  TEST_CASE("samples and minutes as they are stored") {
    HistoryBed bed;
    bed.history.put("pod_cpu_usage", "u1", {{300, 7}, {360, 8}});
    bed.history.minutes_of[{"pod_cpu_usage", "u1"}] = {
        {kHour + FakeHistory::minutes(4), 3, 1, 6, 6, 2.5}};
    bed.history.put("pod_cpu_usage", "nothing", {});
    const auto body = bed.json_of(kSamples, "match=pod_cpu_usage");
    CHECK(body.at("series").as_int64() == 2);
    CHECK(body.at("series_done").as_int64() == 2);
    CHECK(body.at("continue").is_null());
    REQUIRE(body.at("items").as_array().size() == 1);
    const auto& item = body.at("items").as_array()[0];
    CHECK(item.at("unit").as_string() == "milli-cores");
    const auto at = [](int minute) { return (kHour + FakeHistory::minutes(minute)).count(); };
    CHECK(json::serialize(item.at("samples")) == fmt::format("[[{},7],[{},8]]", at(5), at(6)));
    const auto& r = item.at("rollups").as_array()[0].as_array();
    CHECK(r[0].as_int64() == at(4));
    CHECK(r[1].as_int64() == 3);
    CHECK(r[4].to_number<double>() == 2.5);
  }
  TEST_CASE("a long series goes over several pages, each sample once and in order") {
    HistoryBed bed;
    bed.history.time = kHour + FakeHistory::seconds(9999);
    for (const char* owner : {"u1", "u2"}) {
      auto& list = bed.history.samples[{"pod_cpu_usage", owner}];
      for (int i = 0; i < 9000; ++i) list.push_back({kHour + FakeHistory::seconds(i), i});
    }
    bed.history.put("pod_cpu_usage", "u3", {{5, 5}});
    std::map<std::string, std::int64_t> next_value;
    std::string next;
    int pages = 0;
    do {
      const auto body = bed.json_of(kSamples, "window=3h" + next);
      std::size_t points = 0;
      for (const auto& item : body.at("items").as_array()) {
        const std::string uid{item.at("labels").at("pod_uid").as_string()};
        for (const auto& s : item.at("samples").as_array()) {
          const auto value = s.as_array()[1].as_int64();
          if (uid != "u3") CHECK(value == next_value[uid]);
          ++next_value[uid];
          ++points;
        }
      }
      CHECK(points <= status_api::SamplesPage::kMaxPoints);
      next = body.at("continue").is_null()
                 ? std::string{}
                 : "&continue=" + std::string{body.at("continue").as_string()};
    } while (!next.empty() && ++pages < 20);
    CHECK(next_value["u1"] == 9000);
    CHECK(next_value["u2"] == 9000);
    CHECK(next_value["u3"] == 1);
    CHECK(pages == 4);  // 18001 samples of 4000 a page
  }
  TEST_CASE("names as long as the store takes them: pages go on within and after them") {
    HistoryBed bed;
    bed.history.time = kHour + FakeHistory::seconds(9999);
    const std::string longest(store::kMaxSeriesText, 'k');
    for (const char end : {'1', '2'}) {
      auto owner = longest;
      owner.back() = end;
      auto& list = bed.history.samples[{longest, owner}];
      for (int i = 0; i < 5000; ++i) list.push_back({kHour + FakeHistory::seconds(i), i});
    }
    std::string next;
    std::size_t points = 0;
    int pages = 0;
    do {
      const auto body = bed.json_of(kSamples, "window=3h" + next);
      for (const auto& item : body.at("items").as_array())
        points += item.at("samples").as_array().size();
      next = body.at("continue").is_null()
                 ? std::string{}
                 : "&continue=" + std::string{body.at("continue").as_string()};
    } while (!next.empty() && ++pages < 20);
    CHECK(points == 10'000);
    CHECK(pages == 2);  // 4000 samples a page
  }
  TEST_CASE("a full page at the last sample of the last series is the last page") {
    HistoryBed bed;
    auto& list = bed.history.samples[{"pod_cpu_usage", "u1"}];
    bed.history.time = kHour + FakeHistory::seconds(4000);
    for (int i = 0; i < 4000; ++i) list.push_back({kHour + FakeHistory::seconds(i), i});
    const auto body = bed.json_of(kSamples, "window=2h");
    CHECK(body.at("items").as_array()[0].at("samples").as_array().size() == 4000);
    CHECK(body.at("continue").is_null());
  }
  TEST_CASE("a series that went away between two pages is passed over") {
    HistoryBed bed;
    bed.history.time = kHour + FakeHistory::seconds(9999);
    auto& list = bed.history.samples[{"pod_cpu_usage", "u1"}];
    for (int i = 0; i < 5000; ++i) list.push_back({kHour + FakeHistory::seconds(i), i});
    bed.history.put("pod_cpu_usage", "u2", {{5, 5}});
    const auto body = bed.json_of(kSamples, "window=3h");
    bed.history.samples.erase({"pod_cpu_usage", "u1"});
    const auto rest =
        bed.json_of(kSamples, "window=3h&continue=" + std::string{body.at("continue").as_string()});
    REQUIRE(rest.at("items").as_array().size() == 1);
    CHECK(rest.at("items").as_array()[0].at("labels").at("pod_uid").as_string() == "u2");
    CHECK(rest.at("continue").is_null());
  }
  TEST_CASE("tokens of another list are refused") {
    HistoryBed bed;
    CHECK(bed.refusal(kSamples, "continue=zz").find("not a token") != std::string::npos);
    const auto odd = status_api::make_token(std::string{"x\0a\0b", 5}, "samples ");
    CHECK(bed.refusal(kSamples, "continue=" + odd).find("continue") != std::string::npos);
  }
}
