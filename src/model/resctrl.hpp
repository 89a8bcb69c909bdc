#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace koordlet {

/// What the machine's resctrl offers and which control groups there are.
struct ResctrlState {
  std::vector<int> l3_ids;  ///< cache domains, ascending; empty: no cache allocation
  std::vector<int> mb_ids;  ///< memory domains, ascending; empty: no bandwidth allocation
  bool cdp = false;         ///< code and data apart: L3CODE and L3DATA
  std::uint64_t cbm_mask = 0;
  int min_cbm_bits = 1;
  int bandwidth_gran = 10;  ///< MB in percent: steps of this
  int min_bandwidth = 10;   ///< MB in percent: not below this
  bool amd = false;         ///< MB counts 1/8 GB/s
  bool megabytes = false;   ///< mounted with mba_MBps: MB counts MB/s
  int closids = 0;          ///< control groups the machine has room for, the root's included
  std::set<std::string> groups;
  friend bool operator==(const ResctrlState&, const ResctrlState&) = default;
};

/// The three control groups, by the names that the original uses.
inline constexpr const char* kResctrlLsr = "LSR";
inline constexpr const char* kResctrlLs = "LS";
inline constexpr const char* kResctrlBe = "BE";

}  // namespace koordlet
