#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "app/config.hpp"
#include "base/result.hpp"
#include "model/unit_owner.hpp"

namespace koordlet::app {

/// systemd for a command that ends soon: a loop of its own, run only within the calls.
class UnitSession {
 public:
  explicit UnitSession(const Config& config);
  ~UnitSession();

  /// False where systemd is not to be told: switched off, cgroup v1, or another driver.
  static bool wanted(const Config& config);

  /// At most `limit`. Returns systemd's version; errors as SystemdBus::connect().
  Result<std::string> connect(std::chrono::milliseconds limit);
  UnitOwner& owner();
  /// Waits until all was sent. kBusy: some units were not told, and why.
  Result<void> finish(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::app
