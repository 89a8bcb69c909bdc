#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "model/hook.hpp"

namespace koordlet::runtime {

struct CriContainer {
  HookContainer is{};         ///< with the runtime's id; resources as it has them
  std::string told_as{};      ///< the id that hooks know it by in `session`; "": the runtime's
  std::uint64_t session = 0;  ///< CriHooks::session() that was asked about its creation; 0: none
};

/// Pods and containers of a runtime behind the CRI proxy. Two sources: calls that pass, which know
/// all that kubelet said, and the runtime's own lists, which know what there is.
class CriInventory {
 public:
  /// nullptr: not known.
  const HookPod* find_pod(const std::string& id) const;
  const CriContainer* find_container(const std::string& id) const;
  CriContainer* find_container(const std::string& id);
  std::size_t pods() const { return pods_.size(); }
  std::size_t containers() const { return containers_.size(); }

  void put_pod(HookPod pod);
  void put_container(CriContainer container);
  void erase_pod(const std::string& id);  ///< and its containers
  void erase_container(const std::string& id);
  /// The runtime's id of what hooks call `told`; `told` itself when it is no such name.
  std::string id_of(const std::string& told) const;

  /// From before the runtime is asked for its lists until its answer is taken; several may run.
  class Listing {
   public:
    explicit Listing(std::shared_ptr<CriInventory> of) : of_{std::move(of)} { ++of_->listings_; }
    ~Listing() {
      if (--of_->listings_ == 0) of_->touched_.clear();
    }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    /// What passing calls said is kept and completed; what is not in the lists is forgotten. What a
    /// call made or removed while they were asked for is believed, and not the lists.
    void take(const HookInventory& listed) { of_->take(listed); }

   private:
    std::shared_ptr<CriInventory> of_;
  };
  /// All that is known, by the runtime's ids.
  HookInventory all() const;

 private:
  void touch(const std::string& id) {
    if (listings_ > 0) touched_.insert(id);
  }
  void take(const HookInventory& listed);

  std::map<std::string, HookPod> pods_{};  ///< by id, both
  std::map<std::string, CriContainer> containers_{};
  std::map<std::string, std::string> ids_{};  ///< of names that hooks were told
  int listings_ = 0;
  std::set<std::string> touched_{};  ///< by calls while a listing runs
};

}  // namespace koordlet::runtime
