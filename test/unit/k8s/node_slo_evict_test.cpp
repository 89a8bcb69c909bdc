#include <string>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "k8s/node_slo_sections.hpp"

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

struct Decoded {
  EvictThresholds values;
  std::vector<std::string> faults;
};

Decoded decode(const std::string& text, const EvictThresholds& last = {}) {
  const auto value = json::parse(text);
  Refusals refusals{"nodeslo n1"};
  const Fields fields{value.get_object(), "spec.x", refusals};
  Decoded out;
  out.values = decode_evict_thresholds(fields, last);
  out.faults = refusals.take();
  return out;
}

}  // namespace

TEST_SUITE("k8s/node_slo eviction") {
  TEST_CASE("what is absent stays absent") {
    const auto r = decode("{}");
    CHECK(r.faults.empty());
    CHECK(r.values == EvictThresholds{});
  }

  TEST_CASE("each number: both ends of its range, and one beyond either keeps the last value") {
    for (const auto& field : kEvictFields) {
      CAPTURE(std::string{field.name});
      const auto with = [&field](int v) { return fmt::format(R"({{"{}": {}}})", field.name, v); };
      CHECK(decode(with(field.low)).values.*field.value == field.low);
      CHECK(decode(with(field.high)).values.*field.value == field.high);
      EvictThresholds last;
      last.*field.value = 42;
      for (const int bad : {field.low - 1, field.high + 1}) {
        const auto r = decode(with(bad), last);
        REQUIRE(r.faults.size() == 1);
        CHECK(r.faults[0].starts_with(fmt::format("nodeslo n1: spec.x.{}: {}", field.name, bad)));
        CHECK(r.values == last);
      }
      CHECK(decode("{}", last).values == EvictThresholds{});
    }
  }

  TEST_CASE("no number, or part of one, is refused") {
    for (const char* bad : {"\"80\"", "80.5", "true", "[80]", "1e30"}) {
      const auto r = decode(fmt::format(R"({{"cpuEvictThresholdPercent": {}}})", bad));
      CHECK(r.faults.size() == 1);
      CHECK_FALSE(r.values.cpu_threshold_percent.has_value());
    }
  }

  TEST_CASE("the policy: one of two words, empty is absent, another keeps the last") {
    CHECK(decode(R"({"cpuEvictPolicy": "evictByRealLimit"})").values.cpu_policy ==
          CpuEvictPolicy::kRealLimit);
    EvictThresholds last;
    last.cpu_policy = CpuEvictPolicy::kAllocatable;
    CHECK(decode(R"({"cpuEvictPolicy": "evictByAllocatable"})").values == last);
    CHECK(decode(R"({"cpuEvictPolicy": ""})", last).values == EvictThresholds{});
    for (const char* bad : {"\"byMagic\"", "7"}) {
      const auto r = decode(fmt::format(R"({{"cpuEvictPolicy": {}}})", bad), last);
      CHECK(r.faults.size() == 1);
      CHECK(r.values == last);
    }
  }
}
