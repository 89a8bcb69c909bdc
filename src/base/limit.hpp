#pragma once

#include <optional>
#include <ostream>

namespace koordlet {

/// An upper bound that may be absent. "Unlimited" is a value of its own: it is neither zero nor
/// unknown, and no number (-1, 2^63-1, "max") stands for it outside src/kernel.
template <class T>
class Limit {
 public:
  static constexpr Limit unlimited() { return Limit{}; }
  constexpr explicit Limit(T v) : v_{v} {}

  constexpr const std::optional<T>& bound() const { return v_; }
  constexpr bool is_unlimited() const { return !v_.has_value(); }

  friend constexpr bool operator==(const Limit&, const Limit&) = default;
  friend constexpr bool operator<(const Limit& a, const Limit& b) {  // unlimited sorts last
    return a.v_ && (!b.v_ || *a.v_ < *b.v_);
  }
  friend std::ostream& operator<<(std::ostream& os, const Limit& l) {
    if (l.v_) return os << *l.v_;
    return os << "unlimited";
  }

 private:
  constexpr Limit() = default;
  std::optional<T> v_;
};

/// The stricter of two bounds.
template <class T>
constexpr Limit<T> stricter(const Limit<T>& a, const Limit<T>& b) {
  return b < a ? b : a;
}

}  // namespace koordlet
