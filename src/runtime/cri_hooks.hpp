#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "model/hook.hpp"
#include "net/grpc_forward.hpp"
#include "runtime/cri_inventory.hpp"

namespace koordlet::runtime {

/// Who answers the hooks of the CRI proxy: the seam between the wire and the values. Containers are
/// called by the id that they had when their hook was asked (see CriHookEditor).
class CriHooks {
 public:
  /// nullopt: nobody answered, the caller's request passes as it is. An error refuses the request:
  /// the hook failed, and its failure policy is "fail".
  template <class T>
  using Answer = boost::asio::awaitable<Result<std::optional<T>>>;
  virtual ~CriHooks() = default;
  /// Number of the connection that answers now; 0: nobody is there. It rises with each new one,
  /// which knows the containers by what the runtime says of them.
  virtual std::uint64_t session() const = 0;
  /// Before the container exists. Mounts, devices and a resctrl group are refused.
  virtual Answer<HookAdjustment> create_container(HookPod pod, HookContainer container) = 0;
  /// `container` as it was, `asked` as kubelet wants it; what the answer names overrides that.
  virtual Answer<HookResources> update_container(HookPod pod,
                                                 HookContainer container,
                                                 HookResources asked) = 0;
  /// Before StopContainer: its processes still run.
  virtual boost::asio::awaitable<void> stopping(HookPod pod, HookContainer container) = 0;
  /// Behind a call that the runtime carried out. `container` nullptr where the event is a pod's.
  virtual void happened(HookEvent event, const HookPod& pod, const HookContainer* container) = 0;
  /// A container was made and nobody, or somebody who is gone, was asked about it: it is to be put
  /// right now.
  virtual void missed(const HookPod& pod, const HookContainer& container) = 0;
};

/// The unary calls that hooks see, between GrpcForward and CriHooks, and what is known of pods and
/// containers: that comes from the calls that pass and from the runtime's lists. Of one that is not
/// known nothing is asked, nor of pods with the label
/// "runtimeproxy.koordinator.sh/skip-hookserver": "true".
///
/// A container has no id yet when its creation is asked about: it is called "new-1", "new-2", ...
/// by its call then, and so for as long as the same session answers.
class CriHookEditor final : public net::GrpcEditor {
 public:
  struct Counters {  ///< since the start
    std::uint64_t asked = 0;
    std::uint64_t refused = 0;   ///< requests that did not pass because the hook failed
    std::uint64_t failures = 0;  ///< answers that break the rules, or that the CRI has no field for
    std::uint64_t damaged = 0;   ///< requests that could not be read
    std::uint64_t unknown = 0;   ///< about pods or containers that are not known
    std::uint64_t missed = 0;    ///< containers that were made while nobody answered
    std::string last_failure{};
  };
  explicit CriHookEditor(CriHooks& hooks) : hooks_{hooks} {}  ///< outlives it

  bool wants(std::string_view path) const override;
  boost::asio::awaitable<Edit> edit(std::uint64_t call,
                                    std::string path,
                                    std::string message) override;
  void ended(const net::GrpcEnd& call) override;

  const std::shared_ptr<CriInventory>& inventory() const { return inventory_; }
  /// The runtime's id of a container that hooks call `told`.
  std::string id_of(const std::string& told) const { return inventory_->id_of(told); }
  const Counters& counters() const { return counters_; }

 private:
  struct Asked {
    std::uint64_t session = 0;
    HookContainer container{};                 ///< with the id it was told by
    std::optional<HookAdjustment> adjusted{};  ///< nullopt: nobody answered
  };
  boost::asio::awaitable<Edit> create(std::uint64_t call, std::string message);
  boost::asio::awaitable<Edit> update(std::uint64_t call, std::string message);
  boost::asio::awaitable<void> stop(std::string message);
  template <class Answer>
  Edit apply(const Result<std::optional<Answer>>& answer,
             Result<void> (*check)(const Answer&),
             Result<std::string> (*adjusted)(std::string, const Answer&),
             std::string message);
  void note_answer(std::uint64_t call, HookAdjustment answer);
  void created(const net::GrpcEnd& call, Asked asked);
  void started_pod(const net::GrpcEnd& call);
  void updated(const net::GrpcEnd& call, const Asked& asked);
  void pod_event(HookEvent event, const std::string& id);
  void container_event(std::string_view method, const std::string& id);
  const CriContainer* find_container(const std::string& id);
  bool is_asked_about(const HookPod& pod) const;
  HookContainer as_told(const CriContainer& container) const;
  void note_failure(const Error& error);

  CriHooks& hooks_;
  std::shared_ptr<CriInventory> inventory_ = std::make_shared<CriInventory>();
  std::map<std::uint64_t, Asked> asked_{};  ///< calls that run
  Counters counters_{};
};

}  // namespace koordlet::runtime
