#include "app/kubelet_cpus_file.hpp"

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::app;
using namespace koordlet::test;

namespace {

KubeletCpus read(std::string_view body) {
  const FakeTree tree{{"cpu_manager_state", std::string{body}}};
  return read_kubelet_cpus(tree.path("cpu_manager_state"));
}

}  // namespace

TEST_SUITE("app/cpu_manager_state") {
  TEST_CASE("static: the CPUs of each pod, all containers together") {
    const auto got = read(
        R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"u1":{"a":"2-3","b":"4"},
            "u2":{"c":"5"}},"checksum":1})");
    CHECK(got.policy == KubeletCpuPolicy::kStatic);
    CHECK(got.exclusive.at("u1") == CpuSet::range(2, 4));
    CHECK(got.exclusive.at("u2") == CpuSet::range(5, 5));
    CHECK(got.fault == "");
  }

  TEST_CASE("none is normal: nothing is given away") {
    const auto got = read(R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690})");
    CHECK(got.policy == KubeletCpuPolicy::kNone);
    CHECK(got.exclusive.empty());
    CHECK(got.fault == "");
  }

  TEST_CASE("no file, no path: nothing is known, and that is no fault") {
    const FakeTree tree;
    CHECK(read_kubelet_cpus(tree.path("cpu_manager_state")) == KubeletCpus{});
    CHECK(read_kubelet_cpus("") == KubeletCpus{});
  }

  TEST_CASE("damaged content is a fault; what can be read counts") {
    for (const char* body : {"", "{", "[]", "3"}) {
      CAPTURE(body);
      const auto got = read(body);
      CHECK(got.policy == KubeletCpuPolicy::kUnknown);
      CHECK(got.fault != "");
    }
    const auto half = read(R"({"policyName":"static","entries":{"u1":{"a":"x"},"u2":{"a":"3"}}})");
    CHECK(half.exclusive.size() == 1);
    CHECK(half.exclusive.at("u2") == CpuSet::range(3, 3));
    CHECK(half.fault != "");
  }
}
