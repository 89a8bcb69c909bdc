#pragma once

#include <optional>

namespace koordlet {

/// resctrlQOS of one class, as stated.
struct ResctrlClass {
  std::optional<bool> enable;
  std::optional<int> start_percent, end_percent;  ///< of the cache ways, 0..100
  std::optional<int> mba_percent;                 ///< 1..100
  friend bool operator==(const ResctrlClass&, const ResctrlClass&) = default;
};
/// resourceQOSStrategy.{lsrClass,lsClass,beClass}.resctrlQOS.
struct ResctrlStrategy {
  ResctrlClass lsr, ls, be;
  friend bool operator==(const ResctrlStrategy&, const ResctrlStrategy&) = default;
};

}  // namespace koordlet
