#pragma once

#include <bitset>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet {

/// A set of logical CPU ids, 0..4095. Equality is set equality.
class CpuSet {
 public:
  static constexpr int kMaxCpus = 4096;

  CpuSet() = default;
  static CpuSet range(int first, int last);  ///< both ends included

  /// The kernel's list form: "0-3,8". Blanks around the whole text are dropped, empty text is the
  /// empty set.
  static Result<CpuSet> parse(std::string_view text);
  /// Canonical: ascending, merged ranges, "" for the empty set.
  std::string to_string() const;

  void add(int cpu) { bits_.set(static_cast<std::size_t>(cpu)); }
  void remove(int cpu) { bits_.reset(static_cast<std::size_t>(cpu)); }
  bool contains(int cpu) const {
    return cpu >= 0 && cpu < kMaxCpus && bits_[static_cast<std::size_t>(cpu)];
  }
  int count() const { return static_cast<int>(bits_.count()); }
  bool empty() const { return bits_.none(); }
  bool is_subset_of(const CpuSet& other) const { return (bits_ & ~other.bits_).none(); }

  friend CpuSet operator|(const CpuSet& a, const CpuSet& b) { return CpuSet{a.bits_ | b.bits_}; }
  friend CpuSet operator&(const CpuSet& a, const CpuSet& b) { return CpuSet{a.bits_ & b.bits_}; }
  friend CpuSet operator-(const CpuSet& a, const CpuSet& b) { return CpuSet{a.bits_ & ~b.bits_}; }
  friend bool operator==(const CpuSet& a, const CpuSet& b) { return a.bits_ == b.bits_; }
  friend std::ostream& operator<<(std::ostream& os, const CpuSet& s) { return os << s.to_string(); }

 private:
  explicit CpuSet(const std::bitset<kMaxCpus>& bits) : bits_{bits} {}
  std::bitset<kMaxCpus> bits_;
};

}  // namespace koordlet
