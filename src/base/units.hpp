#pragma once

#include <compare>
#include <cstdint>
#include <ostream>

namespace koordlet {

/// A whole number of one unit. Tags do not mix: adding bytes to milli-cores does not compile.
template <class Tag>
struct Quantity {
  std::int64_t v = 0;

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.v + b.v}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.v - b.v}; }
  constexpr Quantity& operator+=(Quantity b) {
    v += b.v;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    v -= b.v;
    return *this;
  }
  friend std::ostream& operator<<(std::ostream& os, Quantity q) { return os << q.v; }
};

using MilliCpu = Quantity<struct MilliCpuTag>;  ///< 1500 is 1.5 cores
using Bytes = Quantity<struct BytesTag>;
using Permille = Quantity<struct PermilleTag>;  ///< 650 is 65 %

/// a * p / 1000, truncated toward zero. The product is taken in 128 bits: no value overflows.
constexpr MilliCpu scale(MilliCpu a, Permille p) {
  return {static_cast<std::int64_t>(static_cast<__int128>(a.v) * p.v / 1000)};
}

}  // namespace koordlet
