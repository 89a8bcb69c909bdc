#include "runtime/cri_hooks.hpp"

#include <doctest/doctest.h>

#include "runtime/cri_hook_messages.hpp"
#include "support/async.hpp"
#include "wire.hpp"

namespace koordlet::runtime {
namespace {

using std::chrono::microseconds;
using test::WireMessage;

const std::string kService = "/runtime.v1.RuntimeService/";
constexpr std::uint64_t kPeriod = 100'000;

/// Says what it is told to say, and remembers what it was asked.
struct FakeHooks final : CriHooks {
  Answer<HookAdjustment> create_container(HookPod pod, HookContainer container) override {
    log.push_back("create " + container.name + " in " + pod.id + " of " + pod.runtime_handler);
    co_return adjustment;
  }
  Answer<HookResources> update_container(HookPod, HookContainer container, HookResources) override {
    log.push_back("update " + container.id);
    co_return resources;
  }
  Answer<void> before(HookEvent event, HookPod pod, std::optional<HookContainer>) override {
    log.push_back(std::string{to_string(event)} + " " + pod.name);
    Result<void> ok;
    co_return ok;
  }
  Answer<void> stopping(HookPod, HookContainer container) override {
    log.push_back("stop " + container.id);
    Result<void> ok;
    co_return ok;
  }
  Result<HookAdjustment> adjustment = HookAdjustment{};
  Result<HookResources> resources = HookResources{};
  std::vector<std::string> log;
};

struct Rig {
  std::optional<std::string> call(const std::string& method,
                                  const std::string& message,
                                  const std::string& answer = {}) {
    auto out = test::run(io, editor.edit(kService + method, message));
    editor.answered(kService + method, message, answer);
    return out;
  }
  /// A pod "p" with a container "c".
  void fill() {
    call("RunPodSandbox", WireMessage{}.part(1, pod).bytes(2, "kata").str(), id("p"));
    call("CreateContainer", create, id("c"));
  }
  static std::string id(std::string_view text) { return WireMessage{}.bytes(1, text).str(); }

  const WireMessage pod =
      WireMessage{}.part(1, WireMessage{}.bytes(1, "web").bytes(2, "u").bytes(3, "default"));
  const std::string create = WireMessage{}
                                 .bytes(1, "p")
                                 .part(2, WireMessage{}.part(1, WireMessage{}.bytes(1, "main")))
                                 .part(3, pod)
                                 .str();
  boost::asio::io_context io;
  FakeHooks hooks;
  CriHookEditor editor{hooks};
};

}  // namespace

TEST_SUITE("cri_hooks") {
  TEST_CASE("the calls of both APIs that hooks see, and no others") {
    const Rig r;
    CHECK(r.editor.wants("/runtime.v1.RuntimeService/CreateContainer"));
    CHECK(r.editor.wants("/runtime.v1alpha2.RuntimeService/StopContainer"));
    CHECK_FALSE(r.editor.wants("/runtime.v1.RuntimeService/Version"));
    CHECK_FALSE(r.editor.wants("/runtime.v1.ImageService/CreateContainer"));
    CHECK_FALSE(r.editor.wants("/runtime.v2.RuntimeService/CreateContainer"));
  }

  TEST_CASE("a pod's life: each hook is asked once, with what earlier calls told") {
    Rig r;
    r.fill();
    CHECK(r.editor.pods() == 1);
    CHECK(r.editor.containers() == 1);
    CHECK_FALSE(r.call("StartContainer", Rig::id("c")).has_value());
    CHECK_FALSE(r.call("StopContainer", Rig::id("c")).has_value());
    CHECK_FALSE(r.call("StopPodSandbox", Rig::id("p")).has_value());
    CHECK(r.editor.pods() == 1);  // a Stop may be repeated
    r.call("RemovePodSandbox", Rig::id("p"));
    CHECK(r.editor.pods() == 0);
    CHECK(r.editor.containers() == 0);
    const std::vector<std::string> want{"RunPodSandbox web",
                                        "create main in p of kata",
                                        "StartContainer web",
                                        "stop c",
                                        "StopPodSandbox web"};
    CHECK(r.hooks.log == want);
  }

  TEST_CASE("an answer is put behind the request; an error or a bad answer leaves it alone") {
    Rig r;
    HookAdjustment answer;
    answer.resources.cpu_period = microseconds{kPeriod};
    r.hooks.adjustment = answer;
    const auto out = r.call("CreateContainer", r.create, Rig::id("c"));
    REQUIRE(out.has_value());
    CHECK(out->starts_with(r.create));
    CHECK(parse_create_container(*out)->container.resources.cpu_period == microseconds{kPeriod});
    r.hooks.adjustment = Error{Errc::kBusy, "the daemon is away"};
    CHECK_FALSE(r.call("CreateContainer", r.create).has_value());
    CHECK(r.editor.counters().last_failure == "the daemon is away");
    answer.oom_score_adj = 2000;
    r.hooks.adjustment = answer;
    CHECK_FALSE(r.call("CreateContainer", r.create).has_value());
    CHECK(r.editor.counters().failures == 2);
  }

  TEST_CASE("UpdateContainerResources of a known container; of an unknown one nobody is asked") {
    Rig r;
    r.fill();
    HookResources answer;
    answer.cpu_shares = 512;
    r.hooks.resources = answer;
    const auto out = r.call("UpdateContainerResources", Rig::id("c"));
    REQUIRE(out.has_value());
    CHECK(parse_update_container(*out)->resources.cpu_shares == 512);
    const auto asked = r.editor.counters().asked;
    CHECK_FALSE(r.call("UpdateContainerResources", Rig::id("other")).has_value());
    CHECK(r.editor.counters().asked == asked);
    CHECK(r.editor.counters().unknown == 1);
  }

  TEST_CASE("damaged requests pass, and are counted") {
    Rig r;
    for (const std::string method :
         {"RunPodSandbox", "CreateContainer", "UpdateContainerResources", "StopContainer"})
      CHECK_FALSE(r.call(method, "\xff\xff").has_value());
    CHECK(r.editor.counters().damaged == 4);
    CHECK(r.hooks.log.empty());
  }

  TEST_CASE("a rebuilt state replaces the old one") {
    Rig r;
    r.fill();
    HookInventory inventory;
    HookPod pod{};
    pod.id = "q";
    inventory.pods.push_back(pod);
    r.editor.rebuild(inventory);
    CHECK(r.editor.pods() == 1);
    CHECK(r.editor.containers() == 0);
  }
}

}  // namespace koordlet::runtime
