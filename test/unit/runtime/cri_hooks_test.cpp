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
constexpr microseconds kPeriod{100'000};

/// Says what it is told to say, and remembers what it was asked.
struct FakeHooks final : CriHooks {
  std::uint64_t session() const override { return number; }
  Answer<HookAdjustment> create_container(HookPod pod, HookContainer container) override {
    log.push_back("create " + container.name + " as " + container.id + " in " + pod.id + " of " +
                  pod.runtime_handler);
    co_return adjustment;
  }
  Answer<HookResources> update_container(HookPod, HookContainer container, HookResources) override {
    log.push_back("update " + container.id);
    co_return resources;
  }
  boost::asio::awaitable<void> stopping(HookPod, HookContainer container) override {
    log.push_back("stopping " + container.id);
    co_return;
  }
  void happened(HookEvent event, const HookPod& pod, const HookContainer* container) override {
    log.push_back(std::string{to_string(event)} + " " + pod.id +
                  (container != nullptr ? " " + container->id : ""));
  }
  void missed(const HookPod& pod, const HookContainer& container) override {
    log.push_back("missed " + pod.id + " " + container.id);
  }
  std::uint64_t number = 1;
  Result<std::optional<HookAdjustment>> adjustment = std::optional{HookAdjustment{}};
  Result<std::optional<HookResources>> resources = std::optional{HookResources{}};
  std::vector<std::string> log;
};

struct Rig {
  /// The whole call; `answer` nullopt: the runtime refused it.
  net::GrpcEditor::Edit call(const std::string& method,
                             const std::string& message,
                             std::optional<std::string> answer = std::string{},
                             bool in_time = true) {
    const auto number = ++calls;
    auto out = test::run(io, editor.edit(number, kService + method, message));
    const auto path = kService + method;
    net::GrpcEnd end{number, path, message, in_time, std::nullopt};
    if (answer && out) end.answer = *answer;
    editor.ended(end);
    return out;
  }
  /// A pod "p" with a container "c", which hooks call "new-2".
  void fill() {
    call("RunPodSandbox", WireMessage{}.part(1, pod).bytes(2, "kata").str(), id("p"));
    call("CreateContainer", create, id("c"));
  }
  static std::string id(std::string_view text) { return WireMessage{}.bytes(1, text).str(); }
  static std::string create_in(const WireMessage& pod) {
    return WireMessage{}
        .bytes(1, "p")
        .part(2, WireMessage{}.part(1, WireMessage{}.bytes(1, "main")))
        .part(3, pod)
        .str();
  }

  const WireMessage pod =
      WireMessage{}.part(1, WireMessage{}.bytes(1, "web").bytes(2, "u").bytes(3, "default"));
  const std::string create = create_in(pod);
  boost::asio::io_context io;
  std::uint64_t calls = 0;
  FakeHooks hooks;
  CriHookEditor editor{hooks};
};

using Log = std::vector<std::string>;

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
    CHECK(r.editor.inventory()->pods() == 1);
    CHECK(r.editor.id_of("new-2") == "c");
    CHECK_FALSE(r.call("StartContainer", Rig::id("c"))->has_value());
    CHECK_FALSE(r.call("StopContainer", Rig::id("c"))->has_value());
    CHECK_FALSE(r.call("StopPodSandbox", Rig::id("p"))->has_value());
    CHECK(r.editor.inventory()->pods() == 1);  // a Stop may be repeated
    r.call("RemoveContainer", Rig::id("c"));
    r.call("RemovePodSandbox", Rig::id("p"));
    CHECK(r.editor.inventory()->pods() == 0);
    CHECK(r.editor.inventory()->containers() == 0);
    CHECK(r.editor.id_of("new-2") == "new-2");
    CHECK(r.hooks.log == Log{"RunPodSandbox p",
                             "create main as new-2 in p of kata",
                             "PostCreateContainer p new-2",
                             "PostStartContainer p new-2",
                             "stopping new-2",
                             "StopPodSandbox p",
                             "RemoveContainer p new-2",
                             "RemovePodSandbox p"});
  }

  TEST_CASE("a new session knows containers by the runtime's ids") {
    Rig r;
    r.fill();
    r.hooks.number = 2;
    r.hooks.log.clear();
    r.call("StartContainer", Rig::id("c"));
    CHECK(r.hooks.log == Log{"PostStartContainer p c"});
  }

  TEST_CASE("an answer is put behind the request, and is what the container has then") {
    Rig r;
    HookAdjustment answer;
    answer.resources.cpu_period = kPeriod;
    r.hooks.adjustment = answer;
    r.call("RunPodSandbox", WireMessage{}.part(1, r.pod).str(), Rig::id("p"));
    const auto out = r.call("CreateContainer", r.create, Rig::id("c"));
    REQUIRE((out && *out));
    CHECK((*out)->starts_with(r.create));
    CHECK(parse_create_container(**out)->container.resources.cpu_period == kPeriod);
    CHECK(r.editor.inventory()->find_container("c")->is.resources.cpu_period == kPeriod);
  }

  TEST_CASE("an answer that breaks the rules leaves the request alone; an error refuses it") {
    Rig r;
    HookAdjustment answer;
    answer.oom_score_adj = 2000;
    r.hooks.adjustment = answer;
    auto out = r.call("CreateContainer", r.create, Rig::id("c"));
    REQUIRE(out.has_value());
    CHECK_FALSE(out->has_value());
    CHECK(r.editor.counters().failures == 1);
    r.hooks.adjustment = Error{Errc::kInvalid, "web/main: no such CPU"};
    out = r.call("CreateContainer", r.create);
    REQUIRE(out.has_error());
    CHECK(out.error().context == "web/main: no such CPU");
    CHECK(r.editor.counters().refused == 1);
    CHECK(r.editor.inventory()->containers() == 1);  // the first one
  }

  TEST_CASE("a creation that the runtime refuses is taken back where it was told") {
    Rig r;
    r.call("CreateContainer", r.create, std::nullopt);
    CHECK(r.hooks.log == Log{"create main as new-1 in p of ", "RemoveContainer p new-1"});
    CHECK(r.editor.inventory()->containers() == 0);
  }

  TEST_CASE("made while nobody answered, or by an answer that came too late: missed") {
    Rig r;
    r.hooks.number = 0;
    r.call("CreateContainer", r.create, Rig::id("a"));
    r.hooks.number = 1;
    r.hooks.adjustment = std::optional<HookAdjustment>{};
    r.call("CreateContainer", r.create, Rig::id("b"));
    r.hooks.adjustment = std::optional{HookAdjustment{}};
    r.call("CreateContainer", r.create, Rig::id("c"), false);
    CHECK(r.hooks.log == Log{"missed p a",
                             "create main as new-2 in p of ",
                             "missed p b",
                             "create main as new-3 in p of ",
                             "missed p c"});
    CHECK(r.editor.counters().missed == 3);
    CHECK(r.editor.id_of("new-3") == "new-3");
  }

  TEST_CASE("nothing is asked about pods that their label keeps out") {
    Rig r;
    auto pod = r.pod;
    pod.entry(6, "runtimeproxy.koordinator.sh/skip-hookserver", "true");
    r.call("RunPodSandbox", WireMessage{}.part(1, pod).str(), Rig::id("p"));
    r.call("CreateContainer", Rig::create_in(pod), Rig::id("c"));
    for (const std::string method :
         {"UpdateContainerResources", "StartContainer", "StopContainer", "RemoveContainer"})
      CHECK_FALSE(r.call(method, Rig::id("c"))->has_value());
    CHECK(r.hooks.log.empty());
    CHECK(r.editor.counters().missed == 0);
  }

  TEST_CASE("UpdateContainerResources of a known container; of an unknown one nobody is asked") {
    Rig r;
    r.fill();
    HookResources answer;
    answer.cpu_shares = 512;
    r.hooks.resources = answer;
    const auto out = r.call("UpdateContainerResources", Rig::id("c"));
    REQUIRE((out && *out));
    CHECK(parse_update_container(**out)->resources.cpu_shares == 512);
    CHECK(r.editor.inventory()->find_container("c")->is.resources.cpu_shares == 512);
    CHECK(r.hooks.log.back() == "update new-2");
    const auto asked = r.editor.counters().asked;
    CHECK_FALSE(r.call("UpdateContainerResources", Rig::id("other"))->has_value());
    CHECK(r.editor.counters().asked == asked);
    CHECK(r.editor.counters().unknown == 1);
  }

  TEST_CASE("damaged requests pass, and are counted") {
    Rig r;
    for (const std::string method :
         {"CreateContainer", "UpdateContainerResources", "StopContainer"})
      CHECK_FALSE(r.call(method, "\xff\xff")->has_value());
    CHECK(r.editor.counters().damaged == 3);
    CHECK_FALSE(r.call("RunPodSandbox", "\xff\xff", "\xff")->has_value());
    CHECK(r.hooks.log.empty());
  }
}

}  // namespace koordlet::runtime
