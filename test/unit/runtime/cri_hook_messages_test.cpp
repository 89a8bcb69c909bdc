#include "runtime/cri_hook_messages.hpp"

#include <doctest/doctest.h>

#include "wire.hpp"

namespace koordlet::runtime {
namespace {

using namespace std::string_literals;
using std::chrono::microseconds;
using test::WireMessage;

constexpr auto kMinusOne = ~std::uint64_t{0};
const std::string kStrange = "\x9a\x06\x03xyz"s;  // field 99, bytes

/// Field numbers: the CRI's api.proto.
WireMessage sandbox_config() {
  return WireMessage{}
      .part(1, WireMessage{}.bytes(1, "web").bytes(2, "uid-1").bytes(3, "default"))
      .entry(6, "koordinator.sh/qosClass", "BE")
      .entry(7, "note", "1")
      .part(8, WireMessage{}.bytes(1, "/kubepods/besteffort/poduid-1"));
}
WireMessage create_request() {
  const auto resources = WireMessage{}
                             .number(1, 100'000)
                             .number(2, 50'000)
                             .number(3, 512)
                             .number(5, 999)
                             .raw(kStrange);
  const auto config = WireMessage{}
                          .part(1, WireMessage{}.bytes(1, "main"))
                          .part(6, WireMessage{}.bytes(1, "A").bytes(2, "1"))
                          .part(15, WireMessage{}.part(1, resources))
                          .raw(kStrange);
  return WireMessage{}.bytes(1, "sandbox").part(2, config).part(3, sandbox_config()).raw(kStrange);
}

}  // namespace

TEST_SUITE("cri_hook_messages") {
  TEST_CASE("CreateContainer: what a hook is told") {
    const auto out = parse_create_container(create_request().str());
    REQUIRE(out.has_value());
    CHECK(out->pod.id == "sandbox");
    CHECK(out->pod.uid == "uid-1");
    CHECK(out->pod.ns == "default");
    CHECK(out->pod.labels.at("koordinator.sh/qosClass") == "BE");
    REQUIRE(out->pod.cgroup_parent.has_value());
    CHECK(out->container.name == "main");
    CHECK(out->container.env == std::vector<HookEnv>{{"A", "1"}});
    const auto& r = out->container.resources;
    CHECK(r.cpu_period == microseconds{100'000});
    CHECK(r.cpu_quota == Limit{microseconds{50'000}});
    CHECK(r.cpu_shares == 512);
    CHECK_FALSE(r.cpus.has_value());
    CHECK_FALSE(r.memory_limit.has_value());  // 0 is unsaid
    CHECK(out->container.oom_score_adj == 999);
  }

  TEST_CASE("RunPodSandbox: the pod and its handler") {
    const auto out =
        parse_run_pod_sandbox(WireMessage{}.part(1, sandbox_config()).bytes(2, "kata").str());
    REQUIRE(out.has_value());
    CHECK(out->name == "web");
    CHECK(out->runtime_handler == "kata");
    CHECK(out->id.empty());
  }

  TEST_CASE("an answer goes behind the request; every byte of that, and what is unsaid, stays") {
    HookAdjustment answer;
    answer.resources.cpu_quota = Limit<microseconds>::unlimited();
    answer.resources.cpus = CpuSet::parse("0-3").value();
    answer.annotations["k"] = "v";
    answer.env = {{"A", "2"}};
    const auto before = create_request().str();
    const auto out = adjusted_create_container(before, answer);
    REQUIRE(out.has_value());
    CHECK(out->starts_with(before));
    const auto resources = WireMessage{}.number(2, kMinusOne).bytes(6, "0-3");
    const auto piece = WireMessage{}
                           .part(6, WireMessage{}.bytes(1, "A").bytes(2, "2"))
                           .entry(10, "k", "v")
                           .part(15, WireMessage{}.part(1, resources));
    CHECK(out->substr(before.size()) == WireMessage{}.part(2, piece).str());
    // Section 17's example: {100000, 50000, 512, 999, ""} becomes {100000, -1, 512, 999, "0-3"}.
    const auto read = parse_create_container(*out);
    REQUIRE(read.has_value());
    const auto& r = read->container.resources;
    CHECK(r.cpu_period == microseconds{100'000});
    CHECK(r.cpu_quota == Limit<microseconds>::unlimited());
    CHECK(r.cpu_shares == 512);
    CHECK(r.cpus->to_string() == "0-3");
    CHECK(read->container.oom_score_adj == 999);
  }

  TEST_CASE("an oom_score_adj of 0 is said; an empty answer adds nothing") {
    const auto before = create_request().str();
    CHECK(adjusted_create_container(before, {}).value() == before);
    HookAdjustment zero;
    zero.oom_score_adj = 0;
    const auto out = adjusted_create_container(before, zero);
    REQUIRE(out.has_value());
    CHECK(parse_create_container(*out)->container.oom_score_adj == 0);
  }

  TEST_CASE("UpdateContainerResources: the reference's bytes; pitfall 145: memory is not swap") {
    const auto bytes =
        "\x0a\x03"
        "abc\x12\x13\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x80\x04\x32\x03"
        "0-3"s;
    const auto out = parse_update_container(bytes);
    REQUIRE(out.has_value());
    CHECK(out->container_id == "abc");
    CHECK(out->resources.cpu_quota == Limit<microseconds>::unlimited());
    CHECK(out->resources.cpu_shares == 512);
    CHECK(out->resources.cpus->to_string() == "0-3");
    HookResources answer;
    answer.memory_limit = Limit{Bytes{1LL << 30}};
    const auto adjusted = adjusted_update_container(bytes, answer);
    REQUIRE(adjusted.has_value());
    CHECK(adjusted->substr(bytes.size()) ==
          WireMessage{}.part(2, WireMessage{}.number(4, 1u << 30)).str());
  }

  TEST_CASE("damaged requests and answers that the CRI has no field for are errors") {
    for (const auto& bytes : {"\xff"s, "\x0a\x7f"s, create_request().str().substr(0, 40)}) {
      CHECK(parse_create_container(bytes).has_error());
      CHECK(parse_update_container(bytes).has_error());
    }
    CHECK(parse_update_container("").has_error());  // no id
    const auto cpus = WireMessage{}.bytes(1, "abc").part(2, WireMessage{}.bytes(6, "3-1"));
    CHECK(parse_update_container(cpus.str()).error().code != Errc::kIo);
    HookAdjustment mounts;
    mounts.mounts.push_back({"/a", "bind", "/b"});
    CHECK(adjusted_create_container("", mounts).error().code == Errc::kNotSupported);
    HookResources rdt;
    rdt.rdt_class = "BE";
    CHECK(adjusted_update_container("", rdt).error().code == Errc::kNotSupported);
  }
}

}  // namespace koordlet::runtime
