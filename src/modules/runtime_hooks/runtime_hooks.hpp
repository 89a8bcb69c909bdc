#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/node_state.hpp"
#include "modules/runtime_hooks/hook_case.hpp"
#include "policy/hook_values.hpp"
#include "runtime/nri_events.hpp"

namespace koordlet {

/// Gives containers their values before their first instruction, as answers to a runtime's events:
/// from memory alone, so within microseconds. What it knows of the world comes with push(). A pod
/// that the state does not know yet goes by what its sandbox carries.
///
/// Where a value is the runtime's to write (batch resources, CPU normalization, CPU sets) it also
/// keeps it, if Config::follow says so: running containers are looked at again when the pods, the
/// ratio or the pools change, and get an unsolicited update when their value is another one. Files
/// that a plugin of the tick writes (memory.*, cpu.idle) are set at the start only, to the same
/// number.
///
/// A BE container starts with at most its pod's cap. As soon as the pod's own file has the cap, or
/// there is none any more, the container gets the quota of its batch limit. Loop thread.
class RuntimeHooks final : public runtime::NriEvents {
 public:
  using Hook = policy::Hook;
  struct Config {
    policy::HookSwitches switches{};
    HookFailurePolicy failure_policy = HookFailurePolicy::kIgnore;
    /// Running containers get unsolicited updates. Off where a plugin of the tick writes the same
    /// values: runtimes up to containerd 2.1 may lock up when such an update meets an event.
    bool follow = true;
  };
  /// The functions outlive the object; an empty one is not called.
  struct Deps {
    /// A pod or a container of it starts: its files are due now. Must not run the tick itself.
    std::function<void(const std::string& pod_uid)> on_start{};
    /// An unsolicited update; an error means that nothing was queued.
    std::function<Result<void>(HookUpdate)> queue{};
    /// policy::hook_values, or what stands for it in a test.
    std::function<Result<HookAdjustment>(
        Hook, const policy::HookSubject&, const policy::HookWorld&, const policy::HookSwitches&)>
        values = policy::hook_values;
  };
  /// `clock` outlives it.
  RuntimeHooks(Config config, Deps deps, const Clock& clock);

  /// After each tick. `active` false: policy paused, or a dry run: nothing is changed.
  void push(std::shared_ptr<const NodeState> state, policy::HookWorld world, bool active);

  void begin_synchronize(HookInventory inventory) override;
  Result<bool> synchronize_some(std::vector<HookUpdate>& out) override;
  Result<Creation> create_container(const HookPod& pod, const HookContainer& container) override;
  Updates update_container(const HookPod& pod,
                           const HookContainer& container,
                           const HookResources& asked) override;
  Updates stop_container(const HookPod& pod, const HookContainer& container) override;
  Result<void> happened(HookEvent event,
                        const HookPod& pod,
                        const HookContainer* container) override;

  struct HookCounters {
    std::uint64_t calls = 0;    ///< times it was asked
    std::uint64_t changed = 0;  ///< answers that said something
    std::uint64_t failed = 0;
    std::chrono::microseconds longest{0};
    std::string last_failure{};  ///< pod, container and error
  };
  struct Status {
    std::array<HookCounters, policy::kAllHooks.size()> hooks{};  ///< by Hook
    std::uint64_t created = 0, updated = 0, pods_started = 0;
    std::uint64_t unknown_pods = 0;  ///< creations whose pod the state did not know
    std::uint64_t hands_off = 0;     ///< creations and updates that were left alone
    std::uint64_t repaired = 0;      ///< containers put right after a (re)connection
    std::uint64_t followed = 0;      ///< updates queued because a value became another one
    std::uint64_t capped_starts = 0;
    std::size_t containers = 0;  ///< known now
    std::chrono::microseconds longest_answer{0};
  };
  Status status() const;

 private:
  enum class Moment { kCreate, kUpdate, kFollow };
  struct Running {
    std::shared_ptr<const HookPod> pod;
    HookContainer given{};      ///< as the kubelet asked; without its environment
    HookResources have{};       ///< as the runtime was told last
    HookResources told{};       ///< the part of it that is ours
    bool as_specified = false;  ///< `given` is the kubelet's wish for sure
    std::uint64_t seen = 0;     ///< generation_ that it was last looked at
  };
  struct Plan {
    HookAdjustment adjustment{};
    bool capped = false;
    bool hands_off = false;
    std::optional<Error> failure{};  ///< the first one
  };
  /// Notes the longest time in a scope.
  class Timer {
   public:
    Timer(const Clock& clock, std::chrono::microseconds& longest)
        : clock_{clock}, longest_{longest}, start_{clock.now()} {}
    ~Timer() {
      const auto took =
          std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - start_);
      longest_ = std::max(longest_, took);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    const Clock& clock_;
    std::chrono::microseconds& longest_;
    MonoTime start_;
  };

  Plan plan(const HookPod& pod, const HookContainer& container, Moment moment, bool as_specified);
  std::optional<HookAdjustment> ask(Hook hook,
                                    const runtime_hooks::HookCase& c,
                                    const HookContainer& container,
                                    Plan& plan);
  void cap(const runtime_hooks::HookCase& c, const HookContainer& given, Moment moment, Plan& out);
  std::shared_ptr<const HookPod> remember(const HookPod& pod);
  void note_capped(const std::string& id, bool capped);
  void forget(const std::string& id);
  void forget_pod(const std::string& pod_id);
  void synchronize_one(const HookContainer& container, std::vector<HookUpdate>& out);
  bool follow(const std::string& id, Running& running);
  void follow_all();

  Config config_;
  Deps deps_;
  const Clock& clock_;
  std::shared_ptr<const NodeState> state_;
  policy::HookWorld world_{};
  bool active_ = false;
  std::uint64_t generation_ = 1;  ///< rises when running containers may need other values
  std::string next_{};            ///< where the look at running containers goes on
  std::map<std::string, std::shared_ptr<const HookPod>> pods_;  ///< by sandbox id
  std::map<std::string, Running> running_;                      ///< by container id
  /// Ids in running_ whose quota stands for the pod's cap.
  std::set<std::string> capped_;
  /// Containers of a Synchronize that are still to be looked at, from sync_at_ on, and what was
  /// known before it.
  std::vector<HookContainer> sync_{};
  std::size_t sync_at_ = 0;
  std::map<std::string, Running> before_{};
  Status status_{};
};

}  // namespace koordlet
