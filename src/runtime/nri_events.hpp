#pragma once

#include <vector>

#include "base/result.hpp"
#include "model/hook.hpp"

namespace koordlet::runtime {

/// What a plugin does at each of the runtime's events: the seam between the wire (NriConnection)
/// and the values. Called on the loop thread while the runtime waits with its lock held, so:
/// - answer at once, from what is in memory: no I/O, no waiting, nothing that runs the loop. The
///   budget is NriPlugin::budget(), 200 ms at most. Work goes to a later turn of the loop.
/// - do not queue an unsolicited update for what can be answered here.
/// An error, an exception, or an answer that breaks the rules below counts as a failure of the
/// hook: nothing of the answer is used, and HookFailurePolicy says what the runtime hears.
/// Arguments are valid during the call only.
class NriEvents {
 public:
  using Updates = Result<std::vector<HookUpdate>>;
  struct Creation {
    HookAdjustment adjustment{};
    std::vector<HookUpdate> updates{};  ///< of other containers
  };
  virtual ~NriEvents() = default;

  /// Once a connection, before events matter: all that the runtime has, entries it damaged left
  /// out. A new one takes the place of one that was not worked on to its end.
  virtual void begin_synchronize(HookInventory inventory) = 0;
  /// Works on that for at most a millisecond. Puts onto `out` what repairs containers that started
  /// while nobody was connected; true: there is more to do.
  virtual Result<bool> synchronize_some(std::vector<HookUpdate>& out) = 0;
  /// Before the container exists. The answer must not name it among the updates.
  virtual Result<Creation> create_container(const HookPod& pod, const HookContainer& container) = 0;
  /// `container` is as it was; `asked` as somebody (the kubelet) wants it: only what is given there
  /// changes. An answer that names the container overrides `asked`; to repeat it changes nothing.
  virtual Updates update_container(const HookPod& pod,
                                   const HookContainer& container,
                                   const HookResources& asked) = 0;
  /// The container has stopped. The answer may give what it had to others.
  virtual Updates stop_container(const HookPod& pod, const HookContainer& container) = 0;
  /// `container` is nullptr where the event is a pod's. An error of kRunPod under kFail keeps the
  /// pod from starting.
  virtual Result<void> happened(HookEvent event,
                                const HookPod& pod,
                                const HookContainer* container) = 0;
};

}  // namespace koordlet::runtime
