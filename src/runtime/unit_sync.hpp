#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/unit_owner.hpp"
#include "runtime/unit_bus.hpp"
#include "runtime/unit_property.hpp"

namespace koordlet::runtime {

/// Keeps systemd's mind in step with the files: remembers what is held a unit, and sends what
/// changed. One call a unit at a time with all that changed, kMaxCalls calls in all, the newest
/// value of a file wins. No clock and no thread of its own: send() comes with every batch, and is
/// what repeats a call that had no answer. What systemd refuses is not sent again, the file keeps
/// it alone. `bus` outlives this; answers that come after its end are dropped.
class UnitSync final : public UnitOwner {
 public:
  /// Calls under way at once: process 1 has more to do than koordlet's caps.
  static constexpr std::size_t kMaxCalls = 8;

  struct Counters {
    std::uint64_t sets = 0;      ///< calls that systemd took
    std::uint64_t failures = 0;  ///< refused, denied or without an answer
    std::uint64_t gone = 0;      ///< calls for units that had ended: a normal event
    std::size_t pending = 0;     ///< units whose property is not yet what the file holds
    std::size_t units = 0;       ///< units with a held file
    std::string last_error;      ///< of the last failure; empty: none so far
  };

  explicit UnitSync(UnitBus& bus) : bus_{bus} {}
  UnitSync(const UnitSync&) = delete;
  UnitSync& operator=(const UnitSync&) = delete;

  void hold(const CgroupKey& key, const CgroupValue& value) override;
  void give_back(const CgroupKey& key, const CgroupValue& value) override;
  void forget(const CgroupKey& key) override;
  void send() override;
  bool settling(const CgroupKey& key) const override;

  /// Nothing is under way, and nothing waits but what had no answer.
  bool idle() const { return ready_.empty() && calls_ == 0; }
  Counters counters() const;

 private:
  struct Unit {
    UnitFiles files;
    std::set<CgroupFile> changed;   ///< not yet sent
    std::set<CgroupFile> sent;      ///< in the call under way
    std::set<CgroupFile> leaving;   ///< given back: to be dropped once systemd knows
    std::set<CgroupFile> accepted;  ///< systemd has taken a value of it
    UnitFiles refused;              ///< values not to be sent again
    bool one_by_one = false;        ///< a call was refused: find out which property it was
    std::uint64_t ticket = 0;       ///< of the call under way; 0: none
  };
  using Units = std::map<std::string, Unit>;

  void change(Unit& unit, const std::string& name, CgroupFile file, const CgroupValue& value);
  void pump();
  void call(const std::string& name, Unit& unit);
  void answered(const std::string& name, std::uint64_t ticket, const Result<void>& result);
  void taken(const std::string& name, Unit& unit);
  void refused(const std::string& name, Unit& unit, const Error& error);
  static void drop(Unit& unit, CgroupFile file);
  void drop_if_empty(const std::string& name);

  UnitBus& bus_;
  Units units_;
  std::set<std::string> ready_;  ///< units with something to send now
  std::set<std::string> later_;  ///< those whose call had no answer: with the next send()
  std::size_t calls_ = 0;        ///< under way
  std::uint64_t tickets_ = 0;
  std::uint64_t sets_ = 0, failures_ = 0, gone_ = 0;
  std::string last_error_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  ///< watched by answers
};

}  // namespace koordlet::runtime
