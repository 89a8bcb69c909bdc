#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/unit_property.hpp"

namespace koordlet::runtime {

/// systemd's manager as UnitSync sees it; SystemdBus is the real one. Loop thread.
class UnitBus {
 public:
  virtual ~UnitBus() = default;
  using Done = std::function<void(Result<void>)>;

  virtual bool up() const = 0;
  /// SetUnitProperties with runtime = true. `done` is called once, later, never from within the
  /// call. kNotFound: no such unit; kInvalid: systemd refuses a property (then none of them was
  /// set); kDenied; kBusy: no connection, or no answer in time (it may have been set all the same).
  virtual void set(const std::string& unit,
                   const std::vector<UnitProperty>& properties,
                   Done done) = 0;
  /// The `settings` of the unit were given back: removes the drop-ins that systemd made for them,
  /// where they say nothing new.
  virtual void tidy(const std::string& unit, const std::vector<std::string_view>& settings) = 0;
};

}  // namespace koordlet::runtime
