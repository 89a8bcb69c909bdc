#include "model/metric_selector.hpp"

#include <doctest/doctest.h>

using namespace koordlet;

namespace {

MetricSelector parsed(std::string_view text) {
  auto r = parse_selector(text);
  REQUIRE(r.has_value());
  return *r;
}
std::string fault(std::string_view text) {
  const auto r = parse_selector(text);
  REQUIRE(r.has_error());
  CHECK(r.error().code == Errc::kParse);
  return r.error().context;
}
std::string unknown(std::string_view text) {
  const auto r = check_names(parsed(text));
  REQUIRE(r.has_error());
  CHECK(r.error().code == Errc::kNotFound);
  return r.error().context;
}

}  // namespace

TEST_SUITE("metric selector") {
  TEST_CASE("a name, labels, both") {
    CHECK(parsed("pod_cpu_usage") == MetricSelector{"pod_cpu_usage", {}});
    CHECK(parsed(" pod_cpu_usage {} ") == MetricSelector{"pod_cpu_usage", {}});
    CHECK(parsed("pod_psi{pod_uid=\"u1\", psi_degree != \"full\",}") ==
          MetricSelector{"pod_psi", {{"pod_uid", "u1", true}, {"psi_degree", "full", false}}});
    CHECK(parsed("{pod_uid=\"u1\"}").metric.empty());
  }
  TEST_CASE("quotes, backslashes and line ends in values come back as they were") {
    const MetricSelector odd{"m", {{"a", "x\"\\\n}, y=\"", true}, {"b", "", false}}};
    CHECK(parsed(odd.text()) == odd);
  }
  TEST_CASE("faults name their place") {
    CHECK(fault("").find("expected") != std::string::npos);
    CHECK(fault("{}").find("expected a metric or a label") != std::string::npos);
    CHECK(fault("a{b").find("at byte 4: expected '=' or '!='") != std::string::npos);
    CHECK(fault("a{b=c}").find("double quotes") != std::string::npos);
    CHECK(fault("a{b=\"c}").find("not closed") != std::string::npos);
    CHECK(fault("a{b=\"\\q\"}").find("expected \\\\") != std::string::npos);
    CHECK(fault("a{b=~\"x\"}").find("regular expressions") != std::string::npos);
    CHECK(fault("a{b=\"c\"} d").find("expected the end") != std::string::npos);
    CHECK(fault("a b").find("expected '{'") != std::string::npos);
    CHECK(fault("a{b=\"1\" c=\"2\"}").find("expected ',' or '}'") != std::string::npos);
    fault(std::string(5000, 'a'));
    std::string many = "a{";
    for (int i = 0; i < 17; ++i) many += "b=\"c\",";
    CHECK(fault(many + "}").find("more than 16") != std::string::npos);
  }
  TEST_CASE("control characters of a bad selector do not reach the message") {
    CHECK(fault("a\x1b[2J").find('\x1b') == std::string::npos);
  }
  TEST_CASE("labels select; one that a series does not have is the empty text") {
    const auto cpu = parsed("pod_psi{psi_resource=\"cpu\"}");
    CHECK(cpu.selects("pod_psi", "u1/cpu/10/some"));
    CHECK_FALSE(cpu.selects("pod_psi", "u1/io/10/some"));
    CHECK_FALSE(cpu.selects("node_psi", "cpu/10/some"));
    const auto pod = parsed("{pod_uid=\"u1\"}");
    CHECK(pod.selects("pod_cpu_usage", "u1"));
    CHECK(pod.selects("pod_psi", "u1/cpu/10/some"));
    CHECK_FALSE(pod.selects("node_cpu_usage", ""));
    CHECK(parsed("{pod_uid!=\"u1\"}").selects("node_cpu_usage", ""));
    CHECK(parsed("{pod_uid=\"\"}").selects("node_cpu_usage", ""));
  }
  TEST_CASE("a kind of another version is shown by its owner") {
    CHECK(labels_of("new_kind", "a/b") == MetricLabels{{"owner", "a/b"}});
    CHECK(labels_of("new_kind", "").empty());
    CHECK(labels_of("pod_psi", "u1") == MetricLabels{{"owner", "u1"}});
    CHECK(labels_of("pod_cpu_usage", "u1") == MetricLabels{{"pod_uid", "u1"}});
  }
  TEST_CASE("unknown names list near ones") {
    CHECK(unknown("pod_cpu_usge").find("did you mean pod_cpu_usage") != std::string::npos);
    CHECK(unknown("zzzzzzzz").find("`koordlet query` lists") != std::string::npos);
    const auto label = unknown("pod_psi{pod_id=\"x\"}");
    CHECK(label.find("pod_psi has pod_uid, psi_resource") != std::string::npos);
    CHECK(label.find("did you mean pod_uid") != std::string::npos);
    CHECK(unknown("node_cpu_usage{a=\"b\"}").find("has no labels") != std::string::npos);
    CHECK(unknown("{pod_uidd=\"b\"}").find("did you mean pod_uid") != std::string::npos);
    CHECK(check_names(parsed("pod_psi{pod_uid=\"x\"}")).has_value());
  }
}
