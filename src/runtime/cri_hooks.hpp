#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "model/hook.hpp"
#include "net/grpc_forward.hpp"

namespace koordlet::runtime {

/// Who answers the hooks of the CRI proxy: the seam between the wire and the values. An error, or
/// no answer within GrpcForward's edit_timeout (the call is cancelled then), lets the caller's
/// request pass as it is. Arguments are the callee's own.
class CriHooks {
 public:
  template <class T>
  using Answer = boost::asio::awaitable<Result<T>>;
  virtual ~CriHooks() = default;
  /// Before the container exists: it has no id. Mounts, devices and a resctrl group are refused.
  virtual Answer<HookAdjustment> create_container(HookPod pod, HookContainer container) = 0;
  /// `container` as it was, `asked` as kubelet wants it; what the answer names overrides that.
  virtual Answer<HookResources> update_container(HookPod pod,
                                                 HookContainer container,
                                                 HookResources asked) = 0;
  /// Before kRunPod (no id yet), kStartContainer, kStopPod; `container` only where the event is
  /// one's.
  virtual Answer<void> before(HookEvent event,
                              HookPod pod,
                              std::optional<HookContainer> container) = 0;
  /// Before StopContainer: its processes still run.
  virtual Answer<void> stopping(HookPod pod, HookContainer container) = 0;
};

/// The unary calls that hooks see, between GrpcForward and CriHooks, and what is known of pods and
/// containers: that comes from the calls that pass. Of one that is not known nothing is asked.
class CriHookEditor final : public net::GrpcEditor {
 public:
  struct Counters {  ///< since the start
    std::uint64_t asked = 0;
    std::uint64_t failures = 0;  ///< errors of hooks, and answers that break the rules
    std::uint64_t damaged = 0;   ///< requests that could not be read
    std::uint64_t unknown = 0;   ///< about pods or containers that are not known
    std::string last_failure{};
  };
  explicit CriHookEditor(CriHooks& hooks) : hooks_{hooks} {}  ///< outlives it

  bool wants(std::string_view path) const override;
  boost::asio::awaitable<std::optional<std::string>> edit(std::string path,
                                                          std::string message) override;
  void answered(std::string_view path, std::string_view message, std::string_view answer) override;
  /// What the runtime has, from its lists: all that was known before is forgotten.
  void rebuild(const HookInventory& inventory);
  const Counters& counters() const { return counters_; }
  std::size_t pods() const { return pods_.size(); }
  std::size_t containers() const { return containers_.size(); }

 private:
  using Edited = std::optional<std::string>;
  boost::asio::awaitable<Edited> create(std::string message);
  boost::asio::awaitable<Edited> update(std::string message);
  boost::asio::awaitable<void> tell(std::string method, std::string message);
  template <class Answer>
  Edited apply(const Result<Answer>& answer,
               Result<void> (*check)(const Answer&),
               Result<std::string> (*adjusted)(std::string, const Answer&),
               std::string message);
  const HookContainer* find_container(const std::string& id);
  void note_failure(const Error& error);

  CriHooks& hooks_;
  std::map<std::string, HookPod> pods_{};  ///< by id, both
  std::map<std::string, HookContainer> containers_{};
  Counters counters_{};
};

}  // namespace koordlet::runtime
