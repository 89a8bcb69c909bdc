#include "runtime/nri_messages.hpp"

#include <doctest/doctest.h>

#include "nri_fixture.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using std::chrono::microseconds;

constexpr std::uint64_t kMinusOne = 0xffffffffffffffff;

WireMessage wire_resources() {
  const auto memory = WireMessage{}.boxed(1, 1u << 30).boxed(3, 2u << 30);
  const auto cpu = WireMessage{}
                       .boxed(1, 512)
                       .boxed(2, kMinusOne)
                       .boxed(3, 100'000)
                       .bytes(6, "0-3")
                       .bytes(7, "0");
  return WireMessage{}.part(1, memory).part(2, cpu).entry(6, "memory.high", "1000");
}

/// Every cut of `bytes` is an error or a message with less, never a crash.
template <class Decode>
void cut_everywhere(const std::string& bytes, Decode decode) {
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto out = decode(bytes.substr(0, n));
    if (out.has_error()) {
      CHECK(out.error().context.find('\n') == std::string::npos);
      CHECK_FALSE(out.error().context.empty());
    }
  }
}

}  // namespace

TEST_SUITE("nri_messages/encode") {
  TEST_CASE("reference: RegisterPluginRequest") {
    CHECK(encode_register("koordlet_nri", "00") ==
          from_hex("0a 0c 6b 6f 6f 72 64 6c 65 74 5f 6e 72 69 12 02 30 30"));
  }

  TEST_CASE("reference: ConfigureResponse with events 141") {
    CHECK(encode_configure(141) == from_hex("10 8d 01"));
  }

  TEST_CASE("reference: CreateContainerResponse with shares 512, quota -1, cpus 0-3") {
    HookAdjustment a;
    a.resources.cpu_shares = 512;
    a.resources.cpu_quota = Limit<microseconds>::unlimited();
    a.resources.cpus = CpuSet::range(0, 3);
    CHECK(encode_creation(a, {}) ==
          from_hex("0a 1d 32 1b 12 19 12 17 0a 03 08 80 04 12 0b 08 ff ff ff ff ff ff ff ff ff 01"
                   "32 03 30 2d 33"));
  }

  TEST_CASE("reference: UpdateContainerResponse for container abc, quota -1") {
    auto update = quota_update("abc", 1);
    update.resources.cpu_quota = Limit<microseconds>::unlimited();
    update.ignore_failure = false;
    CHECK(encode_updates({update}) ==
          from_hex("0a 18 0a 03 61 62 63 12 11 0a 0f 12 0d 12 0b 08 ff ff ff ff ff ff ff ff ff"
                   "01"));
    update.ignore_failure = true;
    CHECK(encode_updates({update}) ==
          from_hex("0a 1a 0a 03 61 62 63 12 11 0a 0f 12 0d 12 0b 08 ff ff ff ff ff ff ff ff ff"
                   "01 18 01"));
  }

  TEST_CASE("nothing to change is an empty message") {
    CHECK(encode_creation({}, {}).empty());
    CHECK(encode_updates({}).empty());
    CHECK(encode_synchronize({}, 0, false).empty());
    CHECK(encode_synchronize({}, 0, true) == from_hex("10 01"));
  }

  TEST_CASE("a value of 0 that is present is an empty message of its own") {
    HookAdjustment a;
    a.oom_score_adj = 0;
    CHECK(encode_creation(a, {}) == from_hex("0a 04 32 02 22 00"));
  }

  TEST_CASE("environment in its order with empty values, mounts, devices, annotations") {
    HookAdjustment a;
    a.annotations = {{"k", "v"}};
    a.env = {{"B", ""}, {"A", "1"}, {"B", "2"}};
    a.mounts = {{"/d", "bind", "/s", {"rbind", "ro"}}};
    a.devices = {{"/dev/x", 'c', 231, 192, 0666}};
    const auto pair = [](const char* key, const char* value) {
      auto out = WireMessage{}.bytes(1, key);
      if (*value != '\0') out.bytes(2, value);
      return out;
    };
    const auto mount = WireMessage{}
                           .bytes(1, "/d")
                           .bytes(2, "bind")
                           .bytes(3, "/s")
                           .bytes(4, "rbind")
                           .bytes(4, "ro");
    const auto device =
        WireMessage{}.bytes(1, "/dev/x").bytes(2, "c").number(3, 231).number(4, 192).boxed(5, 0666);
    const auto adjustment = WireMessage{}
                                .entry(2, "k", "v")
                                .part(3, mount)
                                .part(4, pair("B", ""))
                                .part(4, pair("A", "1"))
                                .part(4, pair("B", "2"))
                                .part(6, WireMessage{}.part(1, device));
    CHECK(encode_creation(a, {}) == WireMessage{}.part(1, adjustment).str());
  }

  TEST_CASE("all resources stand in their fields") {
    HookUpdate u{"c", {}, false};
    u.resources.cpu_shares = 512;
    u.resources.cpu_quota = Limit<microseconds>::unlimited();
    u.resources.cpu_period = microseconds{100'000};
    u.resources.cpus = CpuSet::range(0, 3);
    u.resources.mems = CpuSet::range(0, 0);
    u.resources.memory_limit = Limit{Bytes{1 << 30}};
    u.resources.memory_swap_limit = Limit{Bytes{std::int64_t{2} << 30}};
    u.resources.unified = {{"memory.high", "1000"}};
    const auto update =
        WireMessage{}.bytes(1, "c").part(2, WireMessage{}.part(1, wire_resources()));
    CHECK(encode_update_containers({u}) == WireMessage{}.part(1, update).str());
  }

  TEST_CASE("updates that fit into so many bytes") {
    const std::vector<HookUpdate> many(100, quota_update(std::string(64, 'a'), 100'000));
    const auto one = encode_updates({many[0]}).size();
    CHECK(updates_within(many, 0) == 0);
    CHECK(updates_within(many, 1 << 20) == 100);
    const auto fitting = updates_within(many, 10 * one);
    CHECK(fitting > 5);
    CHECK(encode_synchronize(many, fitting, false).size() <= 10 * one);
  }
}

TEST_SUITE("nri_messages/decode") {
  TEST_CASE("a pod with all that is read of it") {
    const auto linux_part = WireMessage{}
                                .part(1, WireMessage{}.part(2, WireMessage{}.boxed(1, 100)))
                                .part(2, wire_resources())
                                .bytes(3, "/kubepods/burstable/poduid-1");
    const auto pod = wire_pod().entry(6, "a", "b").bytes(7, "kata").part(8, linux_part);
    const auto out = decode_pod_request(WireMessage{}.part(1, pod).str());
    REQUIRE(out.has_value());
    CHECK(out->pod.id == "pod1");
    CHECK(out->pod.name == "web-0");
    CHECK(out->pod.uid == "uid-pod1");
    CHECK(out->pod.ns == "shop");
    CHECK(out->pod.labels.at("koordinator.sh/qosClass") == "LS");
    CHECK(out->pod.annotations.at("a") == "b");
    CHECK(out->pod.runtime_handler == "kata");
    CHECK(out->pod.cgroup_parent->str() == "kubepods/burstable/poduid-1");
    CHECK(out->pod.overhead.cpu_shares == 100);
    CHECK(out->pod.resources.cpu_shares == 512);
  }

  TEST_CASE("pitfall 139: a pod without labels, annotations and linux part is a pod") {
    const auto out = decode_pod_request(WireMessage{}.part(1, WireMessage{}.bytes(1, "p")).str());
    REQUIRE(out.has_value());
    CHECK(out->pod.labels.empty());
    CHECK(out->pod.resources == HookResources{});
    CHECK_FALSE(out->pod.cgroup_parent);
  }

  TEST_CASE("a cgroup parent that leads out of the tree is none") {
    const auto pod = wire_pod().part(8, WireMessage{}.bytes(3, "/kubepods/../../etc"));
    CHECK_FALSE(decode_pod_request(WireMessage{}.part(1, pod).str())->pod.cgroup_parent);
  }

  TEST_CASE("a container with all that is read of it") {
    const auto linux_part = WireMessage{}
                                .part(3, wire_resources())
                                .boxed(4, kMinusOne)
                                .bytes(5, "a.slice:cri-containerd:c1");
    const auto c = wire_container()
                       .entry(5, "l", "1")
                       .entry(6, "a", "2")
                       .bytes(7, "/bin/sh")
                       .bytes(8, "A=1=2")
                       .bytes(8, "B=")
                       .bytes(8, "C")
                       .bytes(8, "A=3")
                       .part(11, linux_part)
                       .number(12, 4711);
    const auto out = decode_container_request(WireMessage{}.part(1, wire_pod()).part(2, c).str());
    REQUIRE(out.has_value());
    const auto& got = out->container;
    CHECK(got.id == "c1");
    CHECK(got.pod_id == "pod1");
    CHECK(got.name == "app");
    CHECK(got.state == HookContainer::State::kRunning);
    CHECK(got.labels.at("l") == "1");
    CHECK(got.annotations.at("a") == "2");
    const std::vector<HookEnv> env{{"A", "1=2"}, {"B", ""}, {"C", ""}, {"A", "3"}};
    CHECK((got.env == env));
    CHECK(got.oom_score_adj == -1);
    CHECK(got.cgroups_path == "a.slice:cri-containerd:c1");
    CHECK(got.pid == 4711u);
    CHECK(got.resources.cpu_shares == 512);
    CHECK(got.resources.cpu_quota->is_unlimited());
    CHECK(got.resources.cpu_period == microseconds{100'000});
    CHECK(got.resources.cpus == CpuSet::range(0, 3));
    CHECK(got.resources.mems == CpuSet::range(0, 0));
    CHECK(got.resources.unified.at("memory.high") == "1000");
  }

  TEST_CASE("pitfall 145: limit 1Gi with swap 2Gi is a limit of 1Gi") {
    const auto c = wire_container().part(11, WireMessage{}.part(3, wire_resources()));
    const auto out = decode_container_request(WireMessage{}.part(1, wire_pod()).part(2, c).str());
    REQUIRE(out.has_value());
    CHECK(out->container.resources.memory_limit == Limit{Bytes{1 << 30}});
    CHECK(out->container.resources.memory_swap_limit == Limit{Bytes{std::int64_t{2} << 30}});
  }

  TEST_CASE("0 and empty texts are not said; no process is no pid") {
    const auto cpu = WireMessage{}.boxed(1, 0).boxed(2, 0).boxed(3, 0).bytes(6, "");
    const auto resources = WireMessage{}.part(1, WireMessage{}.boxed(1, 0)).part(2, cpu);
    const auto c = wire_container().part(11, WireMessage{}.part(3, resources));
    const auto out = decode_container_request(WireMessage{}.part(1, wire_pod()).part(2, c).str());
    REQUIRE(out.has_value());
    CHECK(out->container.resources == HookResources{});
    CHECK_FALSE(out->container.oom_score_adj);
    CHECK_FALSE(out->container.pid);
  }

  TEST_CASE("numbers beyond the range, and states nobody knows") {
    const auto cpu = WireMessage{}.boxed(3, kMinusOne);
    const auto c = WireMessage{}.bytes(1, "c").number(4, 99).part(
        11, WireMessage{}.part(3, WireMessage{}.part(2, cpu)));
    const auto out = decode_container_request(WireMessage{}.part(1, wire_pod()).part(2, c).str());
    REQUIRE(out.has_value());
    CHECK_FALSE(out->container.resources.cpu_period);
    CHECK(out->container.state == HookContainer::State::kUnknown);
  }

  TEST_CASE("a list of CPUs that is none, and missing ids, are errors in one line") {
    const auto with_cpus = [](const char* cpus) {
      const auto cpu = WireMessage{}.bytes(6, cpus);
      const auto c = wire_container().part(11, WireMessage{}.part(3, WireMessage{}.part(2, cpu)));
      return decode_container_request(WireMessage{}.part(1, wire_pod()).part(2, c).str());
    };
    CHECK(with_cpus("0-x").error().context.find("container c1: cpus '0-x': ") == 0);
    CHECK(with_cpus("0-99999").has_error());
    CHECK(decode_pod_request("").error().context == "pod: expected an id");
    CHECK(decode_container_request(WireMessage{}.part(1, wire_pod()).str()).error().context ==
          "container: expected an id");
  }

  TEST_CASE("Configure") {
    const auto out = decode_configure(WireMessage{}
                                          .bytes(2, "containerd")
                                          .bytes(3, "v2.0.1")
                                          .number(4, 5000)
                                          .number(5, 2000)
                                          .str());
    REQUIRE(out.has_value());
    CHECK(out->runtime_name == "containerd");
    CHECK(out->runtime_version == "v2.0.1");
    CHECK(out->request_timeout == std::chrono::seconds{2});
    CHECK_FALSE(decode_configure("")->request_timeout);  // not said before NRI 0.6
  }

  TEST_CASE("Synchronize: what cannot be read is left out and counted") {
    const auto bytes = WireMessage{}
                           .part(1, wire_pod())
                           .bytes(1, "\x0a\x7f")
                           .part(2, wire_container("c1"))
                           .part(2, WireMessage{})
                           .bytes(2, "\xff")
                           .part(2, wire_container("c2"))
                           .number(3, 1)
                           .str();
    const auto out = decode_synchronize(bytes);
    REQUIRE(out.has_value());
    CHECK(out->more);
    CHECK(out->damaged == 3);
    CHECK(out->inventory.pods.size() == 1);
    REQUIRE(out->inventory.containers.size() == 2);
    CHECK(out->inventory.containers[1].id == "c2");
  }

  TEST_CASE("messages cut anywhere, and garbage") {
    const auto c =
        wire_container().bytes(8, "A=1").part(11, WireMessage{}.part(3, wire_resources()));
    const auto both = WireMessage{}.part(1, wire_pod()).part(2, c).part(3, wire_resources()).str();
    cut_everywhere(both, decode_update_request);
    cut_everywhere(both, decode_container_request);
    cut_everywhere(both, decode_pod_request);
    cut_everywhere(both, decode_synchronize);
    cut_everywhere(both, decode_state_change);
    cut_everywhere(both, decode_configure);
    cut_everywhere(both, decode_update_containers);
    for (int seed = 0; seed < 500; ++seed) {
      std::string bytes = both;
      bytes[static_cast<std::size_t>(seed * 7919) % bytes.size()] = static_cast<char>(seed * 31);
      (void)decode_update_request(bytes);
      (void)decode_synchronize(bytes);
      (void)decode_state_change(bytes);
    }
  }
}

}  // namespace koordlet::test
