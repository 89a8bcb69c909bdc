#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "runtime/nri_connection.hpp"
#include "support/fake_nri_runtime.hpp"
#include "support/fake_tree.hpp"
#include "unit/net/client_fixture.hpp"
#include "unit/runtime/wire.hpp"

namespace koordlet::test {

/// A hook that writes down what it is told and answers as it is set.
struct ScriptedHook final : runtime::NriEvents {
  void begin_synchronize(HookInventory inventory) override {
    inventories.push_back(std::move(inventory));
  }
  Result<bool> synchronize_some(std::vector<HookUpdate>& out) override {
    if (on_call) on_call();
    if (!sync_answer) return sync_answer.error();
    const bool more = ++sync_steps % kSyncSteps != 0;
    if (!more) out = *sync_answer;
    return more;
  }
  Result<Creation> create_container(const HookPod& pod, const HookContainer& c) override {
    note("create", pod, &c);
    return creation;
  }
  Updates update_container(const HookPod& pod,
                           const HookContainer& c,
                           const HookResources& asked) override {
    note("update", pod, &c);
    last_asked = asked;
    return updates;
  }
  Updates stop_container(const HookPod& pod, const HookContainer& c) override {
    note("stop", pod, &c);
    return updates;
  }
  Result<void> happened(HookEvent event, const HookPod& pod, const HookContainer* c) override {
    note(to_string(event), pod, c);
    return heard;
  }
  void note(const std::string& what, const HookPod& pod, const HookContainer* c) {
    calls.push_back(what + " " + pod.id + (c != nullptr ? " " + c->id : ""));
    last_pod = pod;
    if (c != nullptr) last_container = *c;
    if (on_call) on_call();
  }

  static constexpr int kSyncSteps = 3;
  int sync_steps = 0;
  std::vector<std::string> calls;  ///< "create pod1 c1"
  std::vector<HookInventory> inventories;
  HookPod last_pod;
  HookContainer last_container;
  HookResources last_asked;
  std::function<void()> on_call;  ///< may throw
  Updates sync_answer = std::vector<HookUpdate>{};
  Updates updates = std::vector<HookUpdate>{};
  Result<Creation> creation = Creation{};
  Result<void> heard{};
};

inline HookUpdate quota_update(std::string id, std::int64_t quota_us) {
  HookUpdate out;
  out.container_id = std::move(id);
  out.resources.cpu_quota = Limit{std::chrono::microseconds{quota_us}};
  return out;
}

inline WireMessage wire_pod(const std::string& id = "pod1") {
  return WireMessage{}
      .bytes(1, id)
      .bytes(2, "web-0")
      .bytes(3, "uid-" + id)
      .bytes(4, "shop")
      .entry(5, "koordinator.sh/qosClass", "LS");
}
inline WireMessage wire_container(const std::string& id = "c1", const std::string& pod = "pod1") {
  return WireMessage{}.bytes(1, id).bytes(2, pod).bytes(3, "app").number(4, 3);
}
/// A request with pod and container.
inline WireMessage wire_both() {
  return WireMessage{}.part(1, wire_pod()).part(2, wire_container());
}
/// Containers c<first> ... of one pod; the last part says nothing of more.
inline std::string sync_part(int first, int count, bool more) {
  WireMessage out;
  out.part(1, wire_pod("pod" + std::to_string(first)));
  for (int n = first; n < first + count; ++n)
    out.part(2, wire_container("c" + std::to_string(n), "pod" + std::to_string(first)));
  if (more) out.number(3, 1);
  return out.str();
}

/// A connection and the runtime's end on one loop.
struct NriPair {
  static runtime::NriOptions quick() {
    runtime::NriOptions out;
    out.backoff_min = std::chrono::milliseconds{2};
    out.backoff_max = std::chrono::milliseconds{8};
    out.quiet = std::chrono::milliseconds{1};
    return out;
  }
  explicit NriPair(runtime::NriOptions options = quick())
      : runtime{io.get_executor(), tree.path("nri.sock")} {
    options.socket = tree.path("nri.sock");
    nri = runtime::NriConnection::make(io.get_executor(), options, hook, clock).value();
  }
  ~NriPair() { stop(); }
  void start() { task = std::make_unique<Started<int>>(io, body(*nri)); }
  void stop() {
    if (!task) return;
    task->cancel();
    run_until(io, [this] { return task->done(); });
    task.reset();
  }
  static boost::asio::awaitable<int> body(runtime::NriConnection& nri) {
    co_await nri.run();
    co_return 0;
  }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  bool ready() {
    return until([&] { return state() == runtime::NriStatus::State::kReady; });
  }
  runtime::NriStatus::State state() const { return nri->status().state; }
  void turns(int count) {
    until([&, n = 0]() mutable { return ++n > count; });
  }
  /// The answer to a call of the service Plugin; status -1: none came.
  net::TtrpcResponse ask(const std::string& method, const std::string& body) {
    const auto stream = runtime.ask(method, body);
    until([&] { return runtime.answer(stream) != nullptr; });
    const auto* out = runtime.answer(stream);
    return out != nullptr ? *out : net::TtrpcResponse{-1, {}, {}};
  }

  FakeTree tree;
  boost::asio::io_context io;
  SystemClock clock;
  ScriptedHook hook;
  FakeNriRuntime runtime;
  std::unique_ptr<runtime::NriConnection> nri;
  std::unique_ptr<Started<int>> task;
};

}  // namespace koordlet::test
