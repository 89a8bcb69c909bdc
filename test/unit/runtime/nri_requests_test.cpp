#include "runtime/nri_requests.hpp"

#include <doctest/doctest.h>

#include "nri_fixture.hpp"
#include "runtime/nri_messages.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using namespace runtime;
using std::chrono::microseconds;
using std::chrono::milliseconds;

HookPod full_pod() {
  HookPod out;
  out.id = "pod1";
  out.uid = "uid-1";
  out.ns = "shop";
  out.name = "web-0";
  out.labels = {{"koordinator.sh/qosClass", "BE"}};
  out.annotations = {{"a", "b"}};
  out.runtime_handler = "kata";
  out.cgroup_parent = CgroupPath::parse("kubepods/besteffort/poduid-1").value();
  out.overhead.memory_limit = Limit{Bytes{1 << 20}};
  out.resources.cpu_shares = 2;
  return out;
}

HookContainer full_container() {
  HookContainer out;
  out.id = "c1";
  out.pod_id = "pod1";
  out.name = "app";
  out.state = HookContainer::State::kRunning;
  out.labels = {{"l", "1"}};
  out.annotations = {{"x", "y"}};
  out.env = {{"A", "1"}, {"B", ""}};
  out.resources.cpu_shares = 512;
  out.resources.cpu_quota = Limit<microseconds>::unlimited();
  out.resources.cpu_period = microseconds{100'000};
  out.resources.cpus = CpuSet::range(0, 3);
  out.resources.memory_limit = Limit{Bytes{1 << 30}};
  out.resources.unified = {{"memory.high", "1000"}};
  out.oom_score_adj = -997;
  out.cgroups_path = "/kubepods/x";
  out.pid = 42;
  return out;
}

}  // namespace

TEST_SUITE("nri_requests") {
  TEST_CASE("reference: RegisterPluginRequest is read") {
    const auto out =
        decode_register(from_hex("0a 0c 6b 6f 6f 72 64 6c 65 74 5f 6e 72 69 12 02 30 30"));
    REQUIRE(out.has_value());
    CHECK(out->name == "koordlet_nri");
    CHECK(out->index == "00");
    CHECK(decode_register("").has_error());
    CHECK(decode_register("\xff").has_error());
  }

  TEST_CASE("reference: ConfigureResponse with events 141; 0 means every event") {
    CHECK(decode_configure_answer(from_hex("10 8d 01")).value() == 141);
    CHECK(decode_configure_answer("").value() == 0xffffffff);
  }

  TEST_CASE("ConfigureRequest by its fields") {
    CHECK(encode_configure_request("r", "1", milliseconds{2000}) ==
          WireMessage{}.bytes(2, "r").bytes(3, "1").number(5, 2000).str());
  }

  TEST_CASE("requests carry all that a plugin reads") {
    const auto pod = full_pod();
    const auto container = full_container();
    const auto both = decode_container_request(encode_container_request(pod, container));
    REQUIRE(both.has_value());
    CHECK(both->pod == pod);
    CHECK(both->container == container);
    HookResources asked;
    asked.cpu_quota = Limit{microseconds{50'000}};
    const auto update = decode_update_request(encode_update_request(pod, container, asked));
    REQUIRE(update.has_value());
    CHECK(update->asked == asked);
    CHECK(update->container == container);
    const auto event =
        decode_state_change(encode_state_change(HookEvent::kPostStartContainer, pod, &container));
    REQUIRE(event.has_value());
    CHECK(event->event == 7);
    CHECK(event->container == container);
    const auto of_pod = decode_state_change(encode_state_change(HookEvent::kRunPod, pod, nullptr));
    CHECK(of_pod->event == 1);
    CHECK(of_pod->container.id.empty());
  }

  TEST_CASE("bits of the mask: event n is bit n - 1") {
    CHECK(bit_of(HookEvent::kRunPod) == 0x1);
    CHECK(bit_of(HookEvent::kStopPod) == 0x2);
    CHECK(bit_of(HookEvent::kRemovePod) == 0x4);
    CHECK(bit_of(HookEvent::kPostStartContainer) == 0x40);
    CHECK(bit_of(HookEvent::kRemoveContainer) == 0x400);
  }

  TEST_CASE("an inventory in parts: all of it arrives, only the last part says that it is") {
    HookInventory all;
    for (int i = 0; i < 100; ++i) {
      auto pod = full_pod();
      pod.id = "pod" + std::to_string(i);
      all.pods.push_back(pod);
      auto container = full_container();
      container.id = "c" + std::to_string(i);
      all.containers.push_back(container);
    }
    const auto parts = encode_synchronize_parts(all, 2'000);
    REQUIRE(parts.size() > 5);
    HookInventory got;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK(parts[i].size() <= 2'002);  // the flag of further parts on top
      const auto part = decode_synchronize(parts[i]);
      REQUIRE(part.has_value());
      CHECK(part->more == (i + 1 < parts.size()));
      CHECK(part->damaged == 0);
      for (const auto& p : part->inventory.pods) got.pods.push_back(p);
      for (const auto& c : part->inventory.containers) got.containers.push_back(c);
    }
    CHECK(got.pods == all.pods);
    CHECK(got.containers == all.containers);
    CHECK(encode_synchronize_parts({}, 2'000) == std::vector<std::string>{""});
    CHECK(encode_synchronize_parts(all, 1).size() == 200);  // an entry alone, whatever its size
  }

  TEST_CASE("reference: CreateContainerResponse with shares 512, quota -1, cpus 0-3 is read") {
    const auto out = decode_creation(
        from_hex("0a 1d 32 1b 12 19 12 17 0a 03 08 80 04 12 0b 08 ff ff ff ff ff ff ff ff ff 01"
                 "32 03 30 2d 33"));
    REQUIRE(out.has_value());
    CHECK(out->adjustment.resources.cpu_shares == 512);
    CHECK(out->adjustment.resources.cpu_quota == Limit<microseconds>::unlimited());
    CHECK(out->adjustment.resources.cpus == CpuSet::range(0, 3));
    CHECK(decode_creation("").value().adjustment == HookAdjustment{});
  }

  TEST_CASE("an adjustment arrives whole, and updates of others beside it") {
    HookAdjustment a;
    a.oom_score_adj = 999;
    a.annotations = {{"k", "v"}};
    a.env = {{"GPU", "0"}};
    a.mounts = {{"/dev/x", "bind", "/y", {"ro"}}};
    a.devices = {{"/dev/nvidia0", 'c', 195, 0, 0666}};
    a.resources.rdt_class = "BE";
    const auto out = decode_creation(encode_creation(a, {quota_update("c2", 5'000)}));
    REQUIRE(out.has_value());
    CHECK(out->adjustment == a);
    REQUIRE(out->updates.size() == 1);
    CHECK(out->updates[0] == quota_update("c2", 5'000));
  }

  TEST_CASE("updates: of an event, of Synchronize, of the plugin itself") {
    const std::vector<HookUpdate> updates{quota_update("a", 1'000), quota_update("b", 2'000)};
    CHECK(decode_updates(encode_updates(updates)).value() == updates);
    CHECK(decode_updates(encode_synchronize(updates, 2, true)).value() == updates);
    CHECK(decode_updates(encode_update_containers(updates)).value() == updates);
    CHECK(decode_update_containers(encode_failed_updates(updates)).value() == 2);
  }

  TEST_CASE("bad answers are one line") {
    const auto bad_cpus = WireMessage{}.part(
        1,
        WireMessage{}.part(
            6, WireMessage{}.part(2, WireMessage{}.part(2, WireMessage{}.bytes(6, "0-")))));
    const auto bad_device = WireMessage{}.part(
        1, WireMessage{}.part(6, WireMessage{}.part(1, WireMessage{}.bytes(2, "char"))));
    for (const auto& bytes : {bad_cpus.str(), bad_device.str(), std::string{"\xff\xff"}}) {
      const auto out = decode_creation(bytes);
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
      CHECK(out.error().context.find('\n') == std::string::npos);
    }
  }
}

}  // namespace koordlet::test
